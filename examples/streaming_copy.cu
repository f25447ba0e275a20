// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A copy that leaves the caches to other kernels. The copy uses its data only once, so it asks L1 not to keep the data and L2
/// to evict the data first. It prefetches 256 bytes at a time. Other kernels' data stays in the caches.
#include <membar/launch.hpp>
#include <membar/load_store.cuh>

#include <cstdio>
#include <vector>

__global__ void copy(const uint4* in, uint4* out, std::size_t count) {
  const membar::cache_policy<membar::l2::evict_first> once(1.0F);  // One createpolicy per thread, before the loop.
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    const uint4 value = membar::load_weak(in + i, membar::l1::no_allocate, once, membar::prefetch_256B);
    membar::store_weak(out + i, value, membar::l1::no_allocate, once);
  }
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  int major = 0;
  membar::check(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
  if (major < 8) {
    std::puts("SKIPPED: cache policies need compute capability 8.0");
    return 77;
  }
  constexpr std::size_t count = std::size_t{64} << 20 >> 4;
  std::vector<uint4> values(count);
  for (std::size_t i = 0; i != count; ++i) {
    const auto word = static_cast<unsigned>(i);
    values[i] = {word, ~word, word * 3, word * 5};
  }
  uint4 *in = nullptr, *out = nullptr;
  membar::check(cudaMalloc(&in, count * sizeof(uint4)));
  membar::check(cudaMalloc(&out, count * sizeof(uint4)));
  membar::check(cudaMemcpy(in, values.data(), count * sizeof(uint4), cudaMemcpyDefault));
  cudaEvent_t begin = nullptr, end = nullptr;
  membar::check(cudaEventCreate(&begin));
  membar::check(cudaEventCreate(&end));
  membar::check(cudaEventRecord(begin));
  membar::launch(membar::launch_config{1024, 256}, copy, in, out, count);
  membar::check(cudaEventRecord(end));

  std::vector<uint4> copied(count);
  membar::check(cudaMemcpy(copied.data(), out, count * sizeof(uint4), cudaMemcpyDefault));
  float milliseconds = 0;
  membar::check(cudaEventElapsedTime(&milliseconds, begin, end));
  std::size_t wrong = 0;
  for (std::size_t i = 0; i != count; ++i) {
    wrong +=
        copied[i].x == values[i].x && copied[i].y == values[i].y && copied[i].z == values[i].z && copied[i].w == values[i].w
            ? 0U
            : 1U;
  }
  std::printf("copied %zu MiB at %.0f GB/s, %zu words wrong\n", count * sizeof(uint4) >> 20,
              2.0 * count * sizeof(uint4) / (static_cast<double>(milliseconds) * 1e6), wrong);
  return wrong == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
