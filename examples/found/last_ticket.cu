// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A grid's last block adds up the sums of all blocks, and resets the ticket counter with a plain store for the next launch.

template <bool Fixed>
__global__ void reduce_in_one_pass(float* sums, unsigned* tickets) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    sums[blockIdx.x] = 1;
  }
  __threadfence();
  if (threadIdx.x == 0) {
    last = atomicInc(tickets, gridDim.x) == gridDim.x - 1;
    if constexpr (Fixed) {
      __threadfence();
    }
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    float total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) {
      total += sums[b];
    }
    sums[0] = total;
    if constexpr (Fixed) {
      atomicExch(tickets, 0U);
    } else {
      *tickets = 0;
    }
  }
}
template __global__ void reduce_in_one_pass<false>(float*, unsigned*);
template __global__ void reduce_in_one_pass<true>(float*, unsigned*);
