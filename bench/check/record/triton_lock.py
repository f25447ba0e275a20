# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Triton: two program instances add to a sum under a lock."""

import torch
import triton
import triton.language as tl


@triton.jit
def locked_add(lock, total, x, BLOCK: tl.constexpr):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    value = tl.load(total) + tl.sum(tl.load(x + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)))
    tl.store(total, value)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


lock, total = torch.zeros(1, dtype=torch.int32, device="cuda"), torch.zeros(1, device="cuda")
locked_add[(2,)](lock, total, torch.ones(64, device="cuda"), BLOCK=32, num_warps=1)
assert total.item() == 64, total
