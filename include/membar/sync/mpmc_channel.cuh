// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A bounded queue from many producers to many consumers: a work queue for blocks that give each other work.
#pragma once

#include <membar/atomic.cuh>
#include <membar/sync/mpsc_channel.cuh>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_2 {

/// A queue of at most `Capacity` messages from any threads in `Scope` to any threads in `Scope`. Each message is taken once. A thread
/// may push and pop.
///
/// It lives in memory that all threads reach; all-zero bytes are an open, empty channel.
///
/// Synchronizes: a `pop` that is done synchronizes with the `push` of its message, and a push into a slot comes after the pop
/// that emptied it.
/// It does not guarantee: fairness; that messages of one producer are taken in their order by different consumers (those that one
/// consumer takes are); that a pop passes a slot whose producer stopped between its claim and its store, or a push one whose consumer
/// stopped so (both end with `timed_out`); that `closed` synchronizes with `close`.
/// Ends: full for the whole budget, empty for the whole budget, or no other side: `timed_out`. Any thread may call `close`: no
/// push is done after it, and messages pushed before are still taken, then each pop finds `closed`.
///
/// If consumers push their own work, no thread pops from a full channel that all of them push into: they must `try_push`, and do
/// themselves what does not fit.
///
/// PTX: push: ld.relaxed, ld.acquire, atom.relaxed.cas, st of the message, st.release; pop: ld.relaxed, ld.acquire, atom.relaxed.cas,
/// ld of the message, st.release. Requires: `Message` trivially copyable; `Capacity` a power of two; memory that takes
/// compare-and-swap from all threads at `Scope`, which most memory across PCIe does not; for device scope, all kernels in one
/// physical domain.
template <class Message, int Capacity, thread_scope Scope>
class mpmc_channel {
 public:
  using value_type = Message;
  static constexpr int capacity = Capacity;
  static constexpr thread_scope scope = Scope;

  /// Appends `message`; `would_wait` if the channel is full. It repeats only after another push succeeded.
  MEMBAR_HOST_DEVICE wait_result try_push(const Message& message) noexcept { return all_.try_push(message); }

  /// Appends `message`; if the channel is full, waits for space.
  MEMBAR_HOST_DEVICE wait_result push(const Message& message, wait_budget budget) noexcept {
    return detail::wait_until(budget, [&] { return try_push(message); });
  }

  /// Takes the oldest message that nobody has taken; `would_wait` if it is not there, `closed` if none will follow. It repeats only
  /// after another pop succeeded.
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

  /// Takes the oldest message that nobody has taken; if there is none, waits for one.
  MEMBAR_HOST_DEVICE wait_result pop(Message& message, wait_budget budget) noexcept {
    return detail::wait_until(budget, [&] { return try_pop(message); });
  }

  /// Rejects every later push. Any thread calls it.
  MEMBAR_HOST_DEVICE void close() noexcept { all_.close(); }

 private:
  detail::claimed_slots<Message, Capacity, Scope> all_;
};

}  // namespace v0_2
}  // namespace membar
