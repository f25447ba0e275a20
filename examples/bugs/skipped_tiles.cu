// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Each warp reads a mask in shared memory to see whether to skip a tile; a fast warp writes the next mask (llama.cpp #13742).

/// Thread t stands for a warp. A tile is skipped if no thread needs it.
template <bool Mended>
__global__ void visit_tiles(const unsigned* wanted, unsigned tiles, unsigned* visited) {
  __shared__ unsigned mask[256];
  for (unsigned tile = 0; tile < tiles; ++tile) {
    mask[threadIdx.x] = wanted[tile * blockDim.x + threadIdx.x];
    __syncthreads();
    bool skip = true;
    for (unsigned t = 0; t < blockDim.x; ++t) {
      skip = skip && mask[t] == 0;
    }
    if constexpr (Mended) {
      __syncthreads();
    }
    if (skip) {
      continue;
    }
    visited[threadIdx.x] += 1;
    __syncthreads();
  }
}
template __global__ void visit_tiles<false>(const unsigned*, unsigned, unsigned*);
template __global__ void visit_tiles<true>(const unsigned*, unsigned, unsigned*);
