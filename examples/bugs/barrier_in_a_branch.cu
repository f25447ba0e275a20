// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A memory fence that is implemented as a barrier but called by only one thread (Genesis-Embodied-AI/quadrants #636).
#include "spin.cuh"

template <bool Mended>
__device__ void fence_of_block() {
  if constexpr (Mended) {
    __threadfence_block();
  } else {
    __syncthreads();
  }
}

/// Thread 0 publishes a value to the block's last thread.
template <bool Mended>
__global__ void publish_in_block(unsigned number, unsigned* result, unsigned* late) {
  __shared__ unsigned value;
  __shared__ unsigned ready;
  volatile unsigned* const flag = &ready;
  if (threadIdx.x == 0) {
    ready = 0;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    value = number;
    fence_of_block<Mended>();
    *flag = 1;
  } else if (threadIdx.x == blockDim.x - 1) {
    spin(late, [&] { return *flag == 1; });
    __threadfence_block();
    *result = value;
  }
}
template __global__ void publish_in_block<false>(unsigned, unsigned*, unsigned*);
template __global__ void publish_in_block<true>(unsigned, unsigned*, unsigned*);
