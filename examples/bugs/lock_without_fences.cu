// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// An addition to a complex number under a lock that is built from relaxed atomic operations (kokkos #3038).
#include "spin.cuh"

template <bool Mended>
__global__ void add_under_lock(unsigned* locks, double* number, unsigned rounds, unsigned* late) {
  for (unsigned r = 0; r < rounds; ++r) {
    if (!spin(late, [&] { return atomicCAS(locks, 0U, 1U) == 0; })) {
      return;
    }
    if constexpr (Mended) {
      __threadfence();
    }
    number[0] += 1;
    number[1] += 2;
    if constexpr (Mended) {
      __threadfence();
    }
    atomicExch(locks, 0U);
  }
}
template __global__ void add_under_lock<false>(unsigned*, double*, unsigned, unsigned*);
template __global__ void add_under_lock<true>(unsigned*, double*, unsigned, unsigned*);
