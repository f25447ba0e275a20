# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A mixture of experts: this GPU's 8 small experts compute one micro-batch, while the tokens of the next micro-batch are sent
to their experts on a side stream. Half of the next micro-batch's experts are on the next GPU: a gather writes its output to
that GPU's memory."""
import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

import arms

rank, device = arms.start()
world = dist.get_world_size()
TOKENS, WIDTH, EXPERTS, PARTS = 4096, 1024, 8, 16
inbox = symmetric.empty(TOKENS * WIDTH, dtype=torch.bfloat16, device=device)
handle = symmetric.rendezvous(inbox, dist.group.WORLD.group_name)
to_peer = handle.get_buffer((rank + 1) % world, (TOKENS, WIDTH), torch.bfloat16)
tokens = torch.randn(TOKENS, WIDTH, device=device, dtype=torch.bfloat16)
order = torch.randperm(TOKENS, device=device)
parts = list(zip(order.split(TOKENS // PARTS), to_peer.split(TOKENS // PARTS)))
up = torch.randn(EXPERTS, WIDTH, 256, device=device, dtype=torch.bfloat16) * .02
down = torch.randn(EXPERTS, 256, WIDTH, device=device, dtype=torch.bfloat16) * .02
batch = torch.randn(EXPERTS, 16, WIDTH, device=device, dtype=torch.bfloat16)
side = torch.cuda.Stream()


def compute():
    h = batch
    for _ in range(8):
        h = h + torch.relu(h @ up) @ down
    return h


experts = arms.captured(compute)


def step(send=True):
    side.wait_stream(torch.cuda.current_stream())
    for _ in range(4):  # This runs longer on the device than the host needs to launch the following work.
        out = experts()
    if send:
        with torch.cuda.stream(side):
            for which, inbox_of_part in parts:
                torch.index_select(tokens, 0, which, out=inbox_of_part)
    torch.cuda.current_stream().wait_stream(side)
    return out


alone, beside = arms.pairs(lambda: step(False), step, 10, 20)
arms.result('experts', alone, beside, output=arms.digest(step()))
