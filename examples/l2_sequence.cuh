// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The three kernels of l2_sequence.cu, and the code that times them.
#pragma once

#include <membar/launch.hpp>
#include <membar/load_store.cuh>

#include <chrono>
#include <cstdio>

constexpr unsigned blocks = 1056, threads = 256;
using membar::check;

/// Reads `count` elements once, and the mask + 1 entries of a table repeatedly: before an entry is read again, twice the
/// table's size in other data has passed through L2.
__global__ void scale(const float4* data, std::size_t count, const float4* table, unsigned mask, float* out) {
  float sum = 0.0F;
  for (std::size_t i = threadIdx.x + blockIdx.x * blockDim.x; 2 * i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    const float4 first = membar::load_weak(data + 2 * i, membar::l1::no_allocate);
    const float4 second = membar::load_weak(data + 2 * i + 1, membar::l1::no_allocate);
    sum += table[i & mask].x * (first.x + second.x);
  }
  out[threadIdx.x + blockIdx.x * blockDim.x] = sum;
}

/// Reads `count` elements `passes` times, which is fast if they stay in L2.
__global__ void read_through(const float4* data, std::size_t count, int passes, float* out) {
  float sum = 0.0F;
  for (int pass = 0; pass != passes; ++pass) {
    for (std::size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
      sum += membar::load_weak(data + i, membar::l1::no_allocate).x;
    }
  }
  out[threadIdx.x + blockIdx.x * blockDim.x] = sum;
}

/// Reads 4096 entries of the table; each read starts when the previous entry has arrived. All entries are 0, but the compiler
/// cannot see that.
__global__ void probe(const float4* table, unsigned mask, float* out) {
  unsigned index = 12345;
  for (int i = 0; i != 4096; ++i) {
    index = index * 1664525U + 1013904223U + static_cast<unsigned>(table[index >> 8 & mask].x);
  }
  *out = static_cast<float>(index);
}

/// Allocates `count` zeroed objects in device memory.
template <class T>
T* zeros(std::size_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, count * sizeof(T)));
  check(cudaMemset(memory, 0, count * sizeof(T)));
  return static_cast<T*>(memory);
}

/// Launches a kernel several times in `stream`, each after the previous one has ended, and prints the time of the last one.
template <class... Parameters, class... Arguments>
void run(const char* name, cudaStream_t stream, int launches, unsigned grid, void (*kernel)(Parameters...),
         Arguments... arguments) {
  std::chrono::steady_clock::time_point begin;
  for (int i = 0; i != launches; ++i) {
    check(cudaStreamSynchronize(stream));
    begin = std::chrono::steady_clock::now();
    membar::launch(membar::launch_config{grid, grid == 1 ? 1 : threads, stream}, kernel, arguments...);
  }
  check(cudaStreamSynchronize(stream));
  const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
  std::printf("  %-40s %8.1f us\n", name, time.count());
}
