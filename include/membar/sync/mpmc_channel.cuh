// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A bounded queue from many producers to many consumers, for example a work queue for blocks that create work for each other.
#pragma once

#include <membar/atomic.cuh>
#include <membar/sync/mpsc_channel.cuh>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

/// A queue of at most `Capacity` messages from any threads in `Scope` to any threads in `Scope`. Each message is taken exactly
/// once. A thread may both push and pop.
///
/// The channel must be in memory that all threads can access. A zero-initialized channel is open and empty.
///
/// Synchronizes: a `pop` that returns `done` synchronizes with the `push` of its message, and a push into a slot is ordered
/// after the pop that emptied the slot. The channel is not fair, and different consumers may take the messages of one producer
/// out of order (a single consumer takes them in order). A pop does not skip a slot whose producer stopped between its claim
/// and its store, and a push does not skip a slot whose consumer stopped in this way. In both cases, the call returns
/// `timed_out`. A pop that returns `closed` does not synchronize with `close`. Ends: if the channel stays full or empty for the
/// whole budget, for example because the other side does not exist, a call returns `timed_out`. Any thread may call `close`.
/// Afterwards, no push succeeds, but messages that were pushed earlier can still be taken. When all messages have been taken,
/// each pop returns `closed`.
///
/// If consumers push work themselves, all of them can block in a push to a full channel, so that no thread pops. Such consumers
/// must use `try_push`, and do the work themselves if the channel is full.
///
/// PTX: push: ld.relaxed, ld.acquire, atom.relaxed.cas, st of the message, st.release; pop: ld.relaxed, ld.acquire,
/// atom.relaxed.cas, ld of the message, st.release. Requires: `Message` must be trivially copyable; `Capacity` must be a power
/// of two; the memory must support compare-and-swap from all threads at `Scope`, which most memory across PCIe does not; for
/// device scope, all kernels must run in one physical domain.
template <class Message, int Capacity, thread_scope Scope>
class mpmc_channel {
 public:
  using value_type = Message;
  static constexpr int capacity = Capacity;
  static constexpr thread_scope scope = Scope;

  /// Appends `message`, or returns `would_wait` if the channel is full. It retries only if another push has succeeded.
  MEMBAR_HOST_DEVICE wait_result try_push(const Message& message) noexcept { return all_.try_push(message); }

  /// Appends `message`. If the channel is full, waits for space.
  MEMBAR_HOST_DEVICE wait_result push(const Message& message, wait_budget budget) noexcept {
    return detail::wait_until(budget, [&] { return try_push(message); });
  }

  /// Takes the oldest message that has not been taken. Returns `would_wait` if there is no message, or `closed` if there will
  /// be no more. It retries only if another pop has succeeded.
  MEMBAR_HOST_DEVICE wait_result try_pop(Message& message) noexcept {
    unsigned long long position = all_.head.load(relaxed);
    for (;;) {
      auto& next = all_.slots[position % Capacity];
      const unsigned long long full = position / Capacity * 2 + 1;
      const unsigned long long stamp = next.stamp.load(acquire);
      if (stamp < full) {
        return all_.nothing_at(position);
      }
      if (stamp > full) {
        position = all_.head.load(relaxed);
      } else if (all_.head.compare_exchange(position, position + 1, relaxed, relaxed)) {
        next.take(message, full);
        return wait_result::done;
      }
    }
  }

  /// Takes the oldest message that has not been taken. If there is none, waits for a message.
  MEMBAR_HOST_DEVICE wait_result pop(Message& message, wait_budget budget) noexcept {
    return detail::wait_until(budget, [&] { return try_pop(message); });
  }

  /// Rejects every later push. Any thread may call it.
  MEMBAR_HOST_DEVICE void close() noexcept { all_.close(); }

 private:
  detail::claimed_slots<Message, Capacity, Scope> all_;
};

}  // namespace v0_3
}  // namespace membar
