// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// LMDeploy's TurboMind: semaphores between blocks.
#include <src/turbomind/kernels/core/sync.h>

__global__ void in_turn(int* lock, int* sum) {
  turbomind::sem_wait(lock, static_cast<int>(blockIdx.x), threadIdx.x == 0);
  sum[threadIdx.x] += static_cast<int>(blockIdx.x) + 1;
  turbomind::sem_post(lock, static_cast<int>(blockIdx.x) + 1, threadIdx.x == 0);
}

__global__ void wait_for_all(int* locks, int* parts, int* sum) {
  const int count = static_cast<int>(gridDim.x) - 1;
  if (blockIdx.x < count) {
    parts[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<int>(blockIdx.x) + 1;
    turbomind::sem_post(locks + blockIdx.x, 1, threadIdx.x == 0);
  } else {
    turbomind::sem_wait_many(locks + threadIdx.x, count, threadIdx.x < count);
    for (int k = 0; k < count; ++k) {
      sum[threadIdx.x] += parts[k * blockDim.x + threadIdx.x];
    }
  }
}
