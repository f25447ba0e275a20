// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// One counter for chunks that arrive in any order (nvshmem #84).
#include "spin.cuh"

#include <membar/load_store.cuh>

/// Block 0 reads the chunks in order. Each other block puts and signals a chunk; these transfers may overtake each other.
template <bool Mended>
__global__ void receive_in_order(unsigned* chunks, unsigned* signals, unsigned* sum, unsigned* late) {
  using membar::thread_scope;
  if (blockIdx.x > 0) {
    const unsigned chunk = blockIdx.x - 1;
    chunks[chunk] = 1;
    __threadfence_system();
    atomicAdd_system(&signals[Mended ? chunk : 0], 1U);
  } else {
    for (unsigned chunk = 0; chunk + 1 < gridDim.x; ++chunk) {
      const unsigned* const signal = &signals[Mended ? chunk : 0];
      const unsigned least = Mended ? 1 : chunk + 1;
      if (!spin(late, [&] { return membar::load<thread_scope::system>(signal, membar::acquire) >= least; })) {
        return;
      }
      *sum += chunks[chunk];
    }
  }
}
template __global__ void receive_in_order<false>(unsigned*, unsigned*, unsigned*, unsigned*);
template __global__ void receive_in_order<true>(unsigned*, unsigned*, unsigned*, unsigned*);
