# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A captured transformer step that runs during another micro-batch's all-reduce. With one GPU, the step instead runs while a
kernel (`offload`) or the copy engine (`copy`) moves a cache to the host, or without other work (`alone`). usage: decode.py KIND
MIB MODEL, where MIB is the size of the communication and MODEL is a key of MODELS."""
import sys

import torch
import torch.nn.functional as F

import arms

# the hidden size, layers, batch size, new tokens per sequence, keys, and heads
MODELS = {
    'small': (1024, 12, 4, 1, 256, 16),
    'large': (2048, 16, 8, 1, 256, 16),
    'batch_1': (2048, 16, 1, 1, 256, 16),
    'batch_32': (2048, 16, 32, 1, 256, 16),
    'prefill': (2048, 16, 1, 512, 512, 16)
}
kind = arms.kind_of_communication()
rank, device = arms.start(kind)
mib = int(sys.argv[2]) if len(sys.argv) > 2 else 64
model = sys.argv[3] if len(sys.argv) > 3 else 'small'
HIDDEN, LAYERS, BATCH, TOKENS, KEYS, HEADS = MODELS[model]


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
tokens = random(BATCH * TOKENS, HIDDEN)


def step():
    h = tokens
    for layer in layers:
        q, _, _ = (F.rms_norm(h, (HIDDEN,), ones) @ layer['qkv']).view(BATCH, TOKENS, HEADS, 3, HIDDEN // HEADS).transpose(1, 2).unbind(3)
        weights = torch.softmax(q @ layer['keys'].transpose(-1, -2) * (HIDDEN // HEADS)**-.5, -1)
        h = h + (weights @ layer['values']).transpose(1, 2).reshape(BATCH * TOKENS, HIDDEN) @ layer['out']
        h = h + F.silu(F.rms_norm(h, (HIDDEN,), ones) @ layer['up']) @ layer['down']
    return h


if kind == 'alone':
    arms.without_communication('decode', step)
else:
    arms.by_turns(f'decode_{model}/{kind}{mib}', arms.captured(step), arms.beside(kind, mib, device))
