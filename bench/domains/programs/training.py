# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Data-parallel training of a small model: 12 layers of width 512; gradients are reduced while the backward pass runs, by PyTorch's
DistributedDataParallel over NCCL or by two-shot all-reduces in symmetric memory."""
import torch
import torch.distributed as dist

import arms

kind = arms.kind_of_communication()
rank, device = arms.start(kind)
WIDTH, DEPTH, BATCH = 512, 12, 64
torch.manual_seed(1)
model = torch.nn.Sequential(*[m for _ in range(DEPTH) for m in (torch.nn.Linear(WIDTH, WIDTH), torch.nn.GELU())]).to(device, torch.bfloat16)
x = torch.randn(BATCH, WIDTH, device=device, dtype=torch.bfloat16)
group = dist.group.WORLD.group_name
side = torch.cuda.Stream()
reducing = True

if kind == 'nccl':
    trained = torch.nn.parallel.DistributedDataParallel(model, device_ids=[rank], bucket_cap_mb=1)
else:
    import torch.distributed._symmetric_memory as symmetric
    trained = model
    buckets = {}
    for p in model.parameters():
        # Two-shot all-reduce requires a multiple of 16 bytes for each GPU.
        size = (p.numel() + 1023) // 1024 * 1024
        buckets[p] = symmetric.empty(size, dtype=torch.bfloat16, device=device).zero_()
        symmetric.rendezvous(buckets[p], group)

    def reduce(p):
        if reducing:
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                own = buckets[p][:p.numel()].view_as(p)
                own.copy_(p.grad)
                torch.ops.symm_mem.two_shot_all_reduce_(buckets[p], 'sum', group)
                p.grad.copy_(own)

    for p in model.parameters():
        p.register_post_accumulate_grad_hook(reduce)


def backward():
    for p in model.parameters():
        p.grad = None
    trained(x).float().square().mean().backward()
    torch.cuda.current_stream().wait_stream(side)


def step_alone():
    global reducing
    reducing = False
    if kind == 'nccl':
        with trained.no_sync():
            backward()
    else:
        backward()
    reducing = True


for _ in range(3):
    backward()
arms.result(f'training/{kind}', *arms.pairs(step_alone, backward, 8, 15))
