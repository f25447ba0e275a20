# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes PyTorch's symmetric memory available to `membar::symmetric::adopted_backend`."""

import datetime
import os
import time
import typing

_adopted = {}  # for each group: the number of adoptions, which is the same in all of the group's processes


class AdoptedMemory(typing.NamedTuple):
    """The arguments of `membar::symmetric::adopted_memory`, including its all-gather callback."""

    rank: int
    addresses: typing.List[int]  # for each rank, the start of its tensor in this GPU's address space
    bytes: int
    all_gather: typing.Callable[[int], typing.List[int]]


def _text_of(path):
    try:
        with open(path, encoding="ascii", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def _start_of(process):
    """Returns the start time of a process in clock ticks, or an empty string if the process has ended."""
    fields = _text_of(f"/proc/{process}/stat").rpartition(")")[2].split()
    return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""


def _namespace():
    """Returns an identifier of this host and PID namespace."""
    try:
        return _text_of("/proc/sys/kernel/random/boot_id").strip() + os.readlink("/proc/self/ns/pid")
    except OSError:
        return ""


class _Gathering:
    """Gathers a number from every process through the store, without launching a kernel.

    Its destructor tells the other processes that this process has left. Each process also watches the processes on its host and in its PID namespace.
    """

    between_looks = datetime.timedelta(seconds=0.2)

    def __init__(self, store, rank, count, budget):
        self._store, self._rank, self._count, self._budget, self._round = store, rank, count, budget, 0
        self._failure = None
        self._process = os.getpid()
        store.set(f"process/{rank}", f"{_namespace()} {self._process} {_start_of(self._process)}")

    def __del__(self):
        if getattr(self, "_process", None) == os.getpid():  # a forked child is not a member of the group
            try:
                self._store.set(f"left/{self._rank}", "1")
            except Exception:  # pylint: disable=broad-except
                pass  # the store is already closed

    def _has_gone(self, rank):
        if self._store.check([f"left/{rank}"]):
            return True
        if not self._store.check([f"process/{rank}"]):
            return False
        namespace, process, start = self._store.get(f"process/{rank}").decode().split(" ")
        return namespace != "" and namespace == _namespace() and start != "" and _start_of(process) != start

    def _wait(self, keys):
        """Waits for the keys. Returns None, or an exception if the keys will never appear."""
        deadline = time.monotonic() + self._budget.total_seconds()
        while True:
            try:
                left = datetime.timedelta(seconds=max(0.001, deadline - time.monotonic()))
                self._store.wait(keys, min(left, self.between_looks))
                return None
            except Exception as why:  # pylint: disable=broad-except
                missing = [rank for rank, key in enumerate(keys) if not self._store.check([key])]
                gone = [rank for rank in missing if self._has_gone(rank)]
                gone = [rank for rank in gone if not self._store.check([keys[rank]])]  # keeps only processes that left without setting their number
                if gone:
                    failure = RuntimeError(f"membar: ranks {gone} have left the group, because they ended or deleted the adopted memory and the objects that use it: see their exceptions, and restart all processes")
                elif time.monotonic() >= deadline:
                    failure = TimeoutError(
                        f"membar: ranks {missing} did not join a collective call within {self._budget.total_seconds():g} s, because they ended or made other calls: every process must make the same collective calls in the same order")
                else:
                    continue
                failure.__cause__ = why
                return failure

    def __call__(self, mine):
        if self._failure is not None:  # this process is no longer in the same round as the others
            raise self._failure
        self._failure = RuntimeError("membar: an earlier collective call failed: see its exception, and restart all processes")
        keys = [f"{self._round}/{each}" for each in range(self._count)]
        self._store.set(keys[self._rank], str(mine))
        failure = self._wait(keys)
        if failure is not None:
            self._failure = failure
            raise failure
        numbers = [int(self._store.get(key)) for key in keys]
        if self._round >= 2:  # all processes have read the key, because they have set their numbers for the next round
            self._store.delete_key(f"{self._round - 2}/{self._rank}")
        self._round += 1
        self._failure = None
        return numbers


def adopted_memory(tensor, group=None, *, seconds=60):
    """Returns a tensor from `torch.distributed._symmetric_memory.empty` as memory that membar's C++ side can adopt. This is a collective call over `group`.

    Every process in the group must call it with a tensor of the same size. No other code may use the tensor while it is adopted, and the
    caller must keep the tensor alive. If not all processes join a collective call on the C++ side within `seconds`, that call and every later
    call raise TimeoutError. If a rank has left, because it ended or deleted the memory and the objects that use it, the call raises
    RuntimeError within a second. adopted_memory itself raises RuntimeError if PyTorch does not provide symmetric memory, or if loads and stores cannot
    reach every process's memory. It raises ValueError if the tensor is not in symmetric memory.
    """
    try:
        import torch.distributed as dist
        import torch.distributed._symmetric_memory as symm_mem
        from torch.distributed import distributed_c10d
    except ImportError as why:
        raise RuntimeError(f"membar: this version of PyTorch does not provide symmetric memory ({why}): install PyTorch 2.6 or newer with CUDA") from why
    if not dist.is_initialized():
        raise RuntimeError("membar: adopted_memory needs a process group: call torch.distributed.init_process_group first")
    group = dist.group.WORLD if group is None else group
    if not tensor.is_cuda or not tensor.is_contiguous():
        raise ValueError("membar: the tensor must be contiguous and on a GPU: create it with symm_mem.empty")
    handle = symm_mem.rendezvous(tensor, group.group_name)
    if handle is None:
        raise ValueError("membar: the tensor is not in PyTorch's symmetric memory: create it with symm_mem.empty")
    rank, count, buffers = handle.rank, handle.world_size, [int(each) for each in handle.buffer_ptrs]
    size = tensor.numel() * tensor.element_size()
    # The tensor may begin after the start of its buffer. In every version of PyTorch, the tensor's address determines this
    # offset.
    offset = tensor.data_ptr() - buffers[rank]
    if offset < 0 or offset + size > handle.buffer_size:
        raise ValueError(f"membar: the tensor has {size} bytes at byte {offset} of a symmetric buffer of {handle.buffer_size} bytes, so it does not fit: pass the tensor with which rendezvous was called")
    if len(buffers) != count or 0 in buffers:
        raise RuntimeError("membar: this process cannot access the symmetric memory of every process in the group with loads and stores: use a group of GPUs connected by NVLink")
    ranks = "_".join(map(str, dist.get_process_group_ranks(group)))
    number = _adopted[ranks] = _adopted.get(ranks, 0) + 1
    store = dist.PrefixStore(f"membar/{ranks}/{number}", distributed_c10d._get_default_store())  # pylint: disable=protected-access
    return AdoptedMemory(rank, [each + offset for each in buffers], size,
                         _Gathering(store, rank, count, datetime.timedelta(seconds=seconds)))
