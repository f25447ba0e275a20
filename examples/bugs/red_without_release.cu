// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks increment a counter with `red` after they have written, and another block waits for it (TensorRT-LLM #8612).
#include "spin.cuh"

#include <membar/load_store.cuh>

/// Block 0 gathers; the others write. `results` has a cell per block, `done` counts writes, `taken` is the last round read.
template <bool Mended>
__global__ void gather_counted(unsigned* results, unsigned* done, unsigned* taken, unsigned rounds, unsigned* wrong,
                               unsigned* late) {
  using membar::thread_scope;
  const unsigned writers = gridDim.x - 1;
  for (unsigned r = 1; r <= rounds; ++r) {
    if (blockIdx.x == 0) {
      if (!spin(late, [&] { return membar::load<thread_scope::device>(done, membar::acquire) == writers * r; })) {
        return;
      }
      for (unsigned w = 1; w <= writers; ++w) {
        *wrong += results[w] != r ? 1 : 0;
      }
      membar::store<thread_scope::device>(taken, r, membar::release);
    } else {
      results[blockIdx.x] = r;
      if constexpr (Mended) {
        asm volatile("red.release.gpu.global.add.u32 [%0], 1;" ::"l"(done) : "memory");
      } else {
        asm volatile("red.global.add.u32 [%0], 1;" ::"l"(done) : "memory");
      }
      if (!spin(late, [&] { return membar::load<thread_scope::device>(taken, membar::acquire) >= r; })) {
        return;
      }
    }
  }
}
template __global__ void gather_counted<false>(unsigned*, unsigned*, unsigned*, unsigned, unsigned*, unsigned*);
template __global__ void gather_counted<true>(unsigned*, unsigned*, unsigned*, unsigned, unsigned*, unsigned*);
