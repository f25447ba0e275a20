// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include <cstdint>

using state_t = float;
using input_t = nv_bfloat16;
using dt_t = float;
using weight_t = float;
using matrixA_t = float;
using stateIndex_t = int32_t;
using state_scale_t = void;
constexpr int DIM = 64, DSTATE = 128, NPREDICTED = 1, MAX_WINDOW = 16, HEADS_PER_GROUP = 1, NGROUPS = 1, PHILOX_ROUNDS = 0;
constexpr bool ENABLE_PDL = true;
// clang-format off
#include <flashinfer/mamba/checkpointing_ssu.cuh>
#include <flashinfer/mamba/conversion.cuh>
#include <flashinfer/mamba/kernel_checkpointing_ssu_main.cuh>
// clang-format on

template __global__ void flashinfer::mamba::checkpointing::checkpointing_ssu_main_kernel<
    input_t, dt_t, weight_t, matrixA_t, state_t, stateIndex_t, state_scale_t, NPREDICTED, MAX_WINDOW, DIM, DSTATE,
    HEADS_PER_GROUP, PHILOX_ROUNDS, 4, 2>(flashinfer::mamba::checkpointing::CheckpointingSsuParams);
