# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A captured graph of 400 small kernels beside an all-reduce of 64 MiB; the time of one kernel."""
import torch

import arms

rank, device = arms.start()
x = torch.zeros(16, 128, device=device)
KERNELS = 400


def step():
    for _ in range(KERNELS):
        x.add_(1)


kind = arms.kind_of_communication()
arms.by_turns(f'small_kernels/{kind}', arms.captured(step), arms.Communication(kind, 64, device), divide=KERNELS)
