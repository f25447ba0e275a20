// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Work that the last block to arrive does for all. No block waits.
#pragma once

#include <membar/atomic.cuh>

namespace membar {

/// Tells the last of a number of blocks that it is the last.
///
/// All-zero bytes are ready for use. After the last block it is ready again.
///
/// Synchronizes: what any thread of any block did before its `arrive` is visible to every thread of the block for which it
/// returns true. It does not guarantee: anything to the other blocks, which get false. No block waits for another, so the
/// blocks need not be on the device at once, and nothing hangs.
///
/// PTX: bar.sync, atom.acq_rel.inc by thread 0, bar.red. Requires: every thread of every block calls it; `device` scope for
/// kernels in one physical domain, else `system`.
template <thread_scope Scope>
class last_block {
 public:
  static constexpr thread_scope scope = Scope;

  /// Returns true in all threads of the block that arrives as the last of `blocks`.
  [[nodiscard]] __device__ bool arrive(unsigned blocks) noexcept {
    __syncthreads();
    int last = 0;
    if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
      last = arrived_.fetch_inc(blocks - 1, acq_rel) == blocks - 1 ? 1 : 0;
    }
    return __syncthreads_or(last) != 0;
  }

  /// Returns true in all threads of the block of the grid that arrives last.
  [[nodiscard]] __device__ bool arrive() noexcept { return arrive(gridDim.x * gridDim.y * gridDim.z); }

 private:
  atomic<unsigned, Scope> arrived_;
};

/// Combines one value of each block of a one-dimensional grid. The last block to arrive gets true and, in thread 0, the
/// `result`.
///
/// Thread 0's `block_value` counts, and `partial` has room for one value of each block. The values are combined in the order of
/// the blocks, so equal values give equal results. Synchronizes as `last_block`. Requires: every thread of every block calls
/// it.
template <thread_scope Scope, class T, class Operation>
[[nodiscard]] __device__ bool last_block_reduce(last_block<Scope>& last, const T& block_value, T* partial, Operation operation,
                                                T& result) noexcept {
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = block_value;
  }
  if (!last.arrive()) {
    return false;
  }
  if (threadIdx.x == 0) {
    T all = partial[0];
    for (unsigned b = 1; b < gridDim.x; ++b) {
      all = operation(all, partial[b]);
    }
    result = all;
  }
  return true;
}

}  // namespace membar
