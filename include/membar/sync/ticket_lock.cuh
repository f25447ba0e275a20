// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A lock that is granted in the order in which it was requested.
#pragma once

#include <membar/atomic.cuh>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

/// A small, fair lock with two counters. It is suitable if few threads wait at the same time, because all of them poll the same
/// word.
///
/// Synchronizes: a `lock` or `try_lock` that returns `done` synchronizes with the preceding `unlock`, so everything that one
/// holder did is visible to all later holders. A zero-initialized lock is free. `try_lock` calls take no ticket and are not
/// ordered among themselves. Lanes of one warp must not contend for one lock: let one lane lock for the warp. Ends: a `lock`
/// that waits longer than its budget returns `timed_out` and closes the lock, because its ticket would block all later tickets.
/// Every other wait, whether current or later, returns `closed`. To stop waiting without closing the lock, use `try_lock`.
///
/// PTX: lock: atom.relaxed.add, ld.acquire; try_lock: ld.acquire, atom.relaxed.cas; unlock: red.release.add. Requires: for
/// device scope, all kernels must run in one physical domain.
template <thread_scope Scope>
class ticket_lock {
 public:
  static constexpr thread_scope scope = Scope;

  /// Acquires the lock if it is free and no thread is waiting; otherwise returns `would_wait`.
  MEMBAR_HOST_DEVICE wait_result try_lock() noexcept {
    const unsigned long long serving = serving_.load(acquire);
    if ((serving & detail::closed_bit) != 0) {
      return wait_result::closed;
    }
    unsigned long long expected = serving;
    return next_.compare_exchange(expected, serving + 1, relaxed, relaxed) ? wait_result::done : wait_result::would_wait;
  }

  /// Acquires the lock, after all earlier requests.
  MEMBAR_HOST_DEVICE wait_result lock(wait_budget budget) noexcept {
    const unsigned long long ticket = next_.fetch_add(1, relaxed);
    const wait_result result = detail::wait_until(budget, [&] {
      const unsigned long long serving = serving_.load(acquire);
      if (serving == ticket) {
        return wait_result::done;
      }
      if ((serving & detail::closed_bit) != 0) {
        return wait_result::closed;
      }
      // The more tickets are ahead of a thread, the less often it polls.
      const unsigned long long ahead = ticket - serving;
      detail::pause(ahead < 64 ? static_cast<unsigned>(ahead) * 16 : 1024);
      return wait_result::would_wait;
    });
    if (result == wait_result::timed_out) {
      static_cast<void>(serving_.fetch_or(detail::closed_bit, relaxed));
    }
    return result;
  }

  /// Releases the lock. Only the holder may call it.
  MEMBAR_HOST_DEVICE void unlock() noexcept { serving_.add(1, release); }

 private:
  alignas(128) atomic<unsigned long long, Scope> next_;
  alignas(128) atomic<unsigned long long, Scope> serving_;
};

}  // namespace v0_3
}  // namespace membar
