// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A warp fills two stages in turn, and two warps use them: barriers 1 and 2 signal that a stage is full, and barriers 3 and 4
// that it is empty.
#include <membar/block_barrier.cuh>

__device__ void say_empty(bool when, unsigned barrier) {
  if (when) {
    membar::named_barrier(barrier, 96).arrive();
  }
}

/// `Early`: a stage is signalled as empty before it is read.
template <bool Early>
__global__ void pass(const unsigned* from, unsigned* sums, unsigned rounds) {
  __shared__ unsigned stages[2][32];
  const unsigned lane = threadIdx.x % 32;
  for (unsigned round = 0; round < rounds; ++round) {
    const unsigned stage = round % 2, full = 1 + stage, empty = 3 + stage;
    if (threadIdx.x < 32) {
      if (round > 1) {
        membar::named_barrier(empty, 96).sync();
      }
      stages[stage][lane] = from[round * 32 + lane];
      membar::named_barrier(full, 96).arrive();
    } else {
      membar::named_barrier(full, 96).sync();
      say_empty(Early && round + 2 < rounds, empty);
      sums[threadIdx.x - 32] += stages[stage][lane ^ 1];
      say_empty(!Early && round + 2 < rounds, empty);
    }
  }
}
template __global__ void pass<true>(const unsigned*, unsigned*, unsigned);
template __global__ void pass<false>(const unsigned*, unsigned*, unsigned);
