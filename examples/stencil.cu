// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A one-dimensional stencil: the coefficients are the same for every thread, so they live in constant memory, where one access
/// serves a warp; the input is read through the read-only path.
#include <bench/common/cuda_handles.hpp>
#include <membar/constant.cuh>
#include <membar/read_only.cuh>

#include <cmath>
#include <cstdio>
#include <vector>

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

/// Which index a thread would read if it picked its own coefficient: what constant memory is not for.
__global__ void count_divergent_use(membar::constant_access_counts* counts) {
  membar::count_constant_access(*counts, threadIdx.x % weights.size());
}

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
  std::vector<float> values(n);
  for (std::size_t i = 0; i != n; ++i) {
    values[i] = static_cast<float>(i % 1000);
  }
  const support::stream stream;
  const support::device_memory<float> in(n);
  const support::device_memory<float> out(n);
  membar::upload(weights, coefficients, stream.get());  // the size and the type are checked by the compiler
  membar::check(cudaMemcpyAsync(in.get(), values.data(), n * sizeof(float), cudaMemcpyDefault, stream.get()));
  smooth<<<n / 256, 256, 0, stream.get()>>>({in.get(), n}, out.get());
  stream.synchronize();

  std::vector<float> smoothed(n);
  membar::check(cudaMemcpy(smoothed.data(), out.get(), n * sizeof(float), cudaMemcpyDefault));
  std::printf("at 500: %.2f, smoothed %.2f (on a straight line it stays as it is)\n", static_cast<double>(values[500]),
              static_cast<double>(smoothed[500]));

  const support::device_memory<membar::constant_access_counts> counts(1);
  count_divergent_use<<<1, 256, 0, stream.get()>>>(counts.get());
  stream.synchronize();
  membar::constant_access_counts counted;
  membar::check(cudaMemcpy(&counted, counts.get(), sizeof counted, cudaMemcpyDefault));
  const bool warned = membar::warn_if_divergent(counted, "weights");
  return std::fabs(smoothed[500] - values[500]) < 0.01F && warned && counted.worst == weights.size() ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
