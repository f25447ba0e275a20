#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""membar's all-reduces in PyTorch's symmetric memory, captured in a CUDA graph and replayed with other data each time.

    torchrun --nproc-per-node 2 examples/pytorch_all_reduce.py

On a machine with one GPU the processes take turns on it: right, and slow.
"""

import os
import pathlib
import sys

os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")  # no multicast object is needed, and some machines make none
os.environ.setdefault("NCCL_NVLS_ENABLE", "0")

try:
    import torch
    import torch.distributed as dist
    import torch.distributed._symmetric_memory as symm_mem
    from torch.utils.cpp_extension import load
except ImportError as why:
    print(f"SKIPPED: no PyTorch with symmetric memory: {why}")
    sys.exit(77)

HERE = pathlib.Path(__file__).resolve().parent
try:
    import membar  # pip install membar
    INCLUDE = membar.include_path()
except (ImportError, RuntimeError):  # or a clone
    sys.path.insert(0, str(HERE.parent / "tools" / "python"))
    import membar
    INCLUDE = str(HERE.parent / "include")

SMALL, LARGE, REPLAYS = 16384, 1 << 20, 1000


def operators(rank):
    """The extension: the first process compiles it, the others find it compiled."""
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "{}.{}".format(*torch.cuda.get_device_capability()))
    for turn in (True, False):
        if (rank == 0) == turn:
            made = load("membar_all_reduce", [str(HERE / "pytorch_all_reduce.cu")], extra_include_paths=[INCLUDE],
                        extra_cflags=["-std=c++20"], extra_cuda_cflags=["-std=c++20"])
        dist.barrier()
    return made


def main():
    gpus = torch.cuda.device_count()
    if gpus == 0:
        print("SKIPPED: an all-reduce needs a GPU")
        return 77
    if "LOCAL_RANK" not in os.environ:  # started without torchrun
        os.execv(sys.executable, [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", __file__])
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", rank % gpus)
    torch.cuda.set_device(device)
    if int(os.environ["LOCAL_WORLD_SIZE"]) <= gpus:
        dist.init_process_group("nccl", device_id=device)
    else:  # which NCCL refuses, and PyTorch's symmetric memory too, if it is not told
        os.environ["TORCH_SYMM_MEM_ALLOW_OVERLAPPING_DEVICES"] = "1"
        dist.init_process_group("gloo")
    count = dist.get_world_size()

    workspace = symm_mem.empty(32 << 20, dtype=torch.uint8, device=device)
    memory = membar.adopted_memory(workspace, dist.group.WORLD)
    sums = operators(rank).AllReduces(memory.rank, memory.addresses, memory.bytes, memory.all_gather, SMALL, LARGE)

    wrong = torch.zeros((), dtype=torch.int64, device=device)
    step = torch.zeros((), device=device)
    small, large = torch.empty(SMALL, device=device), sums.buffer()

    def work():  # whole numbers, so that sums are exact
        step.add_(1)
        for values, add in ((small, lambda: sums.one_shot(small)), (large, lambda: sums.two_shots(LARGE))):
            values.copy_((torch.arange(values.numel(), device=device) % 64 + step) * (rank + 1))
            mine = values.clone()
            add()
            wrong.add_((values * (rank + 1) != mine * (count * (count + 1) // 2)).sum())

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        work()
    for _ in range(REPLAYS):
        graph.replay()
    torch.cuda.synchronize()
    print(f"PyTorch {torch.__version__}, PE {rank} of {count}: {REPLAYS} replays, {wrong.item()} sums are wrong")
    dist.destroy_process_group()
    return 0 if wrong.item() == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
