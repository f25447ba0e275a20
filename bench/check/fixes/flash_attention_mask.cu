// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// ggml's kernel that finds where the flash-attention mask ends, for eight columns.
#include <common.cuh>
#include <fattn-common.cuh>

void* const kernel = reinterpret_cast<void*>(flash_attn_mask_to_KV_max<8>);
