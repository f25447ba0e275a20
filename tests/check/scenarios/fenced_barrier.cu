// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A correct barrier between the blocks of a grid.
#include <cuda/atomic>

using counter = cuda::atomic_ref<unsigned, cuda::thread_scope_device>;

/// Waits for the other blocks of the grid, which have one thread each.
__device__ void wait_for_grid(unsigned* arrived, unsigned* round) {
  const unsigned before = counter(*round).load(cuda::memory_order_relaxed);
  __threadfence();
  if (atomicAdd(arrived, 1) == gridDim.x - 1) {
    __threadfence();
    counter(*arrived).store(0, cuda::memory_order_relaxed);
    counter(*round).store(before + 1, cuda::memory_order_release);
  } else {
    while (counter(*round).load(cuda::memory_order_acquire) == before) {
    }
  }
}

__global__ void smooth(float* from, float* to, unsigned* arrived, unsigned* round, int rounds) {
  const unsigned i = blockIdx.x, next = (i + 1) % gridDim.x;
  for (int k = 0; k < rounds; ++k) {
    to[i] = (from[i] + from[next]) / 2;
    wait_for_grid(arrived, round);
    from[i] = (to[i] + to[next]) / 2;
    wait_for_grid(arrived, round);
  }
}
