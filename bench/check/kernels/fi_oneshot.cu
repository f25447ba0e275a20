// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// FlashInfer: TensorRT-LLM's one-shot all-reduce.
#include <flashinfer/comm/trtllm_allreduce.cuh>

template __global__ void flashinfer::trtllm_allreduce::oneShotAllReduceKernel<float, 2, true, false>(
    flashinfer::trtllm_allreduce::AllReduceParams<float>);
