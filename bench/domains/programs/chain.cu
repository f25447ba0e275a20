// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A program that knows nothing of domains: a chain of short kernels on GPU 0, alone and beside kernels that store to GPU 1. It
// prints RESULT and a line of JSON.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
  }
}

__global__ void store_to_peer(float4* to, std::size_t count, float value) {
  for (std::size_t i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += std::size_t{gridDim.x} * blockDim.x) {
    to[i] = make_float4(value, value, value, value);
  }
}

__global__ void short_step(float* p) { p[blockIdx.x * blockDim.x + threadIdx.x] += 1.0F; }

double percentile(std::vector<double> values, double fraction) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(fraction * static_cast<double>(values.size() - 1))];
}

}  // namespace

int main() {
  constexpr std::size_t bytes = std::size_t{256} << 20;
  constexpr int kernels = 500, rounds = 6, chains = 20, puts = 400;
  int devices = 0;
  check(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
  if (devices < 2) {
    std::printf("SKIPPED: this program needs two GPUs, and sees %d\n", devices);
    return 77;
  }
  float4* peer = nullptr;
  float* own = nullptr;
  check(cudaSetDevice(1), "cudaSetDevice");
  check(cudaMalloc(&peer, bytes), "cudaMalloc");
  check(cudaSetDevice(0), "cudaSetDevice");
  check(cudaDeviceEnablePeerAccess(1, 0), "cudaDeviceEnablePeerAccess");
  check(cudaMalloc(&own, 16 * 128 * sizeof(float)), "cudaMalloc");
  cudaStream_t communication, compute;
  check(cudaStreamCreateWithFlags(&communication, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaStreamCreateWithFlags(&compute, cudaStreamNonBlocking), "cudaStreamCreate");
  cudaEvent_t last;
  check(cudaEventCreateWithFlags(&last, cudaEventDisableTiming), "cudaEventCreate");
  const auto chain = [&] {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < kernels; ++i) {
      short_step<<<16, 128, 0, compute>>>(own);
    }
    check(cudaStreamSynchronize(compute), "cudaStreamSynchronize");
    return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count() / kernels;
  };
  chain();
  store_to_peer<<<16, 1024, 0, communication>>>(peer, bytes / sizeof(float4), 0.0F);
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");

  std::vector<double> alone, beside;
  bool overlapped = true;
  for (int r = 0; r < rounds; ++r) {
    for (int i = 0; i < chains; ++i) {
      alone.push_back(chain());
    }
    for (int i = 0; i < puts; ++i) {
      store_to_peer<<<16, 1024, 0, communication>>>(peer, bytes / sizeof(float4), static_cast<float>(i));
    }
    check(cudaEventRecord(last, communication), "cudaEventRecord");
    for (int i = 0; i < chains; ++i) {
      beside.push_back(chain());
    }
    overlapped = overlapped && cudaEventQuery(last) == cudaErrorNotReady;
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  std::printf(
      "RESULT {\"program\": \"chain\", \"unit\": \"us of a kernel\", \"alone\": {\"p50\": %.3f, \"p99\": %.3f, \"count\": "
      "%zu}, \"beside\": "
      "{\"p50\": %.3f, \"p99\": %.3f, \"count\": %zu}, \"overlapped\": %s}\n",
      percentile(alone, 0.5), percentile(alone, 0.99), alone.size(), percentile(beside, 0.5), percentile(beside, 0.99),
      beside.size(), overlapped ? "true" : "false");
}
