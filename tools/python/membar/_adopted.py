# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""PyTorch's symmetric memory, as `membar::symmetric::adopted_backend` takes it."""

import datetime
import os
import time
import typing

_adopted = {}  # how many times each group has adopted, which is the same in all of its processes


class AdoptedMemory(typing.NamedTuple):
    """The arguments of `membar::symmetric::adopted_memory`, and the callback beside it."""

    rank: int
    addresses: typing.List[int]  # by rank: where its tensor begins, as this process's GPU reaches it
    bytes: int
    all_gather: typing.Callable[[int], typing.List[int]]


def _text_of(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _start_of(process):
    """When a process started, in ticks; empty if it has ended."""
    fields = _text_of(f"/proc/{process}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def _namespace():
    """The processes of one host and PID namespace have this in common."""
    try:
        return _text_of("/proc/sys/kernel/random/boot_id").strip() + os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


class _Gathering:
    """Gathers a number from every process by a store, so that no kernel is launched.

    Its end tells the others that this process has left, and they watch the processes of their own host and PID namespace.
    """

    between_looks = datetime.timedelta(seconds=0.2)

    def __init__(self, store, rank, count, budget):
        self._store, self._rank, self._count, self._budget, self._round = store, rank, count, budget, 0
        self._failure = None
        self._process = os.getpid()
        store.set(f"process/{rank}", f"{_namespace()} {self._process} {_start_of(self._process)}")

    def __del__(self):
        if getattr(self, "_process", None) == os.getpid():  # a child that was forked is no process of the group
            try:
                self._store.set(f"left/{self._rank}", "1")
            except Exception:  # pylint: disable=broad-except
                pass  # the store has ended before

    def _has_gone(self, rank):
        if self._store.check([f"left/{rank}"]):
            return True
        if not self._store.check([f"process/{rank}"]):
            return False
        namespace, process, start = self._store.get(f"process/{rank}").decode().split(" ")
        return namespace != "" and namespace == _namespace() and start != "" and _start_of(process) != start

    def _wait(self, keys):
        """Waits for the keys. Returns why they will not come."""
        deadline = time.monotonic() + self._budget.total_seconds()
        while True:
            try:
                left = datetime.timedelta(seconds=max(0.001, deadline - time.monotonic()))
                self._store.wait(keys, min(left, self.between_looks))
                return None
            except Exception as why:  # pylint: disable=broad-except
                missing = [rank for rank, key in enumerate(keys) if not self._store.check([key])]
                gone = [rank for rank in missing if self._has_gone(rank)]
                gone = [rank for rank in gone if not self._store.check([keys[rank]])]  # left after its number
                if gone:
                    failure = RuntimeError(f"membar: ranks {gone} have left: they ended, or what used the adopted memory in them did; see "
                                           "their exceptions, and start all processes again")
                elif time.monotonic() >= deadline:
                    failure = TimeoutError(
                        f"membar: ranks {missing} did not join a collective call within {self._budget.total_seconds():g} s: they "
                        "ended or make other calls; every process makes the same calls in one order")
                else:
                    continue
                failure.__cause__ = why
                return failure

    def __call__(self, mine):
        if self._failure is not None:  # it is out of step with the others
            raise self._failure
        self._failure = RuntimeError("membar: an earlier collective call failed: see its exception, and start all processes again")
        keys = [f"{self._round}/{each}" for each in range(self._count)]
        self._store.set(keys[self._rank], str(mine))
        failure = self._wait(keys)
        if failure is not None:
            self._failure = failure
            raise failure
        numbers = [int(self._store.get(key)) for key in keys]
        if self._round >= 2:  # all have read it: they have given the number after it
            self._store.delete_key(f"{self._round - 2}/{self._rank}")
        self._round += 1
        self._failure = None
        return numbers


def adopted_memory(tensor, group=None, *, seconds=60):
    """A tensor of `torch.distributed._symmetric_memory.empty` as memory that membar's C++ side adopts. Collective in `group`.

    Every process of the group calls it with a tensor of one size. Nobody else uses the tensor while it is adopted, and the caller keeps
    it. A collective call of the C++ side that not all join within `seconds` is a TimeoutError, and so is every later one; a rank that has
    left, by its end or by that of the memory and what uses it, is a RuntimeError within a second. Errors: RuntimeError without PyTorch's symmetric memory, or where loads and stores do not reach every process's memory; ValueError for a
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
