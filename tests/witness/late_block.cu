// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that checks its own result, for gpu_test.py. Two blocks add to a sum with a load and a store. The second block
// starts late, so the sum is wrong only if the first block is delayed between its load and its store.
#include <cuda/atomic>

#include <cstdio>

extern "C" __global__ void add_late(unsigned* sum) {
  if (blockIdx.x == 1) {
    __nanosleep(100'000);
  }
  cuda::atomic_ref<unsigned, cuda::thread_scope_device> cell(*sum);
  const unsigned before = cell.load(cuda::memory_order_relaxed);
  cell.store(before + 1, cuda::memory_order_relaxed);
}

int main() {
  unsigned* sum = nullptr;
  unsigned result = 0;
  cudaMalloc(&sum, sizeof *sum);
  cudaMemset(sum, 0, sizeof *sum);
  add_late<<<2, 1>>>(sum);
  cudaMemcpy(&result, sum, sizeof result, cudaMemcpyDeviceToHost);
  if (const cudaError_t wrong = cudaGetLastError(); wrong != cudaSuccess || result != 2) {
    std::fprintf(stderr, "the sum is %u, and not 2: %s\n", result, cudaGetErrorString(wrong));
    return 1;
  }
  return 0;
}
