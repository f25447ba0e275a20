// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A grid barrier with a fence before the arrival but none after the wait (mscclpp #395, #497).
#include "spin.cuh"

#include <membar/load_store.cuh>

template <bool Mended>
__device__ bool meet_blocks(unsigned* count, unsigned* phase, unsigned step, unsigned* late) {
  using membar::thread_scope;
  __threadfence();
  if (atomicAdd(count, 1U) == gridDim.x - 1) {
    membar::store<thread_scope::device>(count, 0U, membar::relaxed);
    __threadfence();
    membar::store<thread_scope::device>(phase, step, membar::relaxed);
  } else if (!spin(late, [&] { return membar::load<thread_scope::device>(phase, membar::relaxed) == step; })) {
    return false;
  }
  if constexpr (Mended) {
    __threadfence();
  }
  return true;
}

template <bool Mended>
__global__ void exchange(unsigned* cells, unsigned* count, unsigned* phase, unsigned rounds, unsigned* wrong, unsigned* late) {
  for (unsigned r = 1; r <= rounds; ++r) {
    cells[blockIdx.x] = r;
    if (!meet_blocks<Mended>(count, phase, 2 * r - 1, late)) {
      return;
    }
    wrong[blockIdx.x] += cells[(blockIdx.x + 1) % gridDim.x] != r ? 1 : 0;
    if (!meet_blocks<Mended>(count, phase, 2 * r, late)) {
      return;
    }
  }
}
template __global__ void exchange<false>(unsigned*, unsigned*, unsigned*, unsigned, unsigned*, unsigned*);
template __global__ void exchange<true>(unsigned*, unsigned*, unsigned*, unsigned, unsigned*, unsigned*);
