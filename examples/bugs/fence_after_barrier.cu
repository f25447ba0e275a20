// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The fix of pytorch #128455 puts the last block's fence after the barrier, in threads that have not read the counter.

/// Wrong: `fence.acq_rel`. Fixed: `__threadfence()`, which is a `fence.sc`; all such fences have a single order.
template <bool Mended>
__global__ void reduce_with_late_fence(unsigned* partial, unsigned* count, unsigned* sum) {
  __shared__ bool last;
  partial[blockIdx.x * blockDim.x + threadIdx.x] = 1;
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0) {
    last = atomicAdd(count, 1U) == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    if constexpr (Mended) {
      __threadfence();
    } else {
      asm volatile("fence.acq_rel.gpu;" ::: "memory");
    }
    for (unsigned b = 0; b < gridDim.x; ++b) {
      sum[threadIdx.x] += partial[b * blockDim.x + threadIdx.x];
    }
  }
}
template __global__ void reduce_with_late_fence<false>(unsigned*, unsigned*, unsigned*);
template __global__ void reduce_with_late_fence<true>(unsigned*, unsigned*, unsigned*);
