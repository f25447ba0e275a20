// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A reduction whose last block sums the values that all blocks have written.
#include <membar/sync/last_block.cuh>

using last_block = membar::last_block<membar::thread_scope::device>;

extern "C" __global__ void reduce(last_block* last, unsigned* partial, unsigned* sum) {
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = blockIdx.x + 1;
  }
  if (last->arrive() && threadIdx.x == 0) {
    unsigned all = 0;
    for (unsigned b = 0; b < gridDim.x; ++b) {
      all += partial[b];
    }
    *sum = all;
  }
}
