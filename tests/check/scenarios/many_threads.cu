// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks of realistic size, in which every thread computes but few threads synchronize. Atomics whose results are not used add
// up the blocks' sums.
__global__ void sum_all(const unsigned* in, unsigned* sum) {
  __shared__ unsigned of_block;
  if (threadIdx.x == 0) {
    of_block = 0;
  }
  __syncthreads();
  const unsigned value = in[(blockIdx.x * blockDim.x + threadIdx.x) % 32];
  const unsigned of_warp = __reduce_add_sync(~0U, 3 * value + 1);
  if (threadIdx.x % 32 == 0) {
    atomicAdd(&of_block, of_warp);
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    atomicAdd(sum, of_block);
  }
}
