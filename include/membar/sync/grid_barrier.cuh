// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A barrier of all blocks of a grid, or of several grids, with arriving and waiting apart.
#pragma once

#include <membar/atomic.cuh>
#include <membar/wait_budget.cuh>

namespace membar {

/// A barrier of thread blocks. `arrive` says that this block has come, `wait` waits until all have; between the two a block can
/// do what the others need not wait for. All-zero bytes are a barrier that nobody has come to; it is used any number of times.
///
/// Synchronizes: with `arrive(release)` and `wait(acquire)`, what any thread of a block did before its arrive is visible to
/// every thread of every block after its wait. With `relaxed` on either side the blocks meet, and nothing is ordered between
/// that block's threads and other blocks: for phases that share no data. Each call is a barrier of the block. It does not
/// guarantee: anything if some block is not running: all must be on the device at once. Launch with `launch_co_resident`
/// (co_residency.hpp), which checks that. A wait whose budget is used up returns `timed_out` in every thread of the block; the
/// barrier must be zeroed before it is used again.
///
/// PTX: arrive: bar.sync and, by thread 0, atom.{relaxed,release}.add; wait: ld.{relaxed,acquire} by thread 0 and bar.red
/// (`sync`: bar.sync). Requires: every thread of every block calls it; for `sync`, one byte of static shared memory. `Scope` is
/// `device` for a grid, or grids in one physical domain; `system` for grids in several domains or on several devices (the
/// memory must take atomics from all of them); `cluster` or `block` for those.
template <thread_scope Scope>
class grid_barrier {
 public:
  static constexpr thread_scope scope = Scope;

  /// What `wait` needs of its `arrive`.
  class arrival {
    friend class grid_barrier;
    unsigned seen_ = 0;
  };

  /// This block has come. `blocks` come in all; exactly one of them, in every phase, is the `leader`.
  template <class Order>
  [[nodiscard]] __device__ arrival arrive(Order order, unsigned blocks, bool leader) noexcept {
    static_assert(order_among<Order, memory_order::relaxed, memory_order::release>,
                  "membar: arriving at a barrier takes relaxed or release: what it acquires, the wait acquires");
    arrival mine;
    __syncthreads();
    if (is_first_thread()) {
      // One phase adds 2^31 in all, so that the upper bit changes with the last arrival and the lower ones end where they
      // began.
      mine.seen_ = arrived_.fetch_add(leader ? 0x80000000U - (blocks - 1) : 1U, order);
    }
    return mine;
  }

  /// The same for the blocks of one grid.
  template <class Order>
  [[nodiscard]] __device__ arrival arrive(Order order) noexcept {
    return arrive(order, gridDim.x * gridDim.y * gridDim.z, (blockIdx.x | blockIdx.y | blockIdx.z) == 0);
  }

  /// Waits until every block has come. All threads of the block get the same result.
  template <class Order>
  __device__ wait_result wait(const arrival& mine, Order order, wait_budget budget) noexcept {
    const bool late = is_first_thread() && !all_come(mine, order, budget);
    return __syncthreads_or(late ? 1 : 0) != 0 ? wait_result::timed_out : wait_result::done;
  }

  /// Both at once, for the blocks of one grid: faster than the two, whose waits may follow each other without an arrive.
  template <class ArriveOrder, class WaitOrder>
  __device__ wait_result sync(ArriveOrder arrive_order, WaitOrder wait_order, wait_budget budget) noexcept {
    const arrival mine = arrive(arrive_order);
    if (is_first_thread()) {
      late() = !all_come(mine, wait_order, budget);
    }
    __syncthreads();
    return late() ? wait_result::timed_out : wait_result::done;
  }
  __device__ wait_result sync(wait_budget budget) noexcept { return sync(release, acquire, budget); }

 private:
  template <class Order>
  [[nodiscard]] __device__ bool all_come(const arrival& mine, Order order, wait_budget budget) noexcept {
    static_assert(order_among<Order, memory_order::relaxed, memory_order::acquire>,
                  "membar: waiting at a barrier takes relaxed or acquire: what it releases, the arrive releases");
    return detail::wait_until(budget, [&] {
             const bool all = ((arrived_.load(order) ^ mine.seen_) & 0x80000000U) != 0;
             return all ? wait_result::done : wait_result::would_wait;
           }) == wait_result::done;
  }

  /// Read before the next `sync`'s first barrier of the block and written behind it: a plain barrier and a load, where a wait
  /// must reduce its result over the block.
  [[nodiscard]] __device__ static bool& late() noexcept {
    __shared__ bool result;
    return result;
  }

  [[nodiscard]] __device__ static bool is_first_thread() noexcept { return (threadIdx.x | threadIdx.y | threadIdx.z) == 0; }

  atomic<unsigned, Scope> arrived_;
};

}  // namespace membar
