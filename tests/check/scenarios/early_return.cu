// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads without work return before a barrier, which then waits only for the remaining threads (docs/patterns/barriers.md).

extern "C" __global__ void returns(const unsigned* n, unsigned* result) {
  __shared__ unsigned tile[2];
  if (threadIdx.x >= *n) {
    return;
  }
  tile[threadIdx.x] = threadIdx.x + 1;
  __syncthreads();
  if (threadIdx.x == 0) {
    *result = tile[0] + tile[1];
  }
}
