// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// CUTLASS's semaphore and generic barrier between blocks, as split-K and stream-K reductions use them.
#include <cutlass/barrier.h>
#include <cutlass/cutlass.h>
#include <cutlass/semaphore.h>

__global__ void serial_reduction(int* lock, int* sum) {
  cutlass::Semaphore semaphore(lock, static_cast<int>(threadIdx.x));
  semaphore.fetch();
  semaphore.wait(static_cast<int>(blockIdx.x));
  sum[threadIdx.x] += static_cast<int>(blockIdx.x) + 1;
  semaphore.release(blockIdx.x + 1 == gridDim.x ? 0 : static_cast<int>(blockIdx.x) + 1);
}

__global__ void wait_eq(int* locks, int* sum) {
  using barrier = cutlass::Barrier;
  barrier::wait_eq(locks, static_cast<int>(threadIdx.x), 0, static_cast<int>(blockIdx.x));
  sum[threadIdx.x] += static_cast<int>(blockIdx.x) + 1;
  barrier::arrive_inc(locks, static_cast<int>(threadIdx.x), 0);
}

__global__ void wait_lt(int* locks, int* parts, int* sum) {
  using barrier = cutlass::Barrier;
  parts[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<int>(blockIdx.x) + 1;
  barrier::arrive_inc(locks, static_cast<int>(threadIdx.x), 0);
  if (blockIdx.x == 0) {
    barrier::wait_lt(locks, static_cast<int>(threadIdx.x), 0, static_cast<int>(gridDim.x));
    for (unsigned k = 0; k < gridDim.x; ++k) {
      sum[threadIdx.x] += parts[k * blockDim.x + threadIdx.x];
    }
  }
}

__global__ void wait_eq_reset(int* locks, int* data, int* out) {
  using barrier = cutlass::Barrier;
  if (blockIdx.x == 0) {
    data[threadIdx.x] = 1;
    barrier::arrive_inc(locks, static_cast<int>(threadIdx.x), 0);
  } else {
    barrier::wait_eq_reset(locks, static_cast<int>(threadIdx.x), 0);
    out[threadIdx.x] = data[threadIdx.x];
  }
}
