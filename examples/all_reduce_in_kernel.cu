// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// An all-reduce in the middle of your own kernel. The kernel squares its values, sums them over all GPUs, and computes the
/// mean.
#include <membar/device_guard.hpp>
#include <membar/symmetric/all_reduce.cuh>
#include <membar/symmetric/collective_launch.hpp>

#include <cstdio>
#include <tuple>
#include <vector>

namespace symmetric = membar::symmetric;
using symmetric::pe;
using all_reduce = membar::all_reduce<float>;

constexpr std::size_t size = 10'000;
constexpr int rounds = 100;

template <class Backend>
__global__ void mean_of_squares(const float* in, float* out, float factor,
                                symmetric::all_reduce_memory<float, Backend> memory) {
  symmetric::for_own_elements<float>(size, [&](std::size_t i) { out[i] = factor * in[i] * in[i]; });
  const bool came = symmetric::all_reduce_in_one_shot<membar::sum>(out, out, size, memory);
  const float scale = came ? 1 / static_cast<float>(memory.boxes.count()) : 0;
  symmetric::for_own_elements<float>(size, [&](std::size_t i) { out[i] *= scale; });
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
    std::puts("SKIPPED: an all-reduce needs two GPUs");
    return 77;
  }
  symmetric::peer_backend gpus;
  symmetric::heap heap(gpus, std::size_t{16} << 20);
  const all_reduce sums(heap, size);
  const symmetric::scoped_array in(heap.allocate<float>(size)), out(heap.allocate<float>(size));
  const int count = gpus.count();
  std::vector<float> values(size);
  float squares = 0;
  for (const pe which : gpus.local_pes()) {
    const membar::device_guard here(gpus.device_of(which));  // Copies run in the default stream, as the kernels do.
    for (std::size_t i = 0; i != size; ++i) {
      values[i] = static_cast<float>(i % 16 * static_cast<unsigned>(which.index() + 1));
    }
    squares += static_cast<float>((which.index() + 1) * (which.index() + 1));
    membar::check(cudaMemcpy(in.on(which).local(), values.data(), size * sizeof(float), cudaMemcpyDefault));
  }
  for (int round = 1; round <= rounds; ++round) {
    collective_launch(gpus, {sums.blocks(), all_reduce::threads}, {}, mean_of_squares<symmetric::peer_backend>, [&](pe which) {
      return std::tuple(in.on(which).local(), out.on(which).local(), static_cast<float>(round), sums.on(which));
    });
  }
  std::size_t wrong = 0;
  for (const pe which : gpus.local_pes()) {
    const membar::device_guard here(gpus.device_of(which));
    membar::check(cudaMemcpy(values.data(), out.on(which).local(), size * sizeof(float), cudaMemcpyDefault), "a kernel failed");
    for (std::size_t i = 0; i != size; ++i) {
      wrong += values[i] !=
               static_cast<float>(rounds) * static_cast<float>(i % 16 * (i % 16)) * squares * (1 / static_cast<float>(count));
    }
  }
  sums.check();
  std::printf("%d GPUs, %d launches: %zu means are wrong\n", count, rounds, wrong);
  return wrong == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::puts(failure.what());
  return failure.code() == cudaErrorPeerAccessUnsupported ? 77 : 1;
}
