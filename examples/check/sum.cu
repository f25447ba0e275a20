// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
__global__ void sum(unsigned* partial, unsigned* count, unsigned* total) {
  partial[blockIdx.x] = 1;
  __threadfence();
  if (atomicAdd(count, 1) == gridDim.x - 1) {  // this block is the last
    for (unsigned b = 0; b < gridDim.x; ++b) {
      *total += partial[b];
    }
  }
}
