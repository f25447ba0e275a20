// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Calls the library function that the argument names, for 10^6 elements, under membar-check record. The recordings are the
// input of membar-check sanitize.
//
// usage: library_calls scan|sort|reduce
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_scan.cuh>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

constexpr int count = 1'000'000;

void succeed(cudaError_t e) {
  if (e != cudaSuccess) {
    std::fprintf(stderr, "library_calls: %s\n", cudaGetErrorString(e));
    std::exit(2);
  }
}

/// Calls `f` once to find out how much temporary memory it needs, and again with that memory.
template <class F>
void call(const F& f) {
  std::size_t bytes = 0;
  succeed(f(nullptr, bytes));
  void* temporary = nullptr;
  succeed(cudaMalloc(&temporary, bytes));
  succeed(f(temporary, bytes));
  succeed(cudaDeviceSynchronize());
  succeed(cudaFree(temporary));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  std::vector<unsigned> values(count);
  for (unsigned i = 0; i < count; ++i) {
    values[i] = (i ^ (i >> 15)) * 0x2c1b3c6dU;
  }
  unsigned* in = nullptr;
  unsigned* out = nullptr;
  succeed(cudaMalloc(&in, count * sizeof(unsigned)));
  succeed(cudaMalloc(&out, count * sizeof(unsigned)));
  succeed(cudaMemcpy(in, values.data(), count * sizeof(unsigned), cudaMemcpyHostToDevice));
  if (what == "scan") {
    call([&](void* t, std::size_t& n) { return cub::DeviceScan::InclusiveSum(t, n, in, out, count); });
  } else if (what == "sort") {
    call([&](void* t, std::size_t& n) { return cub::DeviceRadixSort::SortKeys(t, n, in, out, count); });
  } else if (what == "reduce") {
    call([&](void* t, std::size_t& n) { return cub::DeviceReduce::Sum(t, n, in, out, count); });
  } else {
    std::fprintf(stderr, "usage: library_calls scan|sort|reduce\n");
    return 2;
  }
  return 0;
}
