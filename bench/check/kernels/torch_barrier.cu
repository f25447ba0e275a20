// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// PyTorch: the barrier for symmetric memory, with the memory orders that its all-reduces use.
#include <torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemory-inl.h>

template <std::memory_order Order>
__global__ void exchange(uint32_t** pads, int* to, const int* from, int* out, size_t rank, size_t world) {
  to[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
  __syncthreads();
  c10d::symmetric_memory::sync_remote_blocks<Order>(pads, rank, world);
  __syncthreads();
  out[threadIdx.x] = from[threadIdx.x];
}
template __global__ void exchange<std::memory_order_acq_rel>(uint32_t**, int*, const int*, int*, size_t, size_t);
template __global__ void exchange<std::memory_order_relaxed>(uint32_t**, int*, const int*, int*, size_t, size_t);
