# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A captured decode step of a transformer of 12 layers (hidden 1024, batch 4, 256 keys) beside the all-reduce of another
micro-batch, beside a cache that is moved out to the host (by a kernel: `offload`, by the copy engine: `copy`; one GPU), or beside nothing: `alone`."""
import sys

import torch
import torch.nn.functional as F

import arms

kind = arms.kind_of_communication()
rank, device = arms.start(kind)
HIDDEN, LAYERS, BATCH, KEYS, HEADS = 1024, 12, 4, 256, 16
mib = int(sys.argv[2]) if len(sys.argv) > 2 else 64


def random(*shape):
    return torch.randn(*shape, device=device, dtype=torch.bfloat16)


layers = [{
    'qkv': random(HIDDEN, 3 * HIDDEN) * .02,
    'out': random(HIDDEN, HIDDEN) * .02,
    'up': random(HIDDEN, 4 * HIDDEN) * .02,
    'down': random(4 * HIDDEN, HIDDEN) * .02,
    'keys': random(BATCH, HEADS, KEYS, HIDDEN // HEADS),
    'values': random(BATCH, HEADS, KEYS, HIDDEN // HEADS)
} for _ in range(LAYERS)]
ones = torch.ones(HIDDEN, device=device, dtype=torch.bfloat16)
token = random(BATCH, HIDDEN)


def step():
    h = token
    for layer in layers:
        q, _, _ = (F.rms_norm(h, (HIDDEN,), ones) @ layer['qkv']).view(BATCH, HEADS, 3, 1, HIDDEN // HEADS).unbind(2)
        weights = torch.softmax(q @ layer['keys'].transpose(-1, -2) * (HIDDEN // HEADS)**-.5, -1)
        h = h + (weights @ layer['values']).reshape(BATCH, HIDDEN) @ layer['out']
        h = h + F.silu(F.rms_norm(h, (HIDDEN,), ones) @ layer['up']) @ layer['down']
    return h


if kind == 'alone':
    arms.without_communication('decode', step)
else:
    arms.by_turns(f'decode/{kind}{mib}', arms.captured(step), arms.beside(kind, mib, device))
