// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Aphrodite's all-reduce between two GPUs with peer access, in half precision.
#include <array>

#include <all_reduce/custom_all_reduce.cuh>

void* const one_stage = reinterpret_cast<void*>(aphrodite::cross_device_reduce_1stage<half, 2>);
void* const two_stages = reinterpret_cast<void*>(aphrodite::cross_device_reduce_2stage<half, 2>);
