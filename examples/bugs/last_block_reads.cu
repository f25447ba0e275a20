// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A grid's last block sums all blocks' values, with a fence before the counter but none after it (pytorch #128455).

/// Two threads of the last block read, as in a block reduction; one performs the atomic operation for both.
template <bool Mended>
__global__ void reduce_in_two_stages(unsigned* partial, unsigned* count, unsigned* sum) {
  __shared__ bool last;
  partial[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(count, 1U) == gridDim.x - 1;
    if constexpr (Mended) {
      __threadfence();
    }
  }
  __syncthreads();
  if (last) {
    for (unsigned b = 0; b < gridDim.x; ++b) {
      sum[threadIdx.x] += partial[b * blockDim.x + threadIdx.x];
    }
  }
}
template __global__ void reduce_in_two_stages<false>(unsigned*, unsigned*, unsigned*);
template __global__ void reduce_in_two_stages<true>(unsigned*, unsigned*, unsigned*);
