// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Transformer Engine's quantization to MXFP8, for bfloat16, row by row.
#include "common/util/cast_kernels.cuh"

using namespace transformer_engine;

void* const kernel = reinterpret_cast<void*>(
    mxfp8_kernel::cast_mxfp8_2D_kernel<false, false, false, Empty, nullptr, bf16, fp8e4m3, true, false, 64, 64, 64>);
