// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Blocks add under a lock. They take it with compare-and-swap, and release it with a weak store (one with a cache operator).

template <bool Fixed>
__global__ void add_under_lock(int* lock, volatile int* sum) {
  while (atomicCAS(lock, 0, 1) == 1) {
    __threadfence();
  }
  __threadfence();
  *sum = *sum + 1;
  __threadfence();
  if constexpr (Fixed) {
    atomicExch(lock, 0);
  } else {
    __stwt(lock, 0);
  }
}
template __global__ void add_under_lock<false>(int*, volatile int*);
template __global__ void add_under_lock<true>(int*, volatile int*);
