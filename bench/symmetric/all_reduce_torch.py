#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What do PyTorch's all-reduces cost: those of its symmetric memory, in one shot and in two, and NCCL's by torch.distributed?

    torchrun --nproc-per-node 2 all_reduce_torch.py [--output <bench.json>]

Times are measured as in all_reduce_latency.cu: of many in a row, captured in one graph, so that none is the host's. Needs PyTorch with CUDA.
"""
import argparse
import json
import os

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

MOST_IN_ONE_SHOT, MOST = 1 << 20, 64 << 20


def nanoseconds_of(operation, size):
    """Of one of many operations in a graph; the median of nine replays."""
    rounds = 100 if size <= 1 << 20 else 20
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            operation()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(rounds):
            operation()
    times = []
    for _ in range(10):
        dist.barrier()
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(stream):
            begin.record()
            graph.replay()
            end.record()
        stream.synchronize()
        times.append(1e6 * begin.elapsed_time(end) / rounds)
    return sorted(times[1:])[4]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output")
    options = parser.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    group, count = dist.group.WORLD.group_name, dist.get_world_size()
    found = []
    size = 1024
    while size <= MOST:
        shared = symm_mem.empty(size // 4, dtype=torch.float32, device=f"cuda:{rank}")
        symm_mem.rendezvous(shared, group)
        shared.zero_()
        own = torch.zeros(size // 4, device=f"cuda:{rank}")
        ways = {"torch_two_shots": lambda: torch.ops.symm_mem.two_shot_all_reduce_(shared, "sum", group),
                "torch_nccl": lambda: dist.all_reduce(own)}
        if size <= MOST_IN_ONE_SHOT:
            ways["torch_one_shot"] = lambda: torch.ops.symm_mem.one_shot_all_reduce(shared, "sum", group)
        for way, operation in ways.items():
            ns = nanoseconds_of(operation, size)
            found.append({"name": f"all_reduce_latency/{way}/gpus:{count}/bytes:{size}", "ns": ns})
            if rank == 0:
                print(f"{found[-1]['name']:55} {1e-3 * ns:10.2f} us  {size / ns:8.2f} GB/s", flush=True)
        size *= 4
    if rank == 0 and options.output:
        with open(options.output, "w", encoding="utf-8") as file:
            json.dump({"torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version())),
                       "device": torch.cuda.get_device_name(rank), "found": found}, file, indent=1)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
