// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two ranks on different devices write, pass a barrier, and read what the other rank wrote.
#include <membar/sync/cross_barrier.cuh>

using barrier = membar::cross_barrier<2>;

extern "C" __global__ void rank(barrier::flags* first, barrier::flags* second, int self, unsigned* cells, unsigned* sum,
                                unsigned rounds) {
  barrier::flags* const all[2] = {first, second};
  barrier meet(all, self);
#pragma unroll 1
  for (unsigned r = 1; r <= rounds; ++r) {
    cells[self] = r;
    if (meet.sync(membar::wait_budget::milliseconds(10'000)) != membar::wait_result::done) {
      __trap();
    }
    sum[self] += cells[1 - self];
    if (r < rounds && meet.sync(membar::wait_budget::milliseconds(10'000)) != membar::wait_result::done) {
      __trap();
    }
  }
}
