// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A counting semaphore: a block decrements the count and waits for the old count, but a later block decrements it again.

__device__ int load(const int* count) {
  int value;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(value) : "l"(count) : "memory");
  return value;
}
__device__ int add(int* count, int by) {
  int old;
  asm volatile("atom.acq_rel.gpu.global.add.s32 %0, [%1], %2;" : "=r"(old) : "l"(count), "r"(by) : "memory");
  return old;
}

template <bool Fixed>
__device__ void acquire(int* count) {
  if constexpr (Fixed) {
    for (;;) {  // Takes a ticket only if there is one.
      const int found = load(count);
      if (found > 0 && atomicCAS(count, found, found - 1) == found) {
        __threadfence();
        return;
      }
    }
  } else {
    const int found = add(count, -1);
    if (found <= 0) {
      while (load(count) < found) {
      }
    }
  }
}

template <bool Fixed>
__global__ void one_at_a_time(int* count, int* total) {
  acquire<Fixed>(count);
  *total += 1;
  add(count, 1);
}
template __global__ void one_at_a_time<false>(int*, int*);
template __global__ void one_at_a_time<true>(int*, int*);
