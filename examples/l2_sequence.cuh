// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The three kernels of l2_sequence.cu, and what times them.
#pragma once

#include <membar/launch.hpp>
#include <membar/load_store.cuh>

#include <chrono>
#include <cstdio>

constexpr unsigned blocks = 1056, threads = 256;
using membar::check;

/// Reads `count` elements once, and the mask + 1 entries of a table again and again: before an entry is read again, as many bytes
/// of data as the table has have come through L2.
__global__ void scale(const float* data, std::size_t count, const float* table, unsigned mask, float* out) {
  float sum = 0.0F;
  for (std::size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    sum += table[i & mask] * membar::load_weak(data + i, membar::l1::no_allocate);
  }
  out[threadIdx.x + blockIdx.x * blockDim.x] = sum;
}

/// Reads 4096 entries of the table, each after the one before has come. All entries are 0, which the compiler does not know.
__global__ void probe(const float* table, unsigned mask, float* out) {
  unsigned index = 12345;
  for (int i = 0; i != 4096; ++i) {
    index = index * 1664525U + 1013904223U + static_cast<unsigned>(table[index >> 8 & mask]);
  }
  *out = static_cast<float>(index);
}

/// Reads `count` elements 32 times, which is quick if they stay in L2.
__global__ void read_again(const float* data, std::size_t count, float* out) {
  float sum = 0.0F;
  for (int pass = 0; pass != 32; ++pass) {
    for (std::size_t i = threadIdx.x + blockIdx.x * blockDim.x; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
      sum += membar::load_weak(data + i, membar::l1::no_allocate);
    }
  }
  out[threadIdx.x + blockIdx.x * blockDim.x] = sum;
}

/// Memory of the device, all zero bytes.
inline float* zeros(std::size_t bytes) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, bytes));
  check(cudaMemset(memory, 0, bytes));
  return static_cast<float*>(memory);
}

/// Launches a kernel some times in `stream`, each after the one before has ended, and prints the time of the last one.
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
