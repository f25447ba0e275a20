#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""membar's all-reduce as PyTorch operators, in PyTorch's symmetric memory. A tensor-parallel layer uses the operators, and
torch.compile traces the layer without a graph break. The layer's results are compared with NCCL's, and a CUDA graph of the
layer is replayed with new data each time.

    torchrun --nproc-per-node 2 examples/pytorch_all_reduce.py

On a machine with one GPU, the processes take turns on it, which is correct but slow.
"""

import os
import pathlib
import sys

os.environ.setdefault("TORCH_SYMM_MEM_DISABLE_MULTICAST", "1")  # No multicast object is needed, and some machines cannot create one.
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
except (ImportError, RuntimeError):  # in a clone of the repository
    sys.path.insert(0, str(HERE.parent / "tools" / "python"))
    import membar
    INCLUDE = str(HERE.parent / "include")

WIDTH, MOST, REPLAYS = 1024, 1 << 20, 10_000
_made = {}  # The all-reduces that the operators use, by name.


def extension(rank):
    """Compiles the extension in the first process; the others load the result."""
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", "{}.{}".format(*torch.cuda.get_device_capability()))
    for turn in (True, False):
        if (rank == 0) == turn:
            made = load("membar_all_reduce", [str(HERE / "pytorch_all_reduce.cu")], extra_include_paths=[INCLUDE],
                        extra_cflags=["-std=c++20"], extra_cuda_cflags=["-std=c++20"])
        dist.barrier()
    return made


class AllReduce:
    """All-reduces of tensors of one type in a group. The operators find such an object by its name. Construction is collective."""

    def __init__(self, name, rank, dtype, most, most_in_one_shot=0):
        element = torch.empty((), dtype=dtype).element_size()
        device = torch.device("cuda", torch.cuda.current_device())
        self._tensor = symm_mem.empty(64 * (1 << 20) + 4 * most * element, dtype=torch.uint8, device=device)
        memory = membar.adopted_memory(self._tensor, dist.group.WORLD)
        of_type = getattr(extension(rank), str(dtype).removeprefix("torch."))
        self._all = of_type(memory.rank, memory.addresses, memory.bytes, memory.all_gather, most, most_in_one_shot)
        self.enqueue, self.enqueue_with_norm, self.check = self._all.enqueue, self._all.enqueue_with_norm, self._all.check
        self._name = name
        _made[name] = self

    def close(self):
        """Ends the all-reduces. This call is collective, and mismatched calls are detected."""
        _made.pop(self._name, None)
        self._all.close()


@torch.library.custom_op("membar::all_reduce", mutates_args=())
def all_reduce(values: torch.Tensor, name: str) -> torch.Tensor:
    out = torch.empty_like(values)
    _made[name].enqueue(values, out)
    return out


@all_reduce.register_fake
def _(values, name):
    return torch.empty_like(values)


@torch.library.custom_op("membar::all_reduce_", mutates_args=("values",))
def all_reduce_(values: torch.Tensor, name: str) -> None:
    _made[name].enqueue(values, values)


@torch.library.custom_op("membar::all_reduce_rms_norm", mutates_args=("residual",))
def all_reduce_rms_norm(values: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor, epsilon: float, name: str) -> torch.Tensor:
    out = torch.empty_like(values)
    _made[name].enqueue_with_norm(values, residual, weight, epsilon, out)
    return out


@all_reduce_rms_norm.register_fake
def _(values, residual, weight, epsilon, name):
    return torch.empty_like(values)


class RowParallelLinear(torch.nn.Module):
    """A layer whose input features are divided among the processes; it replaces a layer that calls dist.all_reduce."""

    def __init__(self, width, count, name, **how):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.randn(width, width // count, **how) / width**0.5, requires_grad=False)
        self.norm = torch.nn.Parameter(torch.ones(width, **how), requires_grad=False)
        self.name = name

    def forward(self, part, residual):
        sums = torch.ops.membar.all_reduce(part @ self.weight.t(), self.name)
        normal = torch.ops.membar.all_reduce_rms_norm(part @ self.weight.t(), residual, self.norm, 1e-6, self.name)
        return sums, normal

    def by_nccl(self, part, residual):
        sums = part @ self.weight.t()
        dist.all_reduce(sums)
        residual.add_(sums)
        return sums, torch.nn.functional.rms_norm(residual.float(), (residual.shape[-1],), self.norm.float(), 1e-6).to(part.dtype)


def check_layer(count, device):
    """Compares the layer, compiled in one graph and replayed in a CUDA graph, with NCCL's results."""
    how = {"dtype": torch.bfloat16, "device": device}
    layer = RowParallelLinear(WIDTH, count, "example", **how)
    part, residual = torch.randn(16, WIDTH // count, **how), torch.randn(16, WIDTH, **how)
    dist.broadcast(residual, 0)  # The residual must be the same in every process.
    compiled = torch.compile(layer, fullgraph=True)
    found, wanted = compiled(part, residual.clone()), layer.by_nccl(part, residual.clone())
    for one, other in zip(found, wanted):
        torch.testing.assert_close(one, other, rtol=2e-2, atol=2e-2)


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
    alone = int(os.environ["LOCAL_WORLD_SIZE"]) <= gpus  # each process on its own GPU
    if alone:
        dist.init_process_group("nccl", device_id=device)
    else:  # NCCL rejects this. PyTorch's symmetric memory also rejects it unless this option is set.
        os.environ["TORCH_SYMM_MEM_ALLOW_OVERLAPPING_DEVICES"] = "1"
        dist.init_process_group("gloo")
    count = dist.get_world_size()
    sums = AllReduce("example", rank, torch.bfloat16, MOST)
    if alone:
        check_layer(count, device)

    wrong = torch.zeros((), dtype=torch.int64, device=device)
    step = torch.zeros((), device=device)
    # the first vector is reduced in one shot, the second in two
    vectors = [torch.empty(size, device=device, dtype=torch.bfloat16) for size in (16384, MOST)]

    def work():  # Small whole numbers, so that sums are exact.
        step.add_(1)
        for values in vectors:
            values.copy_(((torch.arange(values.numel(), device=device) + step) % 16) * (rank + 1))
            mine = values.float()
            torch.ops.membar.all_reduce_(values, "example")
            wrong.add_((values.float() * (rank + 1) != mine * (count * (count + 1) // 2)).sum())

    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        work()
    stream.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream):
        work()
    replays = REPLAYS if alone else REPLAYS // 100
    for _ in range(replays):
        graph.replay()
    torch.cuda.synchronize()
    sums.check()
    print(f"PyTorch {torch.__version__}, PE {rank} of {count}: {replays} replays, {wrong.item()} sums are wrong")
    del graph
    sums.close()
    dist.destroy_process_group()
    return 0 if wrong.item() == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
