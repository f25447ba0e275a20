// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A block polls for an arrival with compare-and-swap, and then reads. A compare-and-swap without an explicit order is relaxed.

template <bool Fixed>
__global__ void hand_over(int* tile, int* flag, int* out) {
  if (blockIdx.x == 0) {
    tile[threadIdx.x] = 7;
    __syncthreads();
    if (threadIdx.x == 0) {
      __threadfence();
      atomicAdd(flag, 1);
    }
  } else {
    if (threadIdx.x == 0) {
      while (atomicCAS(flag, 1, 0) != 1) {
      }
      if constexpr (Fixed) {
        __threadfence();
      }
    }
    __syncthreads();
    out[threadIdx.x] = tile[threadIdx.x];
  }
}
template __global__ void hand_over<false>(int*, int*, int*);
template __global__ void hand_over<true>(int*, int*, int*);
