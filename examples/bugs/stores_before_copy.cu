// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Threads fill a stage and pass a barrier; then one thread bulk-copies the stage out without a proxy fence
// (NVIDIA/nccl-extensions #8).
#include <membar/bulk_copy.cuh>
#include <membar/fence.cuh>

template <bool Mended>
__global__ void copy_out(unsigned* to) {
  __shared__ alignas(16) unsigned stage[4];
  for (unsigned i = threadIdx.x; i < 4; i += blockDim.x) {
    stage[i] = i + 1;
  }
  if constexpr (Mended) {
    membar::proxy_fence<membar::proxy::async_shared_block>();
  }
  __syncthreads();
  if (threadIdx.x == 0) {
    membar::bulk_commit(membar::bulk_store(to, stage, sizeof stage));
    membar::bulk_wait();
  }
}
template __global__ void copy_out<false>(unsigned*);
template __global__ void copy_out<true>(unsigned*);
