// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Overlap: a chain of small local kernels runs by itself, during a communication kernel in the same synchronization domain,
/// and during a communication kernel in the remote domain. At its end, a kernel waits for all writes in its own domain.
#include <membar/device_guard.hpp>
#include <membar/launch.hpp>
#include <membar/load_store.cuh>
#include <membar/managed_memory.hpp>
#include <membar/mapped_memory.hpp>

#include <chrono>
#include <cstdio>
#include <vector>

using membar::check, membar::sync_domain;
constexpr int chain_length = 500, local_words = 1024, far_words = 1 << 20;

__global__ void work(int* local) { ++local[blockIdx.x * blockDim.x + threadIdx.x]; }

/// Repeatedly stores to memory on the host or on another device, for a fixed time.
__global__ void communicate(int* far, int tag) {
  for (const long long start = clock64(); clock64() - start < 600'000'000;) {  // cycles
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < far_words; i += 64 * 256) {
      membar::store<membar::thread_scope::system>(far + i, i ^ tag, membar::relaxed);
    }
  }
}

int main() try {
  int devices = 0, peer = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("SKIPPED: no GPU");
    return 77;
  }
  const membar::managed_memory<int> local(local_words);
  check(cudaMemset(local.data(), 0, local_words * sizeof(int)));
  const membar::mapped_memory<int> on_host(far_words);
  int* far = on_host.data();
  check(devices > 1 ? cudaDeviceCanAccessPeer(&peer, 0, 1) : cudaSuccess);
  if (peer != 0) {
    check(cudaDeviceEnablePeerAccess(1, 0));
    const membar::device_guard on_the_other_device(1);
    check(cudaMalloc(&far, far_words * sizeof(int)));
  }
  std::printf("communication: stores to %s; %d domains\n", peer != 0 ? "device 1" : "the host", membar::sync_domain_count());
  cudaStream_t beside = nullptr;  // This stream does not wait for the default stream, in which the chain runs.
  check(cudaStreamCreateWithFlags(&beside, cudaStreamNonBlocking));

  // Prints the time per kernel of the chain, which runs during the communication kernel unless `tag` is 0.
  const auto measure = [&](const char* name, int tag, sync_domain communication) {
    if (tag != 0) {
      membar::launch(membar::launch_config{64, 256, beside}.with(communication), communicate, far, tag);
    }
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i != chain_length; ++i) {
      membar::launch(membar::launch_config{local_words / 256, 256}, work, local.data());
    }
    check(cudaStreamSynchronize(nullptr));
    const std::chrono::duration<double, std::micro> time = std::chrono::steady_clock::now() - begin;
    const char* note = tag != 0 && cudaStreamQuery(beside) == cudaSuccess ? ", but the communication ended first" : "";
    check(cudaStreamSynchronize(beside));
    std::printf("%-24s %7.2f us per kernel%s\n", name, time.count() / chain_length, note);
  };
  measure("alone, warming up", 0, sync_domain::default_);
  measure("alone", 0, sync_domain::default_);
  measure("beside, same domain", 1, sync_domain::default_);
  measure("beside, remote domain", 2, sync_domain::remote);
  std::vector<int> fars(far_words);
  check(cudaMemcpy(fars.data(), far, far_words * sizeof(int), cudaMemcpyDefault));
  int wrong = 0;
  for (std::size_t i = 0; i != far_words; ++i) {
    wrong += fars[i] != (static_cast<int>(i) ^ 2) || (i < local_words && local[i] != 4 * chain_length) ? 1 : 0;
  }
  std::printf("%d words wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
