// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// FlashInfer: TensorRT-LLM's all-reduces, each fused with the operations that follow it.
#include <flashinfer/comm/trtllm_allreduce_fusion.cuh>

namespace fi = flashinfer::trtllm_allreduce_fusion;

template __global__ void fi::allreduce_fusion_kernel_oneshot_lamport<fi::AllReduceFusionPattern::kAllReduce, half, 2, false,
                                                                     false>(fi::AllReduceFusionParams<half>);
template __global__ void fi::allreduce_fusion_kernel_twoshot_sync<fi::AllReduceFusionPattern::kAllReduce, half, 2, false>(
    fi::AllReduceFusionParams<half>, std::array<int, 2>, std::array<int, 2>);
