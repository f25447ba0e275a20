// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// CUB's scan and sum of 600 numbers.
#include <cstdio>
#include <cub/cub.cuh>
#include <vector>

int main() {
  constexpr int n = 600;
  const std::vector<int> ones(n, 1);
  int* in = nullptr;
  int* out = nullptr;
  void* space = nullptr;
  std::size_t bytes = 1 << 16;
  cudaMalloc(&in, n * sizeof(int));
  cudaMalloc(&out, n * sizeof(int));
  cudaMalloc(&space, bytes);
  cudaMemcpy(in, ones.data(), n * sizeof(int), cudaMemcpyHostToDevice);
  cub::DeviceScan::InclusiveSum(space, bytes, in, out, n);
  int last = 0;
  cudaMemcpy(&last, out + n - 1, sizeof last, cudaMemcpyDeviceToHost);
  bytes = 1 << 16;
  cub::DeviceReduce::Sum(space, bytes, in, out, n);
  int sum = 0;
  cudaMemcpy(&sum, out, sizeof sum, cudaMemcpyDeviceToHost);
  std::printf("%d %d\n", last, sum);
  return last == n && sum == n ? 0 : 1;
}
