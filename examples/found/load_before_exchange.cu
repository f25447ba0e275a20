// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A Triton program as its threads execute it: under a lock, all threads load a counter, and one thread's exchange updates it.

/// The lock: one thread takes it, and passes the value that it found to the block's other threads through shared memory.
__device__ void take(unsigned* lock) {
  __shared__ unsigned found;
  do {
    __syncthreads();
    if (threadIdx.x == 0) {
      asm volatile("atom.acq_rel.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(found) : "l"(lock) : "memory");
    }
    __syncthreads();
  } while (found == 1);
}

template <bool Fixed>
__global__ void accumulate(unsigned* lock, unsigned* count, int* sum) {
  take(lock);
  const unsigned before = *count;
  if constexpr (Fixed) {
    __syncthreads();
  }
  int part = 1;
  if (before == 0) {
    if (threadIdx.x == 0) {
      atomicExch(count, 1U);
    }
  } else {
    part += sum[threadIdx.x];
  }
  sum[threadIdx.x] = part;
  __syncthreads();
  if (threadIdx.x == 0) {
    __threadfence();
    atomicExch(lock, 0U);
  }
}
template __global__ void accumulate<false>(unsigned*, unsigned*, int*);
template __global__ void accumulate<true>(unsigned*, unsigned*, int*);
