// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks that write, pass a grid barrier, and read what the next block wrote.
#include <membar/sync/grid_barrier.cuh>

using grid_barrier = membar::grid_barrier<membar::thread_scope::device>;

extern "C" __global__ void phases(grid_barrier* barrier, unsigned* cells, unsigned* sums, unsigned rounds) {
  const bool leader = threadIdx.x == 0;
#pragma unroll 1
  for (unsigned r = 1; r <= rounds; ++r) {
    if (leader) {
      cells[blockIdx.x] = r;
    }
    if (barrier->sync(membar::wait_budget::milliseconds(10'000)) != membar::wait_result::done) {
      __trap();
    }
    if (leader) {
      sums[blockIdx.x] += cells[(blockIdx.x + 1) % gridDim.x];
    }
    if (r < rounds && barrier->sync(membar::wait_budget::milliseconds(10'000)) != membar::wait_result::done) {
      __trap();
    }
  }
}
