#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What do all-reduces of a bfloat16 tensor cost in PyTorch: membar's in its symmetric memory (examples/pytorch_all_reduce.cu), PyTorch's own in
one shot and in two, and NCCL's by torch.distributed?

    torchrun --nproc-per-node 2 bench/symmetric/all_reduce_torch.py [--output <bench.json>]

All ways in one process of each GPU. A time is that of one of many in a row, captured in one graph; the launch of the graph is in it, for all
ways alike. The graphs of a size are replayed by turns. Needs PyTorch with CUDA, and nvcc for the extension.
"""
import argparse
import datetime
import os
import pathlib
import statistics
import sys

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symm_mem

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "examples"), str(ROOT / "bench" / "common")]
import include_hash  # noqa: E402
import pytorch_all_reduce  # noqa: E402
import results  # noqa: E402

MOST_IN_ONE_SHOT, MOST, REPLAYS = 1 << 20, 64 << 20, 9
DTYPE, ELEMENT = torch.bfloat16, 2


def captured(operation, rounds, stream):
    with torch.cuda.stream(stream):
        for _ in range(3):
            operation()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        for _ in range(rounds):
            operation()
    return graph


def nanoseconds_of(graph, rounds, stream):
    dist.barrier()
    torch.cuda.synchronize()
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    with torch.cuda.stream(stream):
        begin.record()
        graph.replay()
        end.record()
    stream.synchronize()
    return 1e6 * begin.elapsed_time(end) / rounds


def times_of(ways, rounds, stream):
    """Of one of many operations in a graph, for each way. The graphs end here: NCCL's communicator waits for the end of its own."""
    graphs = {way: captured(operation, rounds, stream) for way, operation in ways.items()}
    replays = [{way: nanoseconds_of(graph, rounds, stream) for way, graph in graphs.items()} for _ in range(REPLAYS + 1)]
    return {way: [each[way] for each in replays[1:]] for way in ways}  # the first one loads the graphs


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output")
    options = parser.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    group, count = dist.group.WORLD.group_name, dist.get_world_size()
    # As membar chooses, and each way for itself.
    chosen = pytorch_all_reduce.AllReduce("chosen", rank, DTYPE, MOST // ELEMENT)
    one_shot = pytorch_all_reduce.AllReduce("one_shot", rank, DTYPE, MOST_IN_ONE_SHOT // ELEMENT, MOST_IN_ONE_SHOT)
    two_shots = pytorch_all_reduce.AllReduce("two_shots", rank, DTYPE, MOST // ELEMENT, ELEMENT)
    stream = torch.cuda.Stream()
    found = []
    for size in (1 << shift for shift in range(10, MOST.bit_length(), 2)):
        shared = symm_mem.empty(size // ELEMENT, dtype=DTYPE, device=device)
        symm_mem.rendezvous(shared, group)
        shared.zero_()
        own = torch.zeros(size // ELEMENT, dtype=DTYPE, device=device)
        ways = {"membar": lambda: chosen.enqueue(own, own), "membar_two_shots": lambda: two_shots.enqueue(own, own),
                "torch_two_shots": lambda: torch.ops.symm_mem.two_shot_all_reduce_(shared, "sum", group),
                "torch_nccl": lambda: dist.all_reduce(own)}
        if size <= MOST_IN_ONE_SHOT:
            ways["membar_one_shot"] = lambda: one_shot.enqueue(own, own)
            ways["torch_one_shot"] = lambda: torch.ops.symm_mem.one_shot_all_reduce(shared, "sum", group)
        for way, times in sorted(times_of(ways, 100 if size <= MOST_IN_ONE_SHOT else 20, stream).items()):
            ns = statistics.median(times)
            name = f"all_reduce_torch/{way}/gpus:{count}/bytes:{size}"
            found += [{"name": name, "run_type": "iteration", "repetitions": REPLAYS, "repetition_index": i, "real_time": time, "time_unit": "ns"}
                      for i, time in enumerate(times)]
            if rank == 0:
                print(f"{name:55} {1e-3 * ns:10.2f} us  {size / ns:8.2f} GB/s", flush=True)
    if rank == 0 and options.output:
        context = {"date": datetime.date.today().isoformat(), "gpu": torch.cuda.get_device_name(rank), "gpu_count": str(count),
                   "torch": torch.__version__, "nccl": ".".join(map(str, torch.cuda.nccl.version())),
                   "include": include_hash.tree_hash(ROOT / "include").hexdigest()}
        pathlib.Path(options.output).write_text(results.text_of({"context": context, "benchmarks": found}), encoding="utf-8")
    torch.cuda.synchronize()
    dist.barrier()
    for each in (chosen, one_shot, two_shots):
        each.check()
        each.close()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
