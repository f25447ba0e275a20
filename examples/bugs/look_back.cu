// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scan with look-back reads a new flag, but the previous round's aggregate (AcceleratedKernels.jl #91, #98).
#include "spin.cuh"

#include <membar/load_store.cuh>

/// Block b reads the sum of all earlier blocks from block b - 1. Each round is a launch, and reuses `sums` and `flags`.
template <bool Mended>
__global__ void look_back(unsigned* sums, unsigned* flags, unsigned round, unsigned* wrong, unsigned* late) {
  using membar::thread_scope;
  unsigned before = 0;
  if (blockIdx.x > 0) {
    const unsigned* const flag = &flags[blockIdx.x - 1];
    spin(late, [&] { return membar::load<thread_scope::device>(flag, membar::relaxed) == round; });
    if constexpr (Mended) {
      __threadfence();
    }
    before = sums[blockIdx.x - 1];
  }
  wrong[blockIdx.x] += before != blockIdx.x * round ? 1 : 0;
  sums[blockIdx.x] = before + round;
  if constexpr (Mended) {
    __threadfence();
  }
  membar::store<thread_scope::device>(&flags[blockIdx.x], round, membar::relaxed);
}
template __global__ void look_back<false>(unsigned*, unsigned*, unsigned, unsigned*, unsigned*);
template __global__ void look_back<true>(unsigned*, unsigned*, unsigned, unsigned*, unsigned*);
