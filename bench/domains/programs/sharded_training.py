# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A training step with PyTorch's fully sharded data parallelism: NCCL gathers the parameters before a layer needs them and
reduces the gradients, on its own streams. The time without communication is measured with the same model on each GPU."""
import copy

import torch
from torch.distributed.fsdp import fully_shard

import arms

rank, device = arms.start()
WIDTH, DEPTH, BATCH = 1024, 12, 64
alone = torch.nn.Sequential(*[torch.nn.Sequential(torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.GELU(), torch.nn.Linear(4 * WIDTH, WIDTH))
                              for _ in range(DEPTH)]).to(device, torch.bfloat16)
sharded = copy.deepcopy(alone)
for layer in sharded:
    fully_shard(layer)
fully_shard(sharded)
x = torch.randn(BATCH, WIDTH, device=device, dtype=torch.bfloat16)


def step(model):
    for p in model.parameters():
        p.grad = None
    out = model(x).float().square().mean()
    out.backward()
    return out


for _ in range(3):
    step(alone), step(sharded)
out = arms.pairs(lambda: step(alone), lambda: step(sharded), 8, 15)
arms.result('sharded_training', *out, output=arms.digest(step(sharded)))
