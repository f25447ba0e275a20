// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A barrier between a few threads that run on several devices, in several synchronization domains, or on the host.
#pragma once

#include <membar/atomic.cuh>
#include <membar/fence.cuh>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

/// A barrier between `Ranks` threads that uses only flags. Across the link, it needs loads and stores, but no atomics.
///
/// Each rank has `flags` in nearby memory that the other ranks can access. A rank arrives by storing to the
/// flags of every rank, and waits by polling its own flags. Ranks may also share one set of flags. Zero-initialized flags are
/// ready for use. Use `system` scope for ranks in several domains, on several devices or on the host, and `device` scope for
/// kernels in one physical domain.
///
/// Synchronizes: with `arrive(release)` and `wait(acquire)`, everything before any rank's `arrive` is visible after any rank's
/// `wait`. With `relaxed` on either side, nothing is ordered for that rank. To synchronize a grid, use one of its threads as
/// the rank, with a `grid_barrier` before and after the cross-barrier. Ends: if a rank does not arrive within the budget,
/// `wait` returns `timed_out`. The flags must then be zeroed before they are used again.
///
/// PTX: arrive: one fence.release and a st.relaxed for each rank; on the host, a release store for each; wait: ld.acquire of
/// each rank's flag. Requires: only one thread at a time may use a rank, and each rank must be fewer than 2^31 phases ahead of
/// the slowest rank.
template <int Ranks, thread_scope Scope = thread_scope::system>
class cross_barrier {
  static_assert(Ranks > 0, "membar: a barrier needs at least one rank");

 public:
  static constexpr int ranks = Ranks;
  static constexpr thread_scope scope = Scope;

  /// The flags of one rank, which count how often each rank has arrived.
  class flags {
    friend class cross_barrier;
    atomic<unsigned, Scope> phase_of_[static_cast<std::size_t>(Ranks)];
  };

  /// Constructs rank `self`'s end of the barrier. `all[r]` are the flags that rank r polls. The rank continues from the phase
  /// that its own flags indicate.
  MEMBAR_HOST_DEVICE cross_barrier(flags* const (&all)[static_cast<std::size_t>(Ranks)], int self) noexcept : self_(self) {
    for (int r = 0; r != Ranks; ++r) {
      all_[r] = all[r];
    }
    phase_ = all_[self]->phase_of_[self].load(relaxed);
  }

  /// Counts this rank as arrived. The order must be relaxed or release.
  MEMBAR_CALLS_EITHER
  template <class Order>
  MEMBAR_HOST_DEVICE void arrive(Order) noexcept {
    static_assert(order_among<Order, memory_order::relaxed, memory_order::release>,
                  "membar: arriving at a barrier cannot acquire: use relaxed or release, and acquire in the wait");
    ++phase_;
    constexpr bool releases = Order::value == memory_order::release;
    if constexpr (releases && !detail::compiling_for_device) {
      for (int r = 0; r != Ranks; ++r) {
        all_[r]->phase_of_[self_].store(phase_, release);
      }
    } else {
      if constexpr (releases) {
        thread_fence<Scope>(release);
      }
      for (int r = 0; r != Ranks; ++r) {
        all_[r]->phase_of_[self_].store(phase_, relaxed);
      }
    }
  }

  /// Waits until every rank has arrived as often as this rank. The order must be relaxed or acquire.
  template <class Order>
  MEMBAR_HOST_DEVICE wait_result wait([[maybe_unused]] Order order, wait_budget budget) noexcept {
    constexpr bool has_order = order_among<Order, memory_order::relaxed, memory_order::acquire>;
    static_assert(has_order, "membar: waiting at a barrier cannot release: use relaxed or acquire, and release in the arrival");
    int arrived = 0;
    return detail::wait_until(budget, [&] {
      if constexpr (has_order) {
        // Phases wrap around, and a rank may be one phase ahead.
        while (arrived != Ranks && static_cast<int>(all_[self_]->phase_of_[arrived].load(order) - phase_) >= 0) {
          ++arrived;
        }
      }
      return arrived == Ranks ? wait_result::done : wait_result::would_wait;
    });
  }

  /// Arrives with release and waits with acquire.
  MEMBAR_HOST_DEVICE wait_result sync(wait_budget budget) noexcept {
    arrive(release);
    return wait(acquire, budget);
  }

 private:
  flags* all_[static_cast<std::size_t>(Ranks)];
  int self_;
  unsigned phase_;
};

}  // namespace v0_3
}  // namespace membar
