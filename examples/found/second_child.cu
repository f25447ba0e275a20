// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The boxes of a tree are merged from the leaves up: the second child to arrive reads both boxes, but does not acquire.

template <bool Fixed>
__global__ void refit(const int* items, int* boxes, int* arrived) {
  const unsigned leaf = threadIdx.x + blockIdx.x * blockDim.x;  // Leaves 0 and 1, and the root 2.
  boxes[leaf] = items[leaf];
  __threadfence();
  if (atomicAdd(arrived, 1) == 1) {
    if constexpr (Fixed) {
      __threadfence();
    }
    boxes[2] = min(boxes[0], boxes[1]);
  }
}
template __global__ void refit<false>(const int*, int*, int*);
template __global__ void refit<true>(const int*, int*, int*);
