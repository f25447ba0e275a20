// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A kernel reads random entries of a table while it reads a stream of data once. With an access-policy window, the table stays
/// in L2. The program creates a set-aside, launches the kernel with and without the window, and removes the set-aside.
#include <membar/access_policy_window.hpp>
#include <membar/launch.hpp>
#include <membar/load_store.cuh>

#include <algorithm>
#include <cstdio>

constexpr unsigned blocks = 1056, threads = 256;

__global__ void look_up(const float4* stream, std::size_t count, const float* table, unsigned mask, float* out) {
  float sum = 0.0F;
  unsigned index = threadIdx.x + blockIdx.x * blockDim.x;
  for (std::size_t i = index; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    sum += membar::load_weak(stream + i, membar::l1::no_allocate).x;
    for (int k = 0; k != 8; ++k) {
      index = index * 1664525U + 1013904223U;  // A linear congruential generator.
      sum += table[index >> 8 & mask];
    }
  }
  out[threadIdx.x + blockIdx.x * blockDim.x] = sum;
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  const membar::l2_facts before = membar::l2_facts_of(0);
  if (before.max_set_aside == 0 || before.mps) {
    std::puts("SKIPPED: no L2 to set aside (MIG, MPS, or a compute capability below 8.0)");
    return 77;
  }
  std::size_t entries = 1 << 20;
  while (entries * 2 * sizeof(float) <= before.max_set_aside * 9 / 10) {
    entries *= 2;
  }
  const std::size_t count = 4 * before.l2_bytes / sizeof(float4);
  float4* data = nullptr;
  float *table = nullptr, *out = nullptr;
  membar::check(cudaMalloc(&data, count * sizeof(float4)));
  membar::check(cudaMalloc(&table, entries * sizeof(float)));
  membar::check(cudaMalloc(&out, std::size_t{blocks} * threads * sizeof(float)));
  membar::check(cudaMemset(data, 0, count * sizeof(float4)));
  membar::check(cudaMemset(table, 0, entries * sizeof(float)));
  cudaEvent_t begin = nullptr, end = nullptr;
  membar::check(cudaEventCreate(&begin));
  membar::check(cudaEventCreate(&end));
  const auto milliseconds = [&](const membar::access_policy_window& window) {
    float best = 1e30F;
    for (int run = 0; run != 5; ++run) {
      membar::check(cudaEventRecord(begin));
      membar::launch(membar::launch_config{blocks, threads}.with(window), look_up, data, count, table,
                     static_cast<unsigned>(entries - 1), out);
      membar::check(cudaEventRecord(end));
      membar::check(cudaEventSynchronize(end));
      float time = 0;
      membar::check(cudaEventElapsedTime(&time, begin, end));
      best = std::min(best, time);
    }
    return static_cast<double>(best);
  };
  {
    const membar::l2_set_aside hold(0, entries * sizeof(float));
    const membar::access_policy_window window = membar::l2_plan(0).window(table, entries * sizeof(float));
    std::printf("no window: %.3f ms\n", milliseconds({}));
    std::printf("a window of %.1f MiB: %.3f ms\n", static_cast<double>(window.bytes) / (1 << 20), milliseconds(window));
    membar::reset_persisting_lines();
  }
  return membar::l2_facts_of(0).set_aside == before.set_aside ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
