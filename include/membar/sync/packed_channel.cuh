// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Bounded queues of messages of up to 12 bytes. Each message is in one 16-byte word together with its sequence number, so a
/// single load both checks whether there is a message and reads it.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/packed_word.cuh>
#include <membar/detail/ring.cuh>
#include <membar/detail/standard.hpp>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

namespace detail {

/// Returns the word that represents a message in a slot that was filled `turn` times before.
template <class Message>
[[nodiscard]] MEMBAR_HOST_DEVICE packed_word pack(const Message& message, unsigned long long turn) noexcept {
  return packed_piece(&message, 0, static_cast<unsigned>(turn) + 1);
}

/// The slots of a packed channel and the consumer's side, which is the same for one producer and for several producers.
template <class Message, int Capacity, thread_scope Scope>
struct packed_slots {
  static_assert(detail::is_bytes<Message>, "membar: a channel's message type must be trivially copyable");
  static_assert(sizeof(Message) <= packed_word::capacity,
                "membar: a packed message can have at most 12 bytes: use spsc_channel or mpsc_channel");
  static_assert(is_power_of_two(Capacity), "membar: the capacity of a channel must be a power of two");

  /// Takes the message at `position` if it has arrived, and stores the consumer's counter with `order`.
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

  alignas(128) atomic<unsigned long long, Scope> tail;  ///< the number of messages that were pushed, and `closed_bit`
  alignas(128) atomic<unsigned long long, Scope> head;  ///< the number of messages that were taken, and `closed_bit`
  alignas(128) atomic<packed_word, Scope> slots[static_cast<std::size_t>(Capacity)];
};

}  // namespace detail

/// A queue of at most `Capacity` messages of up to 12 bytes from one thread to another. Each message is taken exactly once, in
/// order.
///
/// The channel does not synchronize: it passes only the message. Use it if the message itself is the data. If the message tells
/// the consumer that data elsewhere in memory is ready, use `spsc_channel`.
///
/// Each slot is one 16-byte word with a message and a sequence number, which is loaded and stored as a whole: `.b128` is
/// single-copy atomic, but a vector of four words is not. No memory order is needed: the producer stores to a slot again only
/// after it has loaded the counter that the consumer stored after reading the slot, and no execution reverses these two
/// accesses.
///
/// The required memory, the scope, the budgets and the possible results of a call are the same as for `spsc_channel`.
///
/// PTX: push: st.relaxed.b128, and ld.relaxed of the counter if the channel seems full; pop: ld.relaxed.b128, st.relaxed.
/// Requires: on the host, libatomic and a processor with single 16-byte loads and stores; between host and device, a link that
/// does not split 16-byte stores. PCIe does not guarantee that, so use `spsc_channel` there.
template <class Message, int Capacity, thread_scope Scope>
class packed_spsc_channel {
 public:
  using value_type = Message;
  static constexpr int capacity = Capacity;
  static constexpr thread_scope scope = Scope;

  /// The producer's end. Only one thread may use it, and a channel can have only one producer in its lifetime, because the
  /// producer counts the messages itself and stores the count in the channel only when it closes.
  class producer {
   public:
    /// Constructs the producer of a channel that must never have been used before.
    MEMBAR_HOST_DEVICE explicit producer(packed_spsc_channel& channel) noexcept : all_(&channel.all_) {}

    /// Appends `message`, or returns `would_wait` if the channel is full.
    MEMBAR_HOST_DEVICE wait_result try_push(const Message& message) noexcept {
      return ring_.claim(all_->head, relaxed, [&] {
        all_->slots[ring_.slot()].store(detail::pack(message, ring_.pushed / Capacity), relaxed);
        ++ring_.pushed;
      });
    }

