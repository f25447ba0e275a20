// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A lock whose waiters form a queue, in which each waiter polls its own word.
#pragma once

#include <membar/atomic.cuh>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

/// The fair lock of Mellor-Crummey and Scott. It is suitable for many waiters, because each waiter polls its own node and an
/// unlock accesses only one node.
///
/// Synchronizes: a `lock` or `try_lock` that returns `done` synchronizes with the preceding `unlock`. A zero-initialized lock
/// is free. A thread may make no progress while an earlier waiter is not running. Lanes of one warp must not contend for one
/// lock: let one lane lock for the warp. Ends: a `lock` that waits longer than its budget returns `timed_out` and closes the
/// lock. Later `lock` calls return `closed`, and calls that are already waiting end when their budgets are used up. The nodes
/// of waits that timed out must remain allocated. An `unlock` waits only for a successor that has requested the lock but has
/// not linked itself yet. If that takes longer than its budget, the `unlock` returns `timed_out` and closes the lock.
///
/// PTX: lock: atom.acq_rel.exch, st.release of the link, ld.acquire of its own node; unlock: ld.acquire of the link, st.release
/// to the next node, or atom.release.cas. Requires: each thread that locks or waits must have its own node, in memory that all
/// threads in `Scope` can access, never on a stack; for device scope, all kernels must run in one physical domain. Source:
/// Mellor-Crummey and Scott, "Algorithms for scalable synchronization on shared-memory multiprocessors", 1991.
template <thread_scope Scope>
class queue_lock {
 public:
  static constexpr thread_scope scope = Scope;

  /// A place in the queue. One thread owns it from its `lock` to its `unlock`. After that, it can be used again.
  class alignas(32) node {
    friend class queue_lock;
    atomic<node*, Scope> next_;
    atomic<unsigned, Scope> granted_;
  };

  /// Acquires the lock if it is free; otherwise returns `would_wait`.
  MEMBAR_HOST_DEVICE wait_result try_lock(node& own) noexcept {
    if (closed_.load(relaxed) != 0) {
      return wait_result::closed;
    }
    own.next_.store(nullptr, relaxed);
    node* expected = nullptr;
    return tail_.compare_exchange(expected, &own, acq_rel, relaxed) ? wait_result::done : wait_result::would_wait;
  }

  /// Acquires the lock, after all earlier requests.
  MEMBAR_HOST_DEVICE wait_result lock(node& own, wait_budget budget) noexcept {
    if (closed_.load(relaxed) != 0) {
      return wait_result::closed;
    }
    own.next_.store(nullptr, relaxed);
    own.granted_.store(0, relaxed);
    node* const before = tail_.exchange(&own, acq_rel);
    if (before == nullptr) {
      return wait_result::done;
    }
    before->next_.store(&own, release);
    return closing(detail::wait_until(
        budget, [&] { return own.granted_.load(acquire) != 0 ? wait_result::done : wait_result::would_wait; }));
  }

  /// Releases the lock. Only the holder may call it, with the node that it passed to `lock` or `try_lock`.
  MEMBAR_HOST_DEVICE wait_result unlock(node& own, wait_budget budget) noexcept {
    node* next = own.next_.load(acquire);
    if (next == nullptr) {
      node* expected = &own;
      if (tail_.compare_exchange(expected, nullptr, release, relaxed)) {
        return wait_result::done;
      }
      const wait_result linked = closing(detail::wait_until(budget, [&] {
        next = own.next_.load(acquire);
        return next != nullptr ? wait_result::done : wait_result::would_wait;
      }));
      if (linked != wait_result::done) {
        return linked;
      }
    }
    next->granted_.store(1, release);
    return wait_result::done;
  }

 private:
  MEMBAR_HOST_DEVICE wait_result closing(wait_result result) noexcept {
    if (result == wait_result::timed_out) {
      closed_.store(1, relaxed);
    }
    return result;
  }

  alignas(128) atomic<node*, Scope> tail_;
  alignas(128) atomic<unsigned, Scope> closed_;
};

}  // namespace v0_3
}  // namespace membar
