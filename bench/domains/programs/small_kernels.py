# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A captured graph of 400 small kernels during an all-reduce of 64 MiB or, on one GPU, during a copy to the host (`offload`,
`copy`). It reports the time per kernel. The second argument is the number of elements to which each kernel adds 1 (default:
2048, which is 8 KiB)."""
import sys

import torch

import arms

kind = arms.kind_of_communication()
rank, device = arms.start(kind)
x = torch.zeros(int(sys.argv[2]) if len(sys.argv) > 2 else 2048, device=device)
KERNELS = 400


def step():
    for _ in range(KERNELS):
        x.add_(1)


arms.by_turns(f'small_kernels/{kind}', arms.captured(step), arms.beside(kind, 64, device), divide=KERNELS)
