// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A grid barrier whose last block clears the semaphore for the next use before the others have read it (Fuser #2081).
#include "spin.cuh"

#include <membar/load_store.cuh>

/// The top bit means that all blocks have arrived. Fixed: `seen` counts blocks that saw the bit; the last one clears both.
template <bool Mended>
__global__ void meet_and_clear(unsigned* semaphore, unsigned* seen, unsigned* late) {
  using membar::thread_scope;
  constexpr unsigned open = 1U << 31;
  __threadfence();
  if (atomicAdd(semaphore, 1U) == gridDim.x - 1) {
    membar::store<thread_scope::device>(semaphore, open, membar::release);
    if constexpr (!Mended) {
      membar::store<thread_scope::device>(semaphore, 0U, membar::relaxed);
    }
  } else if (!spin(late, [&] { return (membar::load<thread_scope::device>(semaphore, membar::acquire) & open) != 0; })) {
    return;
  }
  if constexpr (Mended) {
    __threadfence();
    if (atomicAdd(seen, 1U) == gridDim.x - 1) {
      __threadfence();
      membar::store<thread_scope::device>(seen, 0U, membar::relaxed);
      membar::store<thread_scope::device>(semaphore, 0U, membar::relaxed);
    }
  }
}
template __global__ void meet_and_clear<false>(unsigned*, unsigned*, unsigned*);
template __global__ void meet_and_clear<true>(unsigned*, unsigned*, unsigned*);
