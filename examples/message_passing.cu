// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Message passing: one block writes data and raises a flag; another block waits for the flag and reads the data.
///
/// The release store and the acquire load of the flag guarantee that the reader sees the data. With relaxed operations on the
/// flag, the reader might not see it.
#include <membar/atomic.cuh>
#include <membar/launch.hpp>
#include <membar/managed_memory.hpp>

#include <algorithm>
#include <cstdio>

constexpr int word_count = 4096;
constexpr int threads = 256;
constexpr long long deadline = 4'000'000'000;  // clock cycles

using flag_ref = membar::atomic_ref<int, membar::thread_scope::device>;

struct result {
  int raised;  // Whether the flag arrived in time.
  int wrong;   // The number of words that differ from the words written.
};

__global__ void pass_message(int* data, int* flag, result* seen) {
  if (blockIdx.x == 0) {
    for (int i = static_cast<int>(threadIdx.x); i < word_count; i += threads) {
      data[i] = 3 * i + 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      // Releases what this thread has written and what it has observed, which includes the whole block's data because of the
      // barrier.
      flag_ref(*flag).store(1, membar::release);
    }
    return;
  }
  __shared__ int raised;
  if (threadIdx.x == 0) {
    raised = 0;
    for (const long long start = clock64(); raised == 0 && clock64() - start < deadline;) {
      raised = flag_ref(*flag).load(membar::acquire);
    }
    seen->raised = raised;
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); raised != 0 && i < word_count; i += threads) {
    if (data[i] != 3 * i + 1) {
      membar::atomic_ref<int, membar::thread_scope::block>(seen->wrong).fetch_add(1, membar::relaxed);
    }
  }
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  const membar::managed_memory<int> data(word_count), flag(1);
  const membar::managed_memory<result> seen(1);
  std::fill(data.begin(), data.end(), 0);
  flag[0] = 0;
  seen[0] = {};
  // A cooperative launch makes both blocks resident at once, so the reader cannot prevent the writer from starting.
  membar::launch(membar::launch_config{2, threads}.with(membar::cooperative{}), pass_message, data.data(), flag.data(),
                 seen.data());
  membar::check(cudaDeviceSynchronize());
  const auto [raised, wrong] = seen[0];
  std::printf("flag %s, %d of %d words wrong\n", raised != 0 ? "seen" : "not seen in time", wrong, word_count);
  return raised == 1 && wrong == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
