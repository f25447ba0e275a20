// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A grid barrier whose blocks poll with `ld.cg`: a cache operator does not make a load strong (cub #356).
#include "spin.cuh"

#include <membar/load_store.cuh>

template <bool Mended>
__device__ unsigned poll(const unsigned* flag) {
  if constexpr (Mended) {
    return membar::load<membar::thread_scope::device>(flag, membar::acquire);
  } else {
    return __ldcg(flag);
  }
}

/// Block 0 waits for the flag of each other block, and then answers each block by clearing its flag.
template <bool Mended>
__global__ void meet_by_polling(unsigned* flags, unsigned* cells, unsigned* wrong, unsigned* late) {
  cells[blockIdx.x] = 1;
  __threadfence();
  volatile unsigned* const raised = flags;
  if (blockIdx.x == 0) {
    for (unsigned b = 1; b < gridDim.x; ++b) {
      spin(late, [&] { return poll<Mended>(&flags[b]) == 1; });
    }
    __threadfence();
    for (unsigned b = 1; b < gridDim.x; ++b) {
      raised[b] = 0;
    }
  } else {
    raised[blockIdx.x] = 1;
    spin(late, [&] { return poll<Mended>(&flags[blockIdx.x]) == 0; });
  }
  __threadfence();
  wrong[blockIdx.x] += cells[(blockIdx.x + 1) % gridDim.x] != 1 ? 1 : 0;
}
template __global__ void meet_by_polling<false>(unsigned*, unsigned*, unsigned*, unsigned*);
template __global__ void meet_by_polling<true>(unsigned*, unsigned*, unsigned*, unsigned*);
