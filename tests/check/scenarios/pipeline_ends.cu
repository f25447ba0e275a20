// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// libcu++'s block-wide pipeline. When it is destroyed, one of the converged lanes invalidates the mbarriers. Only a block
// barrier before the destruction orders the other threads' waits before the invalidation.
#include <cooperative_groups.h>
#include <cuda/pipeline>

#pragma nv_diag_suppress static_var_with_dynamic_init

template <bool Meets>
__global__ void stage(const unsigned* from, unsigned* to) {
  __shared__ unsigned word[32];
  __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 1> state;
  const auto block = cooperative_groups::this_thread_block();
  auto pipeline = cuda::make_pipeline(block, &state);
  pipeline.producer_acquire();
  cuda::memcpy_async(&word[threadIdx.x], &from[threadIdx.x], cuda::aligned_size_t<4>(4), pipeline);
  pipeline.producer_commit();
  pipeline.consumer_wait();
  to[threadIdx.x] = word[blockDim.x - 1 - threadIdx.x];
  pipeline.consumer_release();
  if (Meets) {
    block.sync();
  }
}
template __global__ void stage<false>(const unsigned*, unsigned*);
template __global__ void stage<true>(const unsigned*, unsigned*);
