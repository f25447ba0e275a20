// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A flag and its data in one block: the first warp writes data and raises a flag; the second warp waits for the flag and reads
/// the data. Unlike with a barrier, the other warps of the block do not wait.
#include <membar/atomic.cuh>
#include <membar/launch.hpp>

#include <cstdio>

constexpr unsigned blocks = 1024, lanes = 32;
constexpr long long deadline = 4'000'000'000;  // clock cycles

using flag_ref = membar::atomic_ref<int, membar::thread_scope::block>;
using count_ref = membar::atomic_ref<unsigned, membar::thread_scope::device>;

struct result {
  unsigned right, late;  // messages
};

__global__ void pass(result* seen) {
  __shared__ int data[lanes];
  __shared__ int flag;
  if (threadIdx.x == 0) {
    flag = 0;
  }
  __syncthreads();  // The flag is 0 before any thread reads it.
  const unsigned warp = threadIdx.x / lanes, lane = threadIdx.x % lanes;
  if (warp == 0) {
    data[lane] = static_cast<int>(blockIdx.x + lane);
    __syncwarp();  // all lanes have written their data
    if (lane == 0) {
      flag_ref(flag).store(1, membar::release);
    }
  } else if (warp == 1) {
    int raised = 0;
    if (lane == 0) {
      for (const long long start = clock64(); raised == 0 && clock64() - start < deadline;) {
        raised = flag_ref(flag).load(membar::acquire);
      }
    }
    raised = __shfl_sync(~0U, raised, 0);
    __syncwarp();  // Now all lanes see what lane 0 has acquired.
    const bool right = raised != 0 && data[lane] == static_cast<int>(blockIdx.x + lane);
    const bool all_right = __all_sync(~0U, right) != 0;
    if (lane == 0) {
      count_ref(raised == 0 ? seen->late : seen->right).add(raised == 0 || all_right ? 1U : 0U, membar::relaxed);
    }
  }
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  result* on_device = nullptr;
  membar::check(cudaMalloc(&on_device, sizeof(result)));
  membar::check(cudaMemset(on_device, 0, sizeof(result)));
  membar::launch(membar::launch_config{blocks, 4 * lanes}, pass, on_device);
  result seen{};
  membar::check(cudaMemcpy(&seen, on_device, sizeof(result), cudaMemcpyDefault));
  membar::check(cudaFree(on_device));
  std::printf("%u of %u messages arrived whole, %u late\n", seen.right, blocks, seen.late);
  return seen.right == blocks ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
