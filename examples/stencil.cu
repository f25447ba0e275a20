// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A one-dimensional stencil. All threads use the same coefficients, which are therefore in constant memory, where one access
/// serves a whole warp. The input is read through the read-only path.
#include <membar/constant.cuh>
#include <membar/launch.hpp>
#include <membar/managed_memory.hpp>
#include <membar/read_only.cuh>

#include <cmath>
#include <cstdio>

constexpr int radius = 4;
__constant__ membar::constant_table<float, 2 * radius + 1> weights;

__global__ void smooth(membar::read_only_span<float> in, float* out) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < radius || i + radius >= in.size()) {
    return;
  }
  float sum = 0.0F;
#pragma unroll
  for (std::size_t k = 0; k != weights.size(); ++k) {
    sum += weights.broadcast(k) * in[i + k - radius];
  }
  out[i] = sum;
}

/// Counts the accesses by a warp whose threads use different coefficients. Constant memory is unsuitable for this.
__global__ void count_divergent_use(unsigned* accesses) { *accesses = membar::distinct_in_warp(threadIdx.x % weights.size()); }

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  constexpr std::size_t n = 1 << 20;
  float coefficients[2 * radius + 1];
  for (int k = 0; k != 2 * radius + 1; ++k) {
    coefficients[k] = static_cast<float>(radius + 1 - std::abs(k - radius)) / ((radius + 1) * (radius + 1));
  }
  const membar::managed_memory<float> in(n), out(n);
  const membar::managed_memory<unsigned> accesses(1);
  for (std::size_t i = 0; i != n; ++i) {
    in[i] = static_cast<float>(i % 1000);
  }
  membar::upload(weights, coefficients, nullptr);  // The compiler checks the size and the type.
  membar::launch(membar::launch_config{n / 256, 256}, smooth, membar::read_only_span<float>(in.data(), n), out.data());
  membar::launch(membar::launch_config{1, 32}, count_divergent_use, accesses.data());
  membar::check(cudaDeviceSynchronize());

  std::printf("at 500: %.2f, smoothed %.2f (smoothing does not change a straight line)\n", static_cast<double>(in[500]),
              static_cast<double>(out[500]));
  std::printf("a warp whose threads index differently takes %u accesses\n", accesses[0]);
  return std::fabs(out[500] - in[500]) < 0.01F && accesses[0] == weights.size() ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
