// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Lanes publish words through a counter. One lane increments it on behalf of all lanes that arrive together.
#include <membar/aggregated.cuh>
#include <membar/atomic.cuh>

extern "C" __global__ void count(unsigned* words, unsigned* counter, unsigned* sum) {
  using membar::thread_scope;
  if (blockIdx.x == 0) {
    words[threadIdx.x] = threadIdx.x + 1;
    membar::aggregated_ref<unsigned, thread_scope::device> ready(*counter);
    ready.fetch_add(1u, membar::release);
  } else if (threadIdx.x == 0) {
    membar::atomic_ref<unsigned, thread_scope::device> ready(*counter);
    while (ready.load(membar::acquire) != blockDim.x) {
    }
    for (unsigned n = 0; n < blockDim.x; ++n) {
      *sum += words[n];
    }
  }
}
