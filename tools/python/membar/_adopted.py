# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's symmetric memory, as `membar::symmetric::adopted_backend` takes it."""

import datetime
import typing

_adopted = {}  # how many times each group has adopted, which is the same in all of its processes


class AdoptedMemory(typing.NamedTuple):
    """The arguments of `membar::symmetric::adopted_memory`, and the callback beside it."""

    rank: int
    addresses: typing.List[int]  # by rank: where its tensor begins, as this process's GPU reaches it
    bytes: int
    all_gather: typing.Callable[[int], typing.List[int]]


class _Gathering:
    """Gathers a number from every process by a store, so that no kernel is launched."""

    def __init__(self, store, rank, count, budget):
        self._store, self._rank, self._count, self._budget, self._round = store, rank, count, budget, 0
        self._failure = None

    def __call__(self, mine):
        if self._failure is not None:  # it is out of step with the others
            raise self._failure
        self._failure = RuntimeError("membar: an earlier collective call failed: see its exception, and start all processes again")
        keys = [f"{self._round}/{each}" for each in range(self._count)]
        self._store.set(keys[self._rank], str(mine))
        try:
            self._store.wait(keys, self._budget)
        except Exception as why:
            missing = [each for each in range(self._count) if not self._store.check([keys[each]])]
            self._failure = TimeoutError(
                f"membar: ranks {missing} did not join a collective call within {self._budget.total_seconds():g} s: they "
                "ended or make other calls; every process makes the same calls in one order")
            raise self._failure from why
        numbers = [int(self._store.get(key)) for key in keys]
        if self._round >= 2:  # all have read it: they have given the number after it
            self._store.delete_key(f"{self._round - 2}/{self._rank}")
        self._round += 1
        self._failure = None
        return numbers


def adopted_memory(tensor, group=None, *, seconds=60):
    """A tensor of `torch.distributed._symmetric_memory.empty` as memory that membar's C++ side adopts. Collective in `group`.

    Every process of the group calls it with a tensor of one size. Nobody else uses the tensor while it is adopted, and the caller keeps
    it. A collective call of the C++ side that not all join within `seconds` is a TimeoutError, and so is every later one. Errors:
    RuntimeError without PyTorch's symmetric memory, or where loads and stores do not reach every process's memory; ValueError for a
    tensor that is no such memory.
    """
    try:
        import torch.distributed as dist
        import torch.distributed._symmetric_memory as symm_mem
        from torch.distributed import distributed_c10d
    except ImportError as why:
        raise RuntimeError(f"membar: this PyTorch has no symmetric memory ({why}): install PyTorch 2.6 or newer with CUDA") from why
    if not dist.is_initialized():
        raise RuntimeError("membar: memory was to be adopted without a process group: call torch.distributed.init_process_group first")
    group = dist.group.WORLD if group is None else group
    if not tensor.is_cuda or not tensor.is_contiguous():
        raise ValueError("membar: a tensor was to be adopted that is not contiguous on a GPU: make it by symm_mem.empty")
    handle = symm_mem.rendezvous(tensor, group.group_name)
    if handle is None:
        raise ValueError("membar: PyTorch found no symmetric memory in the tensor: make it by symm_mem.empty")
    rank, count, buffers = handle.rank, handle.world_size, [int(each) for each in handle.buffer_ptrs]
    size = tensor.numel() * tensor.element_size()
    # The tensor may begin after its buffer: its own address says where, whatever the version of PyTorch.
    offset = tensor.data_ptr() - buffers[rank]
    if offset < 0 or offset + size > handle.buffer_size:
        raise ValueError(f"membar: a tensor of {size} bytes at byte {offset} of a symmetric buffer of {handle.buffer_size} was to be "
                         "adopted: pass the tensor of the rendezvous")
    if len(buffers) != count or 0 in buffers:
        raise RuntimeError("membar: loads and stores do not reach the symmetric memory of every process of the group: make a group of "
                           "GPUs that NVLink connects")
    ranks = "_".join(map(str, dist.get_process_group_ranks(group)))
    number = _adopted[ranks] = _adopted.get(ranks, 0) + 1
    store = dist.PrefixStore(f"membar/{ranks}/{number}", distributed_c10d._get_default_store())  # pylint: disable=protected-access
    return AdoptedMemory(rank, [each + offset for each in buffers], size,
                         _Gathering(store, rank, count, datetime.timedelta(seconds=seconds)))
