// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A table that is looked up at random beside a stream of data that is read once: with an access-policy window the table stays
/// in L2. Holds a set-aside, launches with and without the window, and gives everything back.
#include <membar/access_policy_window.hpp>
#include <membar/launch.hpp>
#include <membar/load_store.cuh>
#include <bench/common/cuda_handles.hpp>

#include <algorithm>
#include <cstdio>

__global__ void look_up(const float4* stream, std::size_t count, const float* table, unsigned mask, float* out) {
  float sum = 0.0F;
  unsigned index = threadIdx.x + blockIdx.x * blockDim.x;
  for (std::size_t i = index; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    sum += membar::load_weak(stream + i, membar::l1::no_allocate).x;
    for (int k = 0; k != 8; ++k) {
      index = index * 1664525U + 1013904223U;  // a linear congruential generator
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
  const support::stream stream;
  const support::device_memory<float4> data(4 * before.l2_bytes / sizeof(float4));
  const support::device_memory<float> table(entries);
  const support::device_memory<float> out(std::size_t{1056} * 256);
  const auto milliseconds = [&](const membar::access_policy_window& window) {
    double best = 1e300;
    for (int run = 0; run != 5; ++run) {
      const support::event begin;
      const support::event end;
      begin.record(stream.get());
      membar::launch(membar::launch_config{1056, 256, stream.get()}.with(window), look_up, data.get(), data.size(), table.get(),
                     static_cast<unsigned>(entries - 1), out.get());
      end.record(stream.get());
      end.synchronize();
      best = std::min(best, end.nanoseconds_since(begin) * 1e-6);
    }
    return best;
  };
  {
    const membar::l2_set_aside hold(0, entries * sizeof(float));
    const membar::access_policy_window window = membar::l2_plan(0).window(table.get(), entries * sizeof(float));
    std::printf("no window: %.3f ms\n", milliseconds({}));
    std::printf("a window of %.1f MiB: %.3f ms\n", static_cast<double>(window.bytes) / (1 << 20), milliseconds(window));
    membar::reset_persisting_lines();
  }
  return membar::l2_facts_of(0).set_aside == before.set_aside ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
