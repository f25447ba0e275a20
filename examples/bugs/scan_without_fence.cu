// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A scan over blocks: the last block to arrive turns all blocks' totals into offsets (kokkos #2681).

template <bool Mended>
__global__ void scan_totals(unsigned* totals, unsigned* count) {
  totals[blockIdx.x] = blockIdx.x + 1;
  if constexpr (Mended) {
    __threadfence();
  }
  if (atomicAdd(count, 1U) == gridDim.x - 1) {
    __threadfence();
    for (unsigned b = 1; b < gridDim.x; ++b) {
      totals[b] += totals[b - 1];
    }
  }
}
template __global__ void scan_totals<false>(unsigned*, unsigned*);
template __global__ void scan_totals<true>(unsigned*, unsigned*);
