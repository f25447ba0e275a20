# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code shared by the PyTorch programs in this folder. It times a step without communication and a step during communication on
a side stream, alternating within one process. The programs do not use membar. Run them with torch.distributed.run; rank 0
prints RESULT and a line of JSON."""
import hashlib
import json
import os
import sys
import time

import torch
import torch.distributed as dist

MIB = 1 << 20


def start(kind='symm'):
    """Returns this process's rank and device. Each process uses one GPU; without communication there is only one process."""
    if kind in ('alone', 'offload', 'copy'):
        torch.cuda.set_device(0)
        torch.manual_seed(1)
        return 0, 'cuda:0'
    rank = int(os.environ['RANK'])
    torch.cuda.set_device(rank)
    torch.manual_seed(1)
    dist.init_process_group('nccl', device_id=torch.device('cuda', rank))
    return rank, f'cuda:{rank}'


class Offload:
    """Copies `mib` MiB to pinned host memory on a side stream, as a program that offloads a key-value cache does: with a
    kernel, or with the copy engine (`copy`)."""

    CODE = r'''extern "C" __global__ void offload_cache(uint4* host, const uint4* cache, unsigned long long count) {
      for (auto i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) { host[i] = cache[i]; }
    }'''

    def __init__(self, mib, device, by_kernel):
        self.stream = torch.cuda.Stream()
        self.cache = torch.zeros(mib * MIB, dtype=torch.uint8, device=device)
        self.host = torch.zeros(mib * MIB, dtype=torch.uint8, pin_memory=True)
        self.copy = self.by_kernel() if by_kernel else lambda: self.host.copy_(self.cache, non_blocking=True)

    def by_kernel(self):
        import cupy
        kernel = cupy.RawKernel(self.CODE, 'offload_cache')
        stream = cupy.cuda.ExternalStream(self.stream.cuda_stream)
        words = (self.host.data_ptr(), self.cache.data_ptr(), cupy.uint64(self.cache.numel() // 16))
        return lambda: kernel((16,), (1024,), words, stream=stream)

    def enqueue(self, rounds):
        with torch.cuda.stream(self.stream):
            for _ in range(rounds):
                self.copy()


class Communication:
    """Runs all-reduces of `mib` MiB on a side stream, with NCCL or PyTorch's symmetric memory (two-shot)."""

    def __init__(self, kind, mib, device):
        self.kind = kind
        self.stream = torch.cuda.Stream()
        self.group = dist.group.WORLD.group_name
        count = mib * MIB // 2
        if kind == 'symm':
            import torch.distributed._symmetric_memory as symmetric
            self.buffer = symmetric.empty(count, dtype=torch.bfloat16, device=device)
            self.handle = symmetric.rendezvous(self.buffer, self.group)
        else:
            self.buffer = torch.empty(count, dtype=torch.bfloat16, device=device)
        self.buffer.zero_()

    def enqueue(self, rounds):
        with torch.cuda.stream(self.stream):
            for _ in range(rounds):
                if self.kind == 'symm':
                    torch.ops.symm_mem.two_shot_all_reduce_(self.buffer, 'sum', self.group)
                else:
                    dist.all_reduce(self.buffer)


def beside(kind, mib, device):
    """Returns the work that runs concurrently with the step."""
    return Offload(mib, device, kind == 'offload') if kind in ('offload', 'copy') else Communication(kind, mib, device)


def together():
    """Waits until all processes have reached this point. A single process returns immediately."""
    if dist.is_initialized():
        dist.barrier()


def captured(step):
    """Returns a function that replays the step's graph and returns the step's result."""
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        out = step()

    def replay():
        graph.replay()
        return out

    return replay


def digest(tensor):
    """Returns a hash of the tensor's bits, to compare the outputs of runs."""
    torch.cuda.synchronize()
    return hashlib.sha256(tensor.detach().reshape(-1).view(torch.uint8).cpu().numpy().tobytes()).hexdigest()[:16]


def times_of(step, count):
    """Returns the step's times on the device, in microseconds."""
    out = []
    for _ in range(count):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        step()
        last.record()
        last.synchronize()
        out.append(first.elapsed_time(last) * 1000)
    return out


def percentile(values, fraction):
    values = sorted(values)
    return values[int(fraction * (len(values) - 1))]


def summary(values):
    """`low` and `high` bound the 95 % interval of the median, assuming that steps are independent of each other."""
    half = .98 / len(values)**.5
    return {
        **{name: round(percentile(values, min(max(at, 0), 1)), 3) for name, at in (('p50', .5), ('low', .5 - half), ('high', .5 + half), ('p99', .99))},
        'count': len(values)
    }


def rounds(count):
    """Yields `count` times or, if ARMS_SECONDS is set, for that many seconds; rank 0 tells the other processes when the time is
    up."""
    seconds = float(os.environ.get('ARMS_SECONDS', 0))
    end = time.monotonic() + seconds
    done = 0
    while True:
        go_on = time.monotonic() < end if seconds else done < count
        if seconds and dist.is_initialized():
            told = torch.tensor([go_on], device='cuda')
            dist.broadcast(told, 0)
            go_on = bool(told.item())
        if not go_on:
            return
        yield done
        done += 1


def pairs(alone, beside, times, count):
    """Times `count` steps alone and then as many during communication, and repeats this `times` times."""
    out = [], []
    for _ in rounds(times):
        for side, step in zip(out, (alone, beside)):
            dist.barrier()
            torch.cuda.synchronize()
            side += times_of(step, count)
    return out


def by_turns(program, step, communication, divide=1, times=8, steps=40):
    """Times `steps` steps alone and then during communication, in `times` rounds. Prints the time of a step."""
    launches = 700 if isinstance(communication, Offload) else 250
    communication.enqueue(8)
    times_of(step, 5)
    alone, beside, overlapped, done = [], [], 0, 0
    for done in rounds(times):
        together()
        torch.cuda.synchronize()
        alone += times_of(step, steps)
        together()
        torch.cuda.synchronize()
        communication.enqueue(launches)
        for _ in range(steps):
            once = times_of(step, 1)
            if communication.stream.query():  # The communication ended before the step.
                break
            beside += once
        overlapped += not communication.stream.query()
        torch.cuda.synchronize()
    communication.enqueue(8)
    last = step()
    result(program, alone, beside, divide, overlapped=f'{overlapped} of {done + 1}', output=None if last is None else digest(last))


def result(program, alone, beside, divide=1, **more):
    """Prints a step's time alone, its time during communication, and its time in the last quarter of the steps during
    communication."""
    many = dist.is_initialized()
    if not many or dist.get_rank() == 0:
        sides = (('alone', alone), ('beside', beside), ('beside_late', beside[len(beside) * 3 // 4:]))
        arms = {name: summary([v / divide for v in values]) if values else None for name, values in sides}
        print('RESULT', json.dumps({'program': program, 'unit': 'us', 'gpus': dist.get_world_size() if many else 1, **arms, **more}), flush=True)
    if many:
        dist.barrier()
        dist.destroy_process_group()


def without_communication(program, step, steps=1500):
    """Times `steps` steps as a graph, and then a fifth as many launch by launch. Prints the time of a step."""
    times = {}
    for how, once, count in (('graph', captured(step), steps), ('eager', step, steps // 5)):
        times_of(once, 50)
        times[how] = summary(times_of(once, count))
    print('RESULT', json.dumps({'program': program, 'unit': 'us', 'gpus': 1, **times}), flush=True)


def kind_of_communication():
    kind = sys.argv[1] if len(sys.argv) > 1 else 'symm'
    if kind not in ('symm', 'nccl', 'offload', 'copy', 'alone'):
        sys.exit(f"'{kind}' is not a kind of communication: write symm, nccl, offload, copy or alone")
    return kind
