// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <array>

#include "flashinfer/comm/trtllm_allreduce_fusion.cuh"

using namespace flashinfer::trtllm_allreduce_fusion;
using number = __nv_bfloat16;
constexpr auto pattern = AllReduceFusionPattern::kARResidualRMSNorm;
using ranks = std::array<int, 4>;

template __global__ void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<
    pattern, number, 4, false>(AllReduceFusionParams<number>, ranks, ranks);
template __global__ void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_twoshot_sync<pattern, number, 4, false>(
    AllReduceFusionParams<number>, ranks, ranks);
