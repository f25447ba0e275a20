// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The second kernel of FlashInfer's two-shot all-reduce over NVLink, for bfloat16.
#include <flashinfer/comm/trtllm_mnnvl_allreduce.cuh>

void* const kernel =
    reinterpret_cast<void*>(flashinfer::trtllm_mnnvl_allreduce::rmsNormLamport<__nv_bfloat16, __nv_bfloat16, 1>);
