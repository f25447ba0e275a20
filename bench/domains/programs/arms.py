# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the PyTorch programs here share: a step, timed alone and beside communication on a side stream, by turns in one process. They
know nothing of membar. Run them by torch.distributed.run; rank 0 prints RESULT and a line of JSON."""
import json
import os
import sys

import torch
import torch.distributed as dist

MIB = 1 << 20


def start():
    """Returns this process's rank and device; one process drives one GPU. Without communication there is one process."""
    if kind_of_communication() == 'alone':
        torch.cuda.set_device(0)
        return 0, 'cuda:0'
    rank = int(os.environ['RANK'])
    torch.cuda.set_device(rank)
    dist.init_process_group('nccl', device_id=torch.device('cuda', rank))
    return rank, f'cuda:{rank}'


class Communication:
    """All-reduces of `mib` MiB on a side stream, by NCCL or by PyTorch's symmetric memory (two-shot)."""

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


def captured(step):
    for _ in range(3):
        step()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        step()
    return graph.replay


def times_of(step, count):
    """The step's times on the device, in us."""
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
    return {'p50': round(percentile(values, .5), 3), 'p99': round(percentile(values, .99), 3), 'count': len(values)}


def pairs(alone, beside, rounds, count):
    """The times of `count` steps alone, then of as many beside, `rounds` times."""
    out = [], []
    for _ in range(rounds):
        for times, step in zip(out, (alone, beside)):
            dist.barrier()
            torch.cuda.synchronize()
            times += times_of(step, count)
    return out


def by_turns(program, step, communication, divide=1, rounds=8, steps=40, launches=250):
    """`steps` steps alone, then beside `launches` of the communication, `rounds` times; prints what a step took."""
    communication.enqueue(8)
    times_of(step, 5)
    alone, beside, overlapped = [], [], 0
    for _ in range(rounds):
        dist.barrier()
        torch.cuda.synchronize()
        alone += times_of(step, steps)
        dist.barrier()
        torch.cuda.synchronize()
        communication.enqueue(launches)
        for _ in range(steps):
            once = times_of(step, 1)
            if communication.stream.query():  # the communication was over before the step was
                break
            beside += once
        overlapped += not communication.stream.query()
        torch.cuda.synchronize()
    result(program, alone, beside, divide, overlapped=f'{overlapped} of {rounds}')


def result(program, alone, beside, divide=1, **more):
    if dist.get_rank() == 0:
        arms = {name: summary([v / divide for v in values]) if values else None for name, values in (('alone', alone), ('beside', beside))}
        print('RESULT', json.dumps({'program': program, 'unit': 'us', 'gpus': dist.get_world_size(), **arms, **more}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


def without_communication(program, step, steps=1500):
    """`steps` steps as a graph, then a fifth as many launch by launch; prints what a step took."""
    times = {}
    for how, once, count in (('graph', captured(step), steps), ('eager', step, steps // 5)):
        times_of(once, 50)
        times[how] = summary(times_of(once, count))
    print('RESULT', json.dumps({'program': program, 'unit': 'us', 'gpus': 1, **times}), flush=True)


def kind_of_communication():
    kind = sys.argv[1] if len(sys.argv) > 1 else 'symm'
    if kind not in ('symm', 'nccl', 'alone'):
        sys.exit(f"the communication is '{kind}': write symm, nccl or alone")
    return kind
