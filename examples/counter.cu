// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Every thread of a grid adds one to a counter. A plain `++` loses additions; an atomic addition loses none. The fastest way
/// is one atomic addition per block, which adds the block's count.
#include <membar/atomic.cuh>
#include <membar/launch.hpp>

#include <cstdio>

constexpr unsigned blocks = 4096, threads = 256, total = blocks * threads;

using counter_ref = membar::atomic_ref<unsigned, membar::thread_scope::device>;

__global__ void plain(unsigned* counter) { ++*counter; }  // A data race: its result is meaningless.

__global__ void atomic(unsigned* counter) { counter_ref(*counter).add(1, membar::relaxed); }

__global__ void once_a_block(unsigned* counter) {
  const int counted = __syncthreads_count(1);  // The number of threads in the block that have something to count.
  if (threadIdx.x == 0) {
    counter_ref(*counter).add(static_cast<unsigned>(counted), membar::relaxed);
  }
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  unsigned* counter = nullptr;
  membar::check(cudaMalloc(&counter, sizeof(unsigned)));
  cudaEvent_t begin = nullptr, end = nullptr;
  membar::check(cudaEventCreate(&begin));
  membar::check(cudaEventCreate(&end));
  // Prints a kernel's count and the time that the kernel took. Returns the count.
  const auto run = [&](const char* name, void (*kernel)(unsigned*)) {
    unsigned count = 0;
    float time = 0;
    for (int turn = 0; turn != 2; ++turn) {  // the first iteration loads the kernel
      membar::check(cudaMemset(counter, 0, sizeof(unsigned)));
      membar::check(cudaEventRecord(begin));
      membar::launch(membar::launch_config{blocks, threads}, kernel, counter);
      membar::check(cudaEventRecord(end));
      membar::check(cudaEventSynchronize(end));
      membar::check(cudaEventElapsedTime(&time, begin, end));
      membar::check(cudaMemcpy(&count, counter, sizeof(unsigned), cudaMemcpyDefault));
    }
    std::printf("%-13s %7u of %u, %6.1f us\n", name, count, total, 1000.0 * static_cast<double>(time));
    return count;
  };
  run("plain ++", plain);
  const bool right = run("atomic", atomic) == total && run("once a block", once_a_block) == total;
  membar::check(cudaFree(counter));
  return right ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
