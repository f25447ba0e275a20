#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the cost of all-reduces of a bfloat16 tensor in PyTorch: membar's in PyTorch's symmetric memory
(examples/pytorch_all_reduce.cu), PyTorch's own one-shot and two-shot versions, NCCL's through torch.distributed and, with a library built
from flashinfer_all_reduce.cu, FlashInfer's and vLLM's.

    torchrun --nproc-per-node 2 bench/symmetric/all_reduce_torch.py [--output <bench.json>] [--flashinfer <library>]

All methods run in one process per GPU. The input of PyTorch's and vLLM's methods is in symmetric memory, which they require;
the other methods accept any memory. Times are per all-reduce, over many consecutive all-reduces captured in one graph, and
include a share of the graph's launch time, which is equal for all methods. The graphs for one size are replayed in turn. The
script needs PyTorch with CUDA, and nvcc for the extension.
"""
import argparse
import ctypes
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


class OfFlashInfer:
    """The all-reduces of a FlashInfer checkout, in a library built from flashinfer_all_reduce.cu. `symmetric` allocates zeroed memory that
    all ranks can access, and returns its address on each rank."""

    HIDDEN, SIGNALS, FLAGS, RANK_DATA = 8192, 1 << 20, 1024, 4096

    def __init__(self, library, rank, count, symmetric):
        self.rank, self.count, self.made = rank, count, ctypes.CDLL(os.path.abspath(library))
        self.made.vllm_make.restype = ctypes.c_void_p
        one_shot = count * MOST_IN_ONE_SHOT
        self.parts = [symmetric(size) for size in (self.SIGNALS, count * MOST, count * self.FLAGS, 3 * one_shot)]
        self.parts[3][0].view(DTYPE).fill_(-0.0)  # -0.0 marks data that has not arrived
        self.rank_data = torch.zeros(self.RANK_DATA, dtype=torch.uint8, device="cuda")
        self.state = torch.tensor([0, 0, 0, one_shot, 0], dtype=torch.int32, device="cuda")
        addresses = [address for _, at in self.parts[1:] for address in at]
        self.workspace = torch.tensor([*addresses, self.state.data_ptr()], dtype=torch.int64, device="cuda")
        torch.cuda.synchronize()
        dist.barrier()

    def ways(self, own, shared, at_shared):
        """Returns the methods, keyed by name: each sums `own`, or the same values in `shared`, into its own output. The
        function first checks that each method computes the right sum."""
        out = torch.empty_like(own)
        hidden = min(self.HIDDEN, own.numel())
        array = ctypes.c_void_p * self.count
        vllm = self.made.vllm_make(array(*self.parts[0][1]), array(*at_shared), ctypes.c_void_p(self.rank_data.data_ptr()),
                                   ctypes.c_size_t(self.RANK_DATA), self.rank, self.count)

        def by_vllm():
            self.done(self.made.vllm_enqueue(ctypes.c_void_p(vllm), ctypes.c_void_p(out.data_ptr()), out.numel(), self.stream()))

        def by_flashinfer(one_shot):
            self.done(self.made.flashinfer_enqueue(
                ctypes.c_void_p(own.data_ptr()), ctypes.c_void_p(out.data_ptr()), out.numel(), ctypes.c_void_p(self.workspace.data_ptr()),
                self.rank, self.count, hidden, one_shot, self.stream()))

        found = {"vllm": by_vllm}
        if own.nbytes <= MOST_IN_ONE_SHOT:
            found["flashinfer_one_shot"] = lambda: by_flashinfer(True)
        if own.numel() // hidden >= self.count:
            found["flashinfer_two_shots"] = lambda: by_flashinfer(False)
        for way, operation in found.items():
            own.fill_(self.rank + 1)
            shared.fill_(self.rank + 1)
            out.zero_()
            torch.cuda.synchronize()
            dist.barrier()
            operation()
            torch.cuda.synchronize()
            if not bool((out == self.count * (self.count + 1) // 2).all()):
                raise SystemExit(f"{way}: wrong sums of {own.numel()} elements")
            dist.barrier()
        own.zero_()
        shared.zero_()
        torch.cuda.synchronize()
        return found

    @staticmethod
    def stream():
        return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)

    @staticmethod
    def done(went_well):
        if not went_well:
            raise SystemExit("an all-reduce of the library could not be launched")


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
    """Returns each method's time per operation, in a graph of many operations. The graphs are destroyed here, because
    NCCL's communicator waits until its graph has been destroyed."""
    graphs = {way: captured(operation, rounds, stream) for way, operation in ways.items()}
    replays = [{way: nanoseconds_of(graph, rounds, stream) for way, graph in graphs.items()} for _ in range(REPLAYS + 1)]
    return {way: [each[way] for each in replays[1:]] for way in ways}  # The first replay loads the graphs.


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--output")
    parser.add_argument("--flashinfer", help="the library built from flashinfer_all_reduce.cu")
    options = parser.parse_args()
    rank = int(os.environ["LOCAL_RANK"])
    device = torch.device("cuda", rank)
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    group, count = dist.group.WORLD.group_name, dist.get_world_size()
    # The variant that membar chooses, and each variant by itself.
    chosen = pytorch_all_reduce.AllReduce("chosen", rank, DTYPE, MOST // ELEMENT)
    one_shot = pytorch_all_reduce.AllReduce("one_shot", rank, DTYPE, MOST_IN_ONE_SHOT // ELEMENT, MOST_IN_ONE_SHOT)
    two_shots = pytorch_all_reduce.AllReduce("two_shots", rank, DTYPE, MOST // ELEMENT, ELEMENT)
    stream = torch.cuda.Stream()

    def symmetric(size):
        tensor = symm_mem.empty(size, dtype=torch.uint8, device=device)
        addresses = list(symm_mem.rendezvous(tensor, group).buffer_ptrs)
        tensor.zero_()
        return tensor, addresses

    flashinfer = OfFlashInfer(options.flashinfer, rank, count, symmetric) if options.flashinfer else None
    found = []
    for size in (1 << shift for shift in range(10, MOST.bit_length(), 2)):
        memory, addresses = symmetric(size)
        shared = memory.view(DTYPE)
        own = torch.zeros(size // ELEMENT, dtype=DTYPE, device=device)
        ways = {"membar": lambda: chosen.enqueue(own, own), "membar_two_shots": lambda: two_shots.enqueue(own, own),
                "torch_two_shots": lambda: torch.ops.symm_mem.two_shot_all_reduce_(shared, "sum", group),
                "torch_nccl": lambda: dist.all_reduce(own)}
        if size <= MOST_IN_ONE_SHOT:
            ways["membar_one_shot"] = lambda: one_shot.enqueue(own, own)
            ways["torch_one_shot"] = lambda: torch.ops.symm_mem.one_shot_all_reduce(shared, "sum", group)
        if flashinfer:
            ways.update(flashinfer.ways(own, shared, addresses))
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
