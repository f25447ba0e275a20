// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each of two blocks fills its half of an array, counts itself, and reads the other block's count.
__global__ void fill(float* data, unsigned* counts, unsigned* seen) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = 1.5F;
  __syncthreads();
  if (threadIdx.x == 0) {
    seen[blockIdx.x] = atomicAdd(counts + blockIdx.x, 1) + atomicAdd(counts + 1 - blockIdx.x, 1);
  }
}
