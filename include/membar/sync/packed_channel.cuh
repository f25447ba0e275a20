// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Bounded queues of messages of up to 12 bytes, each in one 16-byte word with its sequence number: no fence, no order, no
/// second access to find out whether a message is there.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/packed_word.cuh>
#include <membar/detail/ring.cuh>
#include <membar/wait_budget.cuh>

#include <type_traits>

namespace membar {

namespace detail {

/// A message in the word of a slot that was filled `turn` times before.
template <class Message>
[[nodiscard]] MEMBAR_HOST_DEVICE packed_word pack(const Message& message, unsigned long long turn) noexcept {
  return packed_piece(&message, 0, static_cast<unsigned>(turn) + 1);
}

/// What the consumer of a packed channel does, whoever produces.
template <class Message, int Capacity, thread_scope Scope>
struct packed_slots {
  static_assert(std::is_trivially_copyable_v<Message>, "membar: a message of a channel is trivially copyable");
  static_assert(sizeof(Message) <= packed_word::capacity,
                "membar: a packed message has at most 12 bytes: use spsc_channel or mpsc_channel");
  static_assert(is_power_of_two(Capacity), "membar: the capacity of a channel is a power of two");

  /// Takes the message of `position` if it is there, and says so with the order that the producers need.
  template <class Order>
  [[nodiscard]] MEMBAR_HOST_DEVICE bool take(Message& message, unsigned long long position, Order order) noexcept {
    const packed_word word = slots[position % Capacity].load(relaxed);
    if (word.sequence != static_cast<unsigned>(position / Capacity) + 1) {
      return false;
    }
    unpack_piece(&message, 0, word);
    head.store(position + 1, order);
    return true;
  }

  /// Counts messages; closing puts a bit beside the count.
  alignas(128) atomic<unsigned long long, Scope> tail;
  alignas(128) atomic<unsigned long long, Scope> head;
  alignas(128) atomic<packed_word, Scope> slots[Capacity];
};

}  // namespace detail

/// A queue of at most `Capacity` messages of up to 12 bytes from one thread to another, in order, each taken once.
///
/// It synchronizes with nothing: the message is all that is passed. Each slot is one 16-byte word of message and sequence
/// number, loaded and stored at once (`.b128` is single-copy atomic, a vector of four words is not), so that no order is
/// needed: a slot is stored to again only after a load of the counter that its reader stored after the read, which no execution
/// turns round. Use it where a message is the data; where it announces other memory, use `spsc_channel`.
///
/// Memory, scope, ends and budgets: as `spsc_channel`. On the host 16-byte accesses need libatomic and a processor whose
/// 16-byte loads and stores are single; where messages pass between host and device the link must keep 16-byte stores whole,
/// which PCIe does not promise: use `spsc_channel` there. PTX: push: st.relaxed.b128, and ld.relaxed of the counter when the
/// channel seems full; pop: ld.relaxed.b128, st.relaxed.
template <class Message, int Capacity, thread_scope Scope>
class packed_spsc_channel {
 public:
  using value_type = Message;
  static constexpr int capacity = Capacity;
  static constexpr thread_scope scope = Scope;

  /// The producer's end: one thread's, once: what was pushed is counted here and, when closed, in the channel.
  class producer {
   public:
    MEMBAR_HOST_DEVICE explicit producer(packed_spsc_channel& channel) noexcept : all_(&channel.all_) {}

    /// Appends `message`; `would_wait` if the channel is full.
    MEMBAR_HOST_DEVICE wait_result try_push(const Message& message) noexcept {
      return ring_.claim(all_->head, relaxed, [&] {
        all_->slots[ring_.slot()].store(detail::pack(message, ring_.pushed / Capacity), relaxed);
        ++ring_.pushed;
      });
    }

    /// The same, and waits for room.
    MEMBAR_HOST_DEVICE wait_result push(const Message& message, wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] { return try_push(message); });
    }

    /// Says that no message follows.
    MEMBAR_HOST_DEVICE void close() noexcept {
      ring_.closed = true;
      all_->tail.store(ring_.pushed | detail::closed_bit, relaxed);
    }

