// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A grid's last block sums volatile partial sums; there is a fence before the counter update, but none after it.

template <bool Fixed>
__global__ void sum_of_parts(volatile float* parts, int* count, float* sum) {
  __shared__ bool last;
  parts[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(count, 1) == gridDim.x - 1;
    if constexpr (Fixed) {
      __threadfence();
    }
  }
  __syncthreads();
  if (last) {
    float total = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) {
      total += parts[b * blockDim.x + threadIdx.x];
    }
    sum[threadIdx.x] = total;
  }
}
template __global__ void sum_of_parts<false>(volatile float*, int*, float*);
template __global__ void sum_of_parts<true>(volatile float*, int*, float*);
