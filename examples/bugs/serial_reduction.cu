// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks add to a tile one after another, ordered by a semaphore that thread 0 releases without a fence (Fuser #2391).
#include "spin.cuh"

template <bool Mended>
__global__ void add_in_turn(unsigned* tile, unsigned* semaphore, unsigned* late) {
  volatile unsigned* const turn = semaphore;
  if (threadIdx.x == 0) {
    spin(late, [&] { return *turn == blockIdx.x; });
    __threadfence();
  }
  __syncthreads();
  tile[threadIdx.x] += 1;
  if constexpr (Mended) {
    __threadfence();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    *turn = blockIdx.x + 1;
  }
}
template __global__ void add_in_turn<false>(unsigned*, unsigned*, unsigned*);
template __global__ void add_in_turn<true>(unsigned*, unsigned*, unsigned*);
