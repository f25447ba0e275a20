// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ThunderKittens: stages that one warp fills and a group uses, synchronized with semaphores; and the named barriers of groups.
#include <kittens.cuh>

__global__ void stages(const float* from, float* out, int count) {
  __shared__ kittens::semaphore full[2];
  __shared__ kittens::semaphore empty[2];
  __shared__ float stage[2][32];
  if (threadIdx.x == 0) {
    for (int k = 0; k < 2; ++k) {
      kittens::init_semaphore(full[k], 32);
      kittens::init_semaphore(empty[k], 32);
    }
  }
  __syncthreads();
  const int lane = static_cast<int>(threadIdx.x) % 32;
  if (threadIdx.x < 32) {
    for (int k = 0; k < count; ++k) {
      kittens::wait(empty[k % 2], (k / 2 + 1) % 2);
      stage[k % 2][lane] = from[32 * k + lane];
      kittens::arrive(full[k % 2]);
    }
  } else {
    for (int k = 0; k < count; ++k) {
      kittens::wait(full[k % 2], (k / 2) % 2);
      out[32 * k + lane] = stage[k % 2][31 - lane];
      kittens::arrive(empty[k % 2]);
    }
  }
}

__global__ void groups(const float* from, float* out) {
  __shared__ float stage[64];
  kittens::barrier<2> both(1);
  if (threadIdx.x < 32) {
    stage[threadIdx.x] = from[threadIdx.x];
    kittens::arrive(both);
  } else {
    kittens::group<2>::arrive_and_wait(both);
    out[threadIdx.x - 32] = stage[63 - threadIdx.x];
  }
}
