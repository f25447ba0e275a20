# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's one-shot and two-shot all-reduce in symmetric memory, started by torchrun with one process per rank."""

import os

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
torch.cuda.set_device(rank % torch.cuda.device_count())
dist.init_process_group("gloo")
values = symm_mem.empty(256, dtype=torch.float32, device="cuda")
symm_mem.rendezvous(values, dist.group.WORLD)
values.fill_(rank + 1)
torch.cuda.synchronize()
dist.barrier()
expected = world * (world + 1) / 2
summed = torch.ops.symm_mem.one_shot_all_reduce(values, "sum", dist.group.WORLD.group_name)
torch.cuda.synchronize()
dist.barrier()
torch.ops.symm_mem.two_shot_all_reduce_(values, "sum", dist.group.WORLD.group_name)
torch.cuda.synchronize()
dist.barrier()
assert (summed == expected).all() and (values == expected).all(), (summed[0], values[0])
print("right")
