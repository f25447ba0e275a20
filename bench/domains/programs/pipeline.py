# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A pipeline: each GPU computes micro-batches through 8 small layers, and writes each micro-batch's activations (32 MiB) into
the next GPU's memory on a side stream while it computes the next micro-batch."""
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

import arms

rank, device = arms.start()
world = dist.get_world_size()
BATCHES, ROWS, WIDTH = 8, 8192, 2048
inbox = symmetric.empty(ROWS * WIDTH, dtype=torch.bfloat16, device=device)
handle = symmetric.rendezvous(inbox, dist.group.WORLD.group_name)
next_inbox = handle.get_buffer((rank + 1) % world, (ROWS, WIDTH), torch.bfloat16)
weights = [torch.randn(WIDTH, 64, device=device, dtype=torch.bfloat16) * .02 for _ in range(8)]
back = [torch.randn(64, WIDTH, device=device, dtype=torch.bfloat16) * .02 for _ in range(8)]
activations = torch.randn(ROWS, WIDTH, device=device, dtype=torch.bfloat16)
small = torch.randn(16, WIDTH, device=device, dtype=torch.bfloat16)
side = torch.cuda.Stream()


def compute():
    h = small
    for a, b in zip(weights, back):
        h = torch.relu(h @ a @ b)
        h = h / (1 + h.abs().amax(-1, keepdim=True))
    return h


stage = arms.captured(compute)


def step(send=True):
    for _ in range(BATCHES):
        stage()
        if send:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                torch.neg(activations, out=next_inbox)
    torch.cuda.current_stream().wait_stream(side)


arms.result('pipeline', *arms.pairs(lambda: step(False), step, 10, 20))
