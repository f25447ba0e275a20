// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A grid barrier in which one thread of a block executes the fence for all the block's threads (cuml #4157).
#include "spin.cuh"

__global__ void meet_with_one_fence(unsigned* cells, unsigned* count, unsigned* wrong, unsigned* late) {
  const unsigned self = blockIdx.x * blockDim.x + threadIdx.x;
  cells[self] = 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicAdd(count, 1U);
    spin(late, [&] { return *static_cast<volatile unsigned*>(count) == gridDim.x; });
    __threadfence();
  }
  __syncthreads();
  wrong[self] += cells[(self + blockDim.x) % (gridDim.x * blockDim.x)] != 1 ? 1 : 0;
}
