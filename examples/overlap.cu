// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Overlap: a chain of small local kernels alone, beside a communication kernel in the same synchronization domain, and beside
/// it with the communication kernel in the remote domain. The end of a kernel waits for the writes of its own domain.
#include <bench/common/cuda_handles.hpp>
#include <membar/launch.hpp>

#include <cstdio>
#include <optional>
#include <vector>

constexpr int chain_length = 500, local_words = 1024, far_words = 1 << 20;

__global__ void work(int* local) { ++local[blockIdx.x * blockDim.x + threadIdx.x]; }

/// Stores to memory of the host or of another device, again and again for a fixed time.
__global__ void communicate(volatile int* far, int tag) {
  const long long start = clock64();
  do {
    for (int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x); i < far_words; i += 64 * 256) {
      far[i] = i ^ tag;
    }
  } while (clock64() - start < 600'000'000);  // cycles
}

/// Prints the time per kernel of the chain, beside the communication kernel if that has a domain.
void measure(const char* name, int* local, int* far, int tag, const std::optional<membar::sync_domain>& communication) {
  const support::stream chain, beside;
  const support::event begin, end;
  if (communication) {
    membar::launch(membar::launch_config{64, 256, beside.get()}.with(*communication), communicate, far, tag);
  }
  begin.record(chain.get());
  for (int i = 0; i != chain_length; ++i) {
    membar::launch(membar::launch_config{local_words / 256, 256, chain.get()}, work, local);
  }
  end.record(chain.get());
  end.synchronize();
  const char* note = communication && beside.idle() ? ", but the communication ended first" : "";
  beside.synchronize();
  std::printf("%-24s %7.2f us per kernel%s\n", name, end.nanoseconds_since(begin) / 1e3 / chain_length, note);
}

int main() try {
  int devices = 0, peer = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::puts("skipped: no GPU");
    return 77;
  }
  if (devices > 1) {
    membar::check(cudaDeviceCanAccessPeer(&peer, 0, 1));
  }
  std::optional<support::device_memory<int>> on_peer;
  const support::pinned_memory<int> on_host(far_words);
  if (peer != 0) {
    membar::check(cudaDeviceEnablePeerAccess(1, 0));
    const support::device_guard on_the_other_device(1);
    on_peer.emplace(far_words);
  }
  int* far = on_peer ? on_peer->get() : on_host.get();
  const support::device_memory<int> local(local_words);
  std::printf("communication: stores to %s; %d domains\n", on_peer ? "device 1" : "the host", membar::sync_domain_count());
  measure("alone, warming up", local.get(), far, 0, {});
  measure("alone", local.get(), far, 0, {});
  measure("beside, same domain", local.get(), far, 1, membar::sync_domain(membar::sync_domain::default_));
  measure("beside, remote domain", local.get(), far, 2, membar::sync_domain(membar::sync_domain::remote));
  std::vector<int> locals(local_words), fars(far_words);
  membar::check(cudaMemcpy(locals.data(), local.get(), local_words * sizeof(int), cudaMemcpyDefault));
  membar::check(cudaMemcpy(fars.data(), far, far_words * sizeof(int), cudaMemcpyDefault));
  int wrong = 0;
  for (std::size_t i = 0; i != far_words; ++i) {
    wrong += fars[i] != (static_cast<int>(i) ^ 2) || (i < local_words && locals[i] != 4 * chain_length) ? 1 : 0;
  }
  std::printf("%d words wrong\n", wrong);
  return wrong == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::fprintf(stderr, "%s\n", failure.what());
  return 1;
}
