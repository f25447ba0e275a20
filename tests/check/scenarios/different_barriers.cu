// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads of a block meet at two barriers of the source. It orders their memory in PTX, and is undefined in CUDA.

/// Thread 0 writes a value and the others read it, each after a barrier of its own branch.
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
