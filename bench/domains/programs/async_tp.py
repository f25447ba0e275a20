# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's asynchronous tensor parallelism: a layer whose all-gather and reduce-scatter are fused with its matrix products, compared with the same products
without communication."""
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory  # registers the operators

import arms

rank, device = arms.start()
world = dist.get_world_size()
group = dist.group.WORLD.group_name
ROWS, WIDTH = 2048, 2048
shard = torch.randn(ROWS // world, WIDTH, device=device, dtype=torch.bfloat16)
whole = torch.randn(ROWS, WIDTH, device=device, dtype=torch.bfloat16)
up = torch.randn(WIDTH, 4 * WIDTH // world, device=device, dtype=torch.bfloat16) * .02
down = torch.randn(4 * WIDTH // world, WIDTH, device=device, dtype=torch.bfloat16) * .02


def beside():
    _, (h,) = torch.ops.symm_mem.fused_all_gather_matmul(shard, [up], 0, group)
    return torch.ops.symm_mem.fused_matmul_reduce_scatter(torch.relu(h), down, 'sum', 0, group)


def alone():
    return torch.relu(whole @ up) @ down


for _ in range(3):
    beside()
out = arms.pairs(alone, beside, 8, 25)
arms.result('async_tp', *out, output=arms.digest(beside()))
