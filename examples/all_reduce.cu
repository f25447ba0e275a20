// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// One-shot and two-shot all-reduces (membar::all_reduce chooses by size), captured once in a graph on each GPU and
/// replayed with new data each time.
#include "replayed_graphs.hpp"

#include <membar/symmetric/all_reduce.cuh>

#include <cstdio>

namespace symmetric = membar::symmetric;
using symmetric::pe;

constexpr std::size_t small_size = 1001, large_size = 40'003;

/// Returns a PE's value at index `i` in a round. All values are integers, so the sums are exact.
__host__ __device__ float value_of(std::size_t i, int which, unsigned round) {
  return static_cast<float>((i + 7 * round) % 64 * static_cast<unsigned>(which + 1));
}

/// Counts the wrong sums of the previous round, and writes the next round's values.
__global__ void next_round(float* small, float* large, pe self, int count, unsigned* round, unsigned long long* wrong) {
  for (std::size_t i = threadIdx.x; i < large_size; i += blockDim.x) {
    const float sum = *round == 0 ? 0 : value_of(i, 0, *round) * static_cast<float>(count * (count + 1) / 2);
    atomicAdd(wrong, (large[i] != sum ? 1ULL : 0ULL) + (i < small_size && small[i] != sum ? 1ULL : 0ULL));
    large[i] = value_of(i, self.index(), *round + 1);
    if (i < small_size) {
      small[i] = large[i];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    *round += 1;
  }
}

int main() try {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 2) {
    std::puts("SKIPPED: an all-reduce needs two GPUs");
    return 77;
  }
  symmetric::peer_backend gpus;
  symmetric::heap heap(gpus, std::size_t{16} << 20);
  membar::all_reduce<float> sums(heap, large_size, {.most_in_one_shot = 4096});
  const symmetric::scoped_array small(heap.allocate<float>(small_size)), large(heap.allocate<float>(large_size));
  const symmetric::scoped_array round(heap.allocate<unsigned>(1));
  const symmetric::scoped_array wrong(heap.allocate<unsigned long long>(1));
  replayed_graphs graphs;
  for (const pe which : gpus.local_pes()) {
    graphs.capture(gpus.device_of(which), [&](cudaStream_t stream) {
      float *const s = small.on(which).local(), *const l = large.on(which).local();
      membar::launch(membar::launch_config{1, 512, stream}, next_round, s, l, which, gpus.count(), round.on(which).local(),
                     wrong.on(which).local());
      sums.enqueue(which, s, s, small_size, stream);
      sums.enqueue(which, l, l, large_size, stream);
    });
  }
  graphs.replay(1000);
  sums.check();  // Throws if a GPU was late; a late GPU does not end the process by itself.
  unsigned long long all_wrong = 0, here = 0;
  for (const pe which : gpus.local_pes()) {
    membar::check(cudaMemcpy(&here, wrong.on(which).local(), sizeof here, cudaMemcpyDefault));
    all_wrong += here;
  }
  std::printf("%d GPUs, 1000 replays: %llu sums are wrong\n", gpus.count(), all_wrong);
  return all_wrong == 0 ? 0 : 1;
} catch (const membar::error& failure) {
  std::puts(failure.what());
  return failure.code() == cudaErrorPeerAccessUnsupported ? 77 : 1;
}