   private:
    detail::packed_slots<Message, Capacity, Scope>* all_;
    detail::ring_producer<Capacity> ring_;
  };

  /// The consumer's end: one thread's, at a time.
  class consumer {
   public:
    MEMBAR_HOST_DEVICE explicit consumer(packed_spsc_channel& channel) noexcept : all_(&channel.all_) {
      const unsigned long long head = all_->head.load(relaxed);
      closed_ = (head & detail::closed_bit) != 0;
      taken_ = head & ~detail::closed_bit;
    }

    /// Takes the oldest message; `would_wait` if it is not there, `closed` if none will come.
    MEMBAR_HOST_DEVICE wait_result try_pop(Message& message) noexcept {
      if (closed_) {
        return wait_result::closed;
      }
      if (all_->take(message, taken_, relaxed)) {
        ++taken_;
        return wait_result::done;
      }
      return all_->tail.load(relaxed) == (taken_ | detail::closed_bit) ? wait_result::closed : wait_result::would_wait;
    }

    /// The same, and waits for a message.
    MEMBAR_HOST_DEVICE wait_result pop(Message& message, wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] { return try_pop(message); });
    }

    /// Says that nothing more is taken: the producer finds the channel closed, at the latest when it is full.
    MEMBAR_HOST_DEVICE void close() noexcept {
      closed_ = true;
      all_->head.store(taken_ | detail::closed_bit, relaxed);
    }

   private:
    detail::packed_slots<Message, Capacity, Scope>* all_;
    unsigned long long taken_;
    bool closed_;
  };

 private:
  detail::packed_slots<Message, Capacity, Scope> all_;
};

/// `packed_spsc_channel` for producers that are any threads in `Scope`: each producer's messages in order, each taken once.
///
/// No push synchronizes with its pop, as there, and no fence stands between a message and its consumer. The other way there are
/// orders: two producers that fill a slot one after the other are different threads, so that only a pop that releases and a
/// push that acquires keep the earlier word from replacing the later one. Producers claim slots by compare-and-swap, as in
/// `mpsc_channel`, which says what memory that needs, what a producer that stops in between does, and how `close` ends it.
/// PTX: push: ld.relaxed, ld.acquire, atom.relaxed.cas, st.relaxed.b128; pop: ld.relaxed.b128, st.release.
template <class Message, int Capacity, thread_scope Scope>
class packed_mpsc_channel {
 public:
  using value_type = Message;
  static constexpr int capacity = Capacity;
  static constexpr thread_scope scope = Scope;

  /// Appends `message`; `would_wait` if the channel is full. By any thread. It repeats only when another push was faster.
  MEMBAR_HOST_DEVICE wait_result try_push(const Message& message) noexcept {
    unsigned long long position = all_.tail.load(relaxed);
    for (;;) {
      if ((position & detail::closed_bit) != 0) {
        return wait_result::closed;
      }
      // Where the head has passed this position already, the position is an old one, and the swap fails.
      const unsigned long long taken = all_.head.load(acquire);
      if (taken + Capacity <= position) {
        return wait_result::would_wait;
      }
      if (all_.tail.compare_exchange(position, position + 1, relaxed, relaxed)) {
        all_.slots[position % Capacity].store(detail::pack(message, position / Capacity), relaxed);
        return wait_result::done;
      }
    }
  }

  /// The same, and waits for room.
  MEMBAR_HOST_DEVICE wait_result push(const Message& message, wait_budget budget) noexcept {
    return detail::wait_until(budget, [&] { return try_push(message); });
  }

  /// Refuses every later push. By any thread.
  MEMBAR_HOST_DEVICE void close() noexcept { static_cast<void>(all_.tail.fetch_or(detail::closed_bit, relaxed)); }

  /// The consumer's end: one thread's, at a time.
  class consumer {
   public:
    MEMBAR_HOST_DEVICE explicit consumer(packed_mpsc_channel& channel) noexcept
        : all_(&channel.all_), taken_(all_->head.load(relaxed)) {}

    /// Takes the oldest message; `would_wait` if it is not there, `closed` if none will come.
    MEMBAR_HOST_DEVICE wait_result try_pop(Message& message) noexcept {
      if (all_->take(message, taken_, release)) {
        ++taken_;
        return wait_result::done;
      }
      return all_->tail.load(relaxed) == (taken_ | detail::closed_bit) ? wait_result::closed : wait_result::would_wait;
    }

    /// The same, and waits for a message.
    MEMBAR_HOST_DEVICE wait_result pop(Message& message, wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] { return try_pop(message); });
    }

   private:
    detail::packed_slots<Message, Capacity, Scope>* all_;
    unsigned long long taken_;
  };

 private:
  detail::packed_slots<Message, Capacity, Scope> all_;
};

}  // namespace membar
