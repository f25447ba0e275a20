// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// FlashInfer's selective state update with checkpoints, for one model size.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cstdint>
using state_t = __nv_bfloat16;
using input_t = __nv_bfloat16;
using dt_t = __nv_bfloat16;
using weight_t = __nv_bfloat16;
using matrixA_t = float;
using stateIndex_t = int32_t;
using state_scale_t = void;
constexpr int DIM = 64, DSTATE = 128, NPREDICTED = 4, MAX_WINDOW = 8, HEADS_PER_GROUP = 8, NGROUPS = 1, PHILOX_ROUNDS = 0;
constexpr bool ENABLE_PDL = true;
#include <flashinfer/mamba/kernel_checkpointing_ssu_main.cuh>
void* const used = reinterpret_cast<void*>(
    flashinfer::mamba::checkpointing::checkpointing_ssu_main_kernel<input_t, dt_t, weight_t, matrixA_t, state_t, stateIndex_t,
                                                                    state_scale_t, NPREDICTED, MAX_WINDOW, DIM, DSTATE,
                                                                    HEADS_PER_GROUP, PHILOX_ROUNDS, 4>);
