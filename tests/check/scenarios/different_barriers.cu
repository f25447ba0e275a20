// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads of a block wait at two different `__syncthreads()` in the source. In PTX this orders their memory accesses; in CUDA
// it is undefined.

/// Thread 0 writes a value, and the other threads read it. The two branches have different barriers.
extern "C" __global__ void meet(unsigned* result) {
  __shared__ unsigned value;
  if (threadIdx.x == 0) {
    value = 7;
    __syncthreads();
    return;
  }
  for (int round = 0; round < 1; ++round) {
    __syncthreads();
    result[threadIdx.x - 1] = value;
  }
}
