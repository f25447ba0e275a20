# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A halo exchange: each step sends 8 boundaries of 16 MiB into the next GPU's memory on a side stream while short kernels
update the interior, and ends when both have finished. With the argument `small` it sends 32 boundaries of 2 MiB, whose blocks
do not fill the multiprocessors, from a buffer that it fills first. In this case, all launches are of one kernel and differ only
in their pointers."""
import sys

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

import arms

rank, device = arms.start()
world = dist.get_world_size()
small = 'small' in sys.argv[1:]
count = (2 if small else 16) * arms.MIB // 4
halo = symmetric.empty(count, dtype=torch.float32, device=device)
handle = symmetric.rendezvous(halo, dist.group.WORLD.group_name)
theirs = handle.get_buffer((rank + 1) % world, (count,), torch.float32)
boundary = torch.randn(count, device=device)
staged = torch.empty(4096, device=device)
interior = torch.randn(64 if small else 512, 1024, device=device)
side = torch.cuda.Stream()


def update(kernels=100):
    for _ in range(kernels):
        torch.neg(interior, out=interior) if small else interior.mul_(.999)


def exchange():
    if small:
        torch.neg(boundary[:4096], out=staged)
    torch.neg(boundary, out=theirs)  # A kernel that stores to the peer.


once = arms.captured(update)


def interior_alone():
    for _ in range(6 if small else 1):  # This runs as long as the host needs to launch the small parts.
        once()


def step():
    side.wait_stream(torch.cuda.current_stream())
    interior_alone()
    with torch.cuda.stream(side):
        for _ in range(32 if small else 8):
            exchange()
    torch.cuda.current_stream().wait_stream(side)


arms.result('halo_small' if small else 'halo', *arms.pairs(interior_alone, step, 10, 30))
