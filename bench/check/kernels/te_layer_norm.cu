// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transformer Engine: the sum over blocks in its layer norm.
#include <common/utils.cuh>

struct sum_parameters {
  int* barrier;
  void* workspace;
  int ctas_per_col;
};

__global__ void sum_over_blocks(float* out, sum_parameters parameters) {
  using reducer = transformer_engine::Reducer<float, 2, 1, 1>;
  __shared__ char shared[32];
  reducer over_blocks(parameters, 0, blockIdx.x, 0, 0, threadIdx.x, shared);
  const float sum = over_blocks.allreduce(threadIdx.x + 1.0F, Sum<float>());
  out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}
