// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The grid barrier of cooperative groups.
#include <cooperative_groups.h>

/// Every thread writes a word and sums the words of all threads.
template <bool Meets>
__global__ void add_up(unsigned* words, unsigned* sums) {
  const auto grid = cooperative_groups::this_grid();
  words[grid.thread_rank()] = 1 + static_cast<unsigned>(grid.thread_rank());
  if constexpr (Meets) {
    grid.sync();
  }
  for (unsigned k = 0; k < grid.size(); ++k) {
    sums[grid.thread_rank()] += words[k];
  }
}
template __global__ void add_up<true>(unsigned*, unsigned*);
template __global__ void add_up<false>(unsigned*, unsigned*);
