// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ExLlamaV3: the lock that makes the blocks of its GEMM add their parts in turn.
#include <cuda_fp16.h>
#include <cstdint>

#include <exllamav3_ext/ptx.cuh>

__global__ void in_turn(int* lock, int* sum) {
  barrier_acquire(lock, static_cast<int>(blockIdx.x));
  sum[threadIdx.x] += static_cast<int>(blockIdx.x) + 1;
  barrier_release(lock, 1, blockIdx.x + 1 == gridDim.x);
}
