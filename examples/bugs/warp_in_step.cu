// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A reduction that relies on lockstep execution of a warp's threads and on `volatile` (HeCBench #91, numba #6127).

/// Sums four values. There is no barrier between the threads of the warp.
template <bool Mended>
__global__ void sum_of_warp(unsigned* sum) {
  __shared__ unsigned cells[4];
  volatile unsigned* const s = cells;
  const unsigned t = threadIdx.x;
  s[t] = 1;
  if constexpr (Mended) {
    __syncwarp(0xf);
  } else {
    __syncthreads();
  }
  for (unsigned half = 2; half > 0; half /= 2) {
    const unsigned other = t < half ? s[t + half] : 0;
    if constexpr (Mended) {
      __syncwarp(0xf);
    }
    if (t < half) {
      s[t] = s[t] + other;
    }
    if constexpr (Mended) {
      __syncwarp(0xf);
    }
  }
  if (t == 0) {
    *sum = s[0];
  }
}
template __global__ void sum_of_warp<false>(unsigned*);
template __global__ void sum_of_warp<true>(unsigned*);
