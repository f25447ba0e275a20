// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// All-to-all with counts (all_to_all.cuh): each GPU sends rows to other GPUs, which add their own PE number to these rows and
/// send them back. The exchange is captured once in a graph on each GPU, and replayed with different destinations each time.
#include "all_to_all.cuh"
#include "replayed_graphs.hpp"

#include <cstdio>

constexpr unsigned rows = 1000, width = 64;

/// Counts the wrong rows that came back in the previous round, and generates the next round's rows and destinations, some of
/// which are not PEs.
__global__ void next_round(float* in, const float* out, int* to, int self, int count, unsigned* round,
                           unsigned long long* wrong) {
  for (unsigned i = threadIdx.x; i < rows; i += blockDim.x) {
    for (unsigned k = 0; k != width; ++k) {
      float& value = in[i * width + k];
      const float right = to[i] < 0 ? 0 : value + static_cast<float>(to[i]);
      atomicAdd(wrong, *round != 0 && out[i * width + k] != right ? 1ULL : 0ULL);
      value = static_cast<float>((i * 7 + k + *round * 13 + static_cast<unsigned>(self)) % 1024);
    }
    to[i] = i % 17 == 0 ? -1 : static_cast<int>((i * 2654435761U + *round * 40503U) >> 16) % count;
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    *round += 1;
  }
}
/// Adds this PE's number to the received rows.
__global__ void handle(all_to_all_memory<symmetric::peer_backend> all) {
  const int self = all.rows.self().index();
  for (int from = 0; from != all.rows.count(); ++from) {
    for (unsigned i = threadIdx.x; i < all.counts.local()[from] * width; i += blockDim.x) {
      all.rows.local()[all.place(from, 0) + i] += static_cast<float>(self);
    }
  }
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
    std::puts("SKIPPED: an all-to-all needs two GPUs");
    return 77;
  }
  symmetric::peer_backend gpus;
  symmetric::heap heap(gpus, std::size_t{32} << 20);
  const all_to_all exchange(heap, rows, width);
  const symmetric::scoped_array in(heap.allocate<float>(rows * width)), out(heap.allocate<float>(rows * width));
  const symmetric::scoped_array to(heap.allocate<int>(rows));
  const symmetric::scoped_array round(heap.allocate<unsigned>(1));
  const symmetric::scoped_array wrong(heap.allocate<unsigned long long>(1));
  replayed_graphs graphs;
  for (const pe which : gpus.local_pes()) {
    graphs.capture(gpus.device_of(which), [&](cudaStream_t stream) {
      const membar::launch_config one{1, 1024, stream};
      membar::launch(one, next_round, in.on(which).local(), out.on(which).local(), to.on(which).local(), which.index(),
                     gpus.count(), round.on(which).local(), wrong.on(which).local());
      exchange.dispatch(which, in.on(which).local(), to.on(which).local(), rows, stream);
      membar::launch(one, handle, exchange.on(which));
      exchange.combine(which, out.on(which).local(), to.on(which).local(), rows, stream);
    });
  }
  graphs.replay(1000);
  unsigned long long all_wrong = 0, here = 0;
  for (const pe which : gpus.local_pes()) {
    membar::check(cudaMemcpy(&here, wrong.on(which).local(), sizeof here, cudaMemcpyDefault));
    all_wrong += here;
  }
  std::printf("%d GPUs, 1000 replays: %llu values are wrong\n", gpus.count(), all_wrong);
  return all_wrong == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::puts(failure.what());
  return failure.code() == cudaErrorPeerAccessUnsupported ? 77 : 1;
}
