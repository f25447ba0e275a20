# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A halo exchange: each step sends 8 boundaries of 16 MiB into the next GPU's memory on a side stream while short kernels update the
interior, and ends when both are over."""
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

import arms

rank, device = arms.start()
world = dist.get_world_size()
count = 16 * arms.MIB // 4
halo = symmetric.empty(count, dtype=torch.float32, device=device)
handle = symmetric.rendezvous(halo, dist.group.WORLD.group_name)
theirs = handle.get_buffer((rank + 1) % world, (count,), torch.float32)
boundary = torch.randn(count, device=device)
interior = torch.randn(512, 1024, device=device)
side = torch.cuda.Stream()


def update(kernels=100):
    for _ in range(kernels):
        interior.mul_(.999)


def exchange():
    torch.neg(boundary, out=theirs)  # a kernel that stores to the peer


interior_alone = arms.captured(update)


def step():
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(8):
            exchange()
    interior_alone()
    torch.cuda.current_stream().wait_stream(side)


arms.result('halo', *arms.pairs(interior_alone, step, 10, 30))
