// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Message passing: one block writes data and raises a flag, another waits for the flag and reads the data.
///
/// The flag's release store and acquire load make the reader see the data. A relaxed flag would promise nothing about it.
#include <bench/common/cuda_handles.hpp>
#include <membar/atomic.cuh>
#include <membar/launch.hpp>

#include <cstdio>

constexpr int word_count = 4096;
constexpr int threads = 256;
constexpr long long deadline = 4'000'000'000;  // clock cycles

using flag_ref = membar::atomic_ref<int, membar::thread_scope::device>;

struct result {
  int raised;  // whether the flag came in time
  int wrong;   // words that are not what the writer wrote
};

__global__ void pass_message(int* data, int* flag, result* seen) {
  if (blockIdx.x == 0) {
    for (int i = static_cast<int>(threadIdx.x); i < word_count; i += threads) {
      data[i] = 3 * i + 1;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
      // Releases what this thread wrote and what it has observed: through the barrier, the whole block's data.
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
    std::puts("skipped: no GPU");
    return 77;
  }
  const support::stream stream;
  const support::device_memory<int> data(word_count);
  const support::device_memory<int> flag(1);
  const support::device_memory<result> outcome(1);
  // Cooperative: both blocks are resident at once, so the reader cannot keep the writer from starting.
  membar::launch(membar::launch_config{2, threads, stream.get()}.with(membar::cooperative{}), pass_message, data.get(),
                 flag.get(), outcome.get());
  stream.synchronize();
  result seen{};
  membar::check(cudaMemcpy(&seen, outcome.get(), sizeof seen, cudaMemcpyDefault));
  std::printf("flag %s, %d of %d words wrong\n", seen.raised != 0 ? "seen" : "not seen in time", seen.wrong, word_count);
  return seen.raised == 1 && seen.wrong == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
