// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A bounded queue from many producers to one consumer.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/standard.hpp>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

namespace detail {

/// The common part of the channels with several producers: the slots, the producers' counter, and the consumers' counter. A
/// zero-initialized object is open and empty.
template <class Message, int Capacity, thread_scope Scope>
struct claimed_slots {
  static_assert(is_bytes<Message>, "membar: a channel's message type must be trivially copyable");
  static_assert(is_power_of_two(Capacity), "membar: the capacity of a channel must be a power of two");

  /// The stamp is twice the number of times that the slot was emptied, plus one while the slot is full.
  struct slot {
    atomic<unsigned long long, Scope> stamp;
    Message message;

    /// Empties a slot that only the caller may empty. `full` is the slot's stamp.
    MEMBAR_HOST_DEVICE void take(Message& to, unsigned long long full) noexcept {
      to = message;
      stamp.store(full + 1, release);
    }
  };

  alignas(128) atomic<unsigned long long, Scope> tail;
  alignas(128) atomic<unsigned long long, Scope> head;
  alignas(128) slot slots[static_cast<std::size_t>(Capacity)];

  /// Claims the next slot and fills it, or returns `would_wait` if that slot is not empty. It retries only if another claim has
  /// succeeded.
  MEMBAR_HOST_DEVICE wait_result try_push(const Message& message) noexcept {
    unsigned long long position = tail.load(relaxed);
    for (;;) {
      if ((position & closed_bit) != 0) {
        return wait_result::closed;
      }
      slot& own = slots[position % Capacity];
      const unsigned long long empty = position / Capacity * 2;
      const unsigned long long stamp = own.stamp.load(acquire);
      if (stamp < empty) {
        return wait_result::would_wait;
      }
      if (stamp > empty) {
        position = tail.load(relaxed);
      } else if (tail.compare_exchange(position, position + 1, relaxed, relaxed)) {
        own.message = message;
        own.stamp.store(empty + 1, release);
        return wait_result::done;
      }
    }
  }

  /// Returns the reason why there is no message at `position`: `closed` if there will be no more messages, otherwise
  /// `would_wait`.
  [[nodiscard]] MEMBAR_HOST_DEVICE wait_result nothing_at(unsigned long long position) const noexcept {
    return tail.load(relaxed) == (position | closed_bit) ? wait_result::closed : wait_result::would_wait;
  }

  /// Rejects every later push.
  MEMBAR_HOST_DEVICE void close() noexcept { static_cast<void>(tail.fetch_or(closed_bit, relaxed)); }
};

}  // namespace detail

/// A queue of at most `Capacity` messages from any threads in `Scope` to one consumer. Each message is taken exactly once, and
/// the messages of one producer are taken in order.
///
/// The channel must be in memory that all threads can access. A zero-initialized channel is open and empty.
///
/// Synchronizes: a `pop` that returns `done` synchronizes with the `push` of its message, and a push into a slot is ordered
/// after the pop that emptied the slot. The channel is not fair and does not order producers. A pop does not skip a slot whose
/// producer stopped between its claim and its store, but returns `timed_out`. A pop that returns `closed` does not synchronize
/// with `close`. Ends: if the channel stays full or empty for the whole budget, for example because the other side does not
/// exist, a call returns `timed_out`. Either side may call `close`. Afterwards, no push succeeds, but messages that were pushed
/// earlier can still be taken.
///
/// PTX: push: ld.relaxed, ld.acquire, atom.relaxed.cas, st of the message, st.release; pop: ld.acquire, ld of the message,
/// st.release. Requires: `Message` must be trivially copyable; `Capacity` must be a power of two; the memory must support
/// compare-and-swap from all producers at `Scope`, which most memory across PCIe does not (use an `spsc_channel` for each
/// producer there); for device scope, all kernels must run in one physical domain.
template <class Message, int Capacity, thread_scope Scope>
class mpsc_channel {
 public:
  using value_type = Message;
  static constexpr int capacity = Capacity;
  static constexpr thread_scope scope = Scope;

  /// Appends `message`, or returns `would_wait` if the channel is full. Any thread may call it. It retries only if another push
  /// has succeeded.
  MEMBAR_HOST_DEVICE wait_result try_push(const Message& message) noexcept { return all_.try_push(message); }

  /// Appends `message`. If the channel is full, waits for space. Any thread may call it.
  MEMBAR_HOST_DEVICE wait_result push(const Message& message, wait_budget budget) noexcept {
    return detail::wait_until(budget, [&] { return try_push(message); });
  }

  /// Rejects every later push. Any thread may call it.
  MEMBAR_HOST_DEVICE void close() noexcept { all_.close(); }

  /// The consumer's end, which one thread at a time may use.
  class consumer {
   public:
    /// Continues where the previous consumer stopped.
    MEMBAR_HOST_DEVICE explicit consumer(mpsc_channel& channel) noexcept
        : all_(&channel.all_), taken_(all_->head.load(relaxed)) {}

    /// Takes the oldest message. Returns `would_wait` if there is no message, or `closed` if there will be no more.
    MEMBAR_HOST_DEVICE wait_result try_pop(Message& message) noexcept {
      auto& next = all_->slots[taken_ % Capacity];
      const unsigned long long full = taken_ / Capacity * 2 + 1;
      if (next.stamp.load(acquire) != full) {
        return all_->nothing_at(taken_);
      }
      next.take(message, full);
      all_->head.store(++taken_, relaxed);  // the counter is stored only for the next consumer
      return wait_result::done;
    }

    /// Takes the oldest message. If there is none, waits for a message.
    MEMBAR_HOST_DEVICE wait_result pop(Message& message, wait_budget budget) noexcept {
      return detail::wait_until(budget, [&] { return try_pop(message); });
    }

   private:
    detail::claimed_slots<Message, Capacity, Scope>* all_;
    unsigned long long taken_;
  };

 private:
  detail::claimed_slots<Message, Capacity, Scope> all_;
};

}  // namespace v0_3
}  // namespace membar