    /// Appends `message`. If the channel is full, waits for space.
    MEMBAR_HOST_DEVICE wait_result push(const Message& message, wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] { return try_push(message); });
    }

    /// Closes the channel: the consumer can take the remaining messages and then finds the channel closed.
    MEMBAR_HOST_DEVICE void close() noexcept {
      ring_.closed = true;
      all_->tail.store(ring_.pushed | detail::closed_bit, relaxed);
    }

   private:
    detail::packed_slots<Message, Capacity, Scope>* all_;
    detail::ring_producer<Capacity> ring_;
  };

  /// The consumer's end, which one thread at a time may use.
  class consumer {
   public:
    /// Continues where the previous consumer stopped.
    MEMBAR_HOST_DEVICE explicit consumer(packed_spsc_channel& channel) noexcept : all_(&channel.all_) {
      const unsigned long long head = all_->head.load(relaxed);
      closed_ = (head & detail::closed_bit) != 0;
      taken_ = head & ~detail::closed_bit;
    }

    /// Takes the oldest message. Returns `would_wait` if there is no message, or `closed` if there will be no more.
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

    /// Takes the oldest message. If there is none, waits for a message.
    MEMBAR_HOST_DEVICE wait_result pop(Message& message, wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] { return try_pop(message); });
    }

    /// Stops taking messages: the producer finds the channel closed, at the latest when the channel is full.
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

/// A queue of at most `Capacity` messages of up to 12 bytes from any threads in `Scope` to one consumer. Each message is taken
/// exactly once, and the messages of one producer are taken in order.
///
/// A push does not synchronize with its pop: only the message is passed, in one 16-byte word with its sequence number. The
/// counter of taken messages is released and acquired, because two producers that fill a slot one after the other are different
/// threads, and without these orders the earlier word could replace the later one.
///
/// Producers claim slots with compare-and-swap. The required memory, the effect of a producer that stops after its claim, and
/// `close` are the same as for `mpsc_channel`; the requirements on the link and the host are the same as for
/// `packed_spsc_channel`.
///
/// PTX: push: ld.relaxed, ld.acquire, atom.relaxed.cas, st.relaxed.b128; pop: ld.relaxed.b128, st.release.
template <class Message, int Capacity, thread_scope Scope>
class packed_mpsc_channel {
 public:
  using value_type = Message;
  static constexpr int capacity = Capacity;
  static constexpr thread_scope scope = Scope;

  /// Appends `message`, or returns `would_wait` if the channel is full. Any thread may call it. It retries only if another push
  /// has succeeded.
  MEMBAR_HOST_DEVICE wait_result try_push(const Message& message) noexcept {
    unsigned long long position = all_.tail.load(relaxed);
    for (;;) {
      if ((position & detail::closed_bit) != 0) {
        return wait_result::closed;
      }
      // If the head has passed this position, the position is outdated, and the compare_exchange fails.
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

  /// Appends `message`. If the channel is full, waits for space. Any thread may call it.
  MEMBAR_HOST_DEVICE wait_result push(const Message& message, wait_budget budget) noexcept {
    return detail::wait_until(budget, [&] { return try_push(message); });
  }

  /// Rejects every later push. Any thread may call it.
  MEMBAR_HOST_DEVICE void close() noexcept { static_cast<void>(all_.tail.fetch_or(detail::closed_bit, relaxed)); }

  /// The consumer's end, which one thread at a time may use.
  class consumer {
   public:
    /// Continues where the previous consumer stopped.
    MEMBAR_HOST_DEVICE explicit consumer(packed_mpsc_channel& channel) noexcept
        : all_(&channel.all_), taken_(all_->head.load(relaxed)) {}

    /// Takes the oldest message. Returns `would_wait` if there is no message, or `closed` if there will be no more.
    MEMBAR_HOST_DEVICE wait_result try_pop(Message& message) noexcept {
      if (all_->take(message, taken_, release)) {
        ++taken_;
        return wait_result::done;
      }
      return all_->tail.load(relaxed) == (taken_ | detail::closed_bit) ? wait_result::closed : wait_result::would_wait;
    }

    /// Takes the oldest message. If there is none, waits for a message.
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

}  // namespace v0_3
}  // namespace membar
