// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A barrier across all blocks of a grid, or of several grids, with separate calls for arriving and waiting.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/lane.cuh>
#include <membar/wait_budget.cuh>

namespace membar {
inline namespace v0_3 {

/// A barrier between thread blocks: `arrive` counts this block, and `wait` waits until all blocks have arrived.
///
/// Between the two calls, a block can do work that the other blocks need not wait for. A zero-initialized barrier is ready for
/// use, and it can be used any number of times.
///
/// Synchronizes: with `arrive(release)` and `wait(acquire)`, everything that any thread of a block did before the block's
/// `arrive` is visible to every thread of every block after that block's `wait`. A call with `relaxed` orders nothing between
/// its block and other blocks, which is sufficient for phases that share no data. Each call also acts as a block-wide barrier.
/// The barrier guarantees nothing if some block does not run: all blocks must be resident on the device at the same time, which
/// `launch_co_resident` (co_residency.hpp) checks. Ends: a wait that uses up its budget returns `timed_out` in every thread of
/// the block. The barrier must then be zeroed before it is used again.
///
/// PTX: arrive: bar.sync and, by thread 0, atom.{relaxed,release}.add; wait: ld.{relaxed,acquire} by thread 0 and bar.red
/// (`sync`: bar.sync). Requires: every thread of every block must make each call; `sync` needs one byte of static shared
/// memory. Use `device` as the `Scope` for one grid, or for grids in one physical domain. Use `system` for grids in several
/// domains or on several devices; the memory must then support atomics from all of these devices. Use `cluster` for
/// the blocks of a cluster, and `block` for one block.
template <thread_scope Scope>
class grid_barrier {
 public:
  static constexpr thread_scope scope = Scope;

  /// The result of `arrive`, which is passed to `wait`.
  class arrival {
    friend class grid_barrier;
    unsigned seen_ = 0;
  };

  /// Counts this block as one of `blocks`. In every phase, exactly one block must pass true as `leader`.
  template <class Order>
  [[nodiscard]] __device__ arrival arrive(Order order, unsigned blocks, bool leader) noexcept {
    static_assert(order_among<Order, memory_order::relaxed, memory_order::release>,
                  "membar: arriving at a barrier cannot acquire: use relaxed or release, and acquire in the wait");
    arrival mine;
    __syncthreads();
    if (detail::is_first_thread()) {
      // The increments of one phase add up to 2^31, so the upper bit changes with the last arrival and the lower bits return to
      // their initial value.
      mine.seen_ = arrived_.fetch_add(leader ? 0x80000000U - (blocks - 1) : 1U, order);
    }
    return mine;
  }

  /// Counts this block as one of its grid.
  template <class Order>
  [[nodiscard]] __device__ arrival arrive(Order order) noexcept {
    return arrive(order, detail::grid_blocks(), (blockIdx.x | blockIdx.y | blockIdx.z) == 0);
  }

  /// Waits until every block has arrived. All threads of the block get the same result.
  template <class Order>
  __device__ wait_result wait(const arrival& mine, Order order, wait_budget budget) noexcept {
    const bool late = detail::is_first_thread() && !all_come(mine, order, budget);
    return __syncthreads_or(late ? 1 : 0) != 0 ? wait_result::timed_out : wait_result::done;
  }

  /// Arrives and waits, for the blocks of one grid. This is faster than two separate calls.
  template <class ArriveOrder, class WaitOrder>
  __device__ wait_result sync(ArriveOrder arrive_order, WaitOrder wait_order, wait_budget budget) noexcept {
    const arrival mine = arrive(arrive_order);
    if (detail::is_first_thread()) {
      late() = !all_come(mine, wait_order, budget);
    }
    __syncthreads();
    return late() ? wait_result::timed_out : wait_result::done;
  }
  /// Arrives with release and waits with acquire, for the blocks of one grid.
  __device__ wait_result sync(wait_budget budget) noexcept { return sync(release, acquire, budget); }

 private:
  template <class Order>
  [[nodiscard]] __device__ bool all_come(const arrival& mine, Order order, wait_budget budget) noexcept {
    constexpr bool has_order = order_among<Order, memory_order::relaxed, memory_order::acquire>;
    static_assert(has_order, "membar: waiting at a barrier cannot release: use relaxed or acquire, and release in the arrival");
    if constexpr (has_order) {
      return detail::wait_until(budget, [&] {
               const bool all = ((arrived_.load(order) ^ mine.seen_) & 0x80000000U) != 0;
               return all ? wait_result::done : wait_result::would_wait;
             }) == wait_result::done;
    } else {
      return false;
    }
  }

  /// The result of `sync`, in shared memory. It is read before the first block barrier of the next `sync` and written after it,
  /// so a plain barrier and a load are sufficient, whereas `wait` must reduce its result over the block.
  [[nodiscard]] __device__ static bool& late() noexcept {
    __shared__ bool result;
    return result;
  }

  atomic<unsigned, Scope> arrived_;
};

}  // namespace v0_3
}  // namespace membar
