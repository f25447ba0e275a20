#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests how membar adopts PyTorch's symmetric memory, with a fake PyTorch. Threads act as processes, except in tests in which
each process is a real interpreter."""

import datetime
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import types
import unittest

COUNT = 3


class Store:
    """The store shared by all groups."""

    def __init__(self):
        self.values, self.changed, self.most = {}, threading.Condition(), 0

    def set(self, key, value):
        with self.changed:
            self.values[key] = value.encode()
            self.most = max(self.most, len(self.values))
            self.changed.notify_all()

    def wait(self, keys, budget):
        with self.changed:
            if not self.changed.wait_for(lambda: all(key in self.values for key in keys), budget.total_seconds()):
                raise RuntimeError("wait timeout")

    def check(self, keys):
        return all(key in self.values for key in keys)

    def get(self, key):
        return self.values[key]

    def delete_key(self, key):
        with self.changed:
            return self.values.pop(key, None) is not None


class PrefixStore:
    def __init__(self, prefix, store):
        self.prefix, self.store = prefix, store

    def __getattr__(self, name):
        def call(keys, *rest):
            within = [f"{self.prefix}/{key}" for key in keys] if isinstance(keys, list) else f"{self.prefix}/{keys}"
            return getattr(self.store, name)(within, *rest)
        return call


class Tensor:
    is_cuda = True

    def __init__(self, rank, offset=0, size=4096, contiguous=True):
        self.rank, self.offset, self.size, self.contiguous = rank, offset, size, contiguous

    def is_contiguous(self):
        return self.contiguous

    def numel(self):
        return self.size // 4

    def element_size(self):
        return 4

    def data_ptr(self):
        return BUFFERS[self.rank] + self.offset


BUFFERS = [0x10000, 0x30000, 0x50000]
handle_of = {}


class FileStore:
    """The store for real processes, with a file for each key."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)

    def _file(self, key):
        return self.folder / key.replace("/", "+")

    def set(self, key, value):
        made = self.folder / f".{os.getpid()}"
        made.write_text(value, encoding="ascii")
        made.rename(self._file(key))

    def wait(self, keys, budget):
        deadline = time.monotonic() + budget.total_seconds()
        while not self.check(keys):
            if time.monotonic() > deadline:
                raise RuntimeError("wait timeout")
            time.sleep(0.001)

    def check(self, keys):
        return all(self._file(key).exists() for key in keys)

    def get(self, key):
        return self._file(key).read_bytes()

    def delete_key(self, key):
        self._file(key).unlink()


def made_up_torch(store=None):
    torch, dist, memory, c10d = (types.ModuleType(name) for name in (
        "torch", "torch.distributed", "torch.distributed._symmetric_memory", "torch.distributed.distributed_c10d"))
    torch.distributed, dist._symmetric_memory, dist.distributed_c10d = dist, memory, c10d
    dist.is_initialized = lambda: True
    dist.group = types.SimpleNamespace(WORLD=types.SimpleNamespace(group_name="0"))
    dist.get_process_group_ranks = lambda group: list(range(COUNT))
    dist.PrefixStore = PrefixStore
    store = Store() if store is None else store
    c10d._get_default_store = lambda: store
    memory.rendezvous = lambda tensor, group: types.SimpleNamespace(
        rank=tensor.rank, world_size=COUNT, buffer_ptrs=list(BUFFERS), buffer_size=8192)
    for module in (torch, dist, memory, c10d):
        sys.modules[module.__name__] = module
    return dist, memory, store


class Adopted(unittest.TestCase):
    def setUp(self):
        self.dist, self.memory, self.store = made_up_torch()
        from membar import _adopted
        _adopted._adopted.clear()
        self.adopted_memory = _adopted.adopted_memory

    def processes(self, body):
        """Returns what `body(rank)` returned or raised in each process."""
        found = [None] * COUNT

        def run(rank):
            try:
                found[rank] = body(rank)
            except Exception as why:  # pylint: disable=broad-except
                found[rank] = why
        threads = [threading.Thread(target=run, args=(rank,)) for rank in range(COUNT)]
        for each in threads:
            each.start()
        for each in threads:
            each.join()
        return found

    def test_addresses_are_those_of_the_tensor(self):
        memory = self.adopted_memory(Tensor(1, offset=1024))
        self.assertEqual(memory.rank, 1)
        self.assertEqual(memory.addresses, [0x10400, 0x30400, 0x50400])
        self.assertEqual(memory.bytes, 4096)

    def test_numbers_are_gathered_by_rank_in_every_round(self):
        memories = []
        for rank in range(COUNT):  # One after another, because within a process they would share the count of adoptions.
            self.setup_count()
            memories.append(self.adopted_memory(Tensor(rank)))

        def body(rank):
            return [memories[rank].all_gather((1 << 64) - 1 - 10 * i - rank) for i in range(50)]
        for each in self.processes(body):
            self.assertEqual(each, [[(1 << 64) - 1 - 10 * i - rank for rank in range(COUNT)] for i in range(50)])
        self.assertLessEqual(self.store.most, 4 * COUNT)

    def setup_count(self):
        from membar import _adopted
        _adopted._adopted.clear()

    def test_a_rank_that_does_not_come_is_named(self):
        memory = self.adopted_memory(Tensor(0), seconds=0.05)
        with self.assertRaisesRegex(TimeoutError, r"ranks \[1, 2\] did not join a collective call within 0.05 s"):
            memory.all_gather(1)

    def test_after_a_call_that_failed_every_call_fails(self):
        memory = self.adopted_memory(Tensor(0), seconds=0.05)
        for _ in range(2):
            with self.assertRaisesRegex(TimeoutError, r"ranks \[1, 2\] did not join"):
                memory.all_gather(1)
            for rank in (1, 2):  # These values arrive too late.
                self.store.set(f"membar/0_1_2/1/0/{rank}", "1")
        memory = self.adopted_memory(Tensor(0))
        with self.assertRaises(ValueError):
            for rank in (1, 2):
                self.store.set(f"membar/0_1_2/2/0/{rank}", "no number")
            memory.all_gather(1)
        with self.assertRaisesRegex(RuntimeError, "an earlier collective call failed"):
            memory.all_gather(1)

    def test_a_rank_that_left_is_named_at_once(self):
        memory = self.adopted_memory(Tensor(0))
        self.setup_count()
        other = self.adopted_memory(Tensor(1))
        del other
        begin = time.monotonic()
        with self.assertRaisesRegex(RuntimeError, r"ranks \[1\] have left"):
            memory.all_gather(1)
        self.assertLess(time.monotonic() - begin, 1)

    def test_a_process_that_ended_is_named_at_once(self):
        memory = self.adopted_memory(Tensor(0))
        child = os.fork()
        if child == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        own = self.store.values["membar/0_1_2/1/process/0"].decode()
        os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)  # The process has ended, but its process id still exists.
        for rank, process in ((1, os.getpid()), (2, child)):
            self.store.set(f"membar/0_1_2/1/process/{rank}", own.replace(str(os.getpid()), str(process), 1))
        begin = time.monotonic()
        with self.assertRaisesRegex(RuntimeError, r"ranks \[2\] have left"):
            memory.all_gather(1)
        self.assertLess(time.monotonic() - begin, 1)
        os.waitpid(child, 0)

    def test_a_forked_child_does_not_leave(self):
        memory = self.adopted_memory(Tensor(0))
        memory.all_gather._process = os.getpid() + 1  # as in a forked child
        del memory
        self.assertNotIn("membar/0_1_2/1/left/0", self.store.values)

    def test_adoptions_do_not_mix_their_numbers(self):
        first, second = self.adopted_memory(Tensor(0), seconds=0.05), self.adopted_memory(Tensor(0), seconds=0.05)
        for each in (first, second):
            with self.assertRaises(TimeoutError):
                each.all_gather(1)
        self.assertEqual(len([key for key in self.store.values if "process" not in key]), 2)

    def test_what_is_no_symmetric_memory_is_refused(self):
        with self.assertRaisesRegex(ValueError, "must be contiguous and on a GPU"):
            self.adopted_memory(Tensor(0, contiguous=False))
        with self.assertRaisesRegex(ValueError, "4096 bytes at byte 6000 of a symmetric buffer of 8192"):
            self.adopted_memory(Tensor(0, offset=6000))
        self.memory.rendezvous = lambda tensor, group: None
        with self.assertRaisesRegex(ValueError, "is not in PyTorch.s symmetric memory"):
            self.adopted_memory(Tensor(0))

    def test_memory_out_of_reach_is_refused(self):
        self.memory.rendezvous = lambda tensor, group: types.SimpleNamespace(
            rank=0, world_size=COUNT, buffer_ptrs=[BUFFERS[0], 0, BUFFERS[2]], buffer_size=8192)
        with self.assertRaisesRegex(RuntimeError, "cannot access the symmetric memory of every process"):
            self.adopted_memory(Tensor(0))

    def test_a_missing_group_or_pytorch_is_said(self):
        self.dist.is_initialized = lambda: False
        with self.assertRaisesRegex(RuntimeError, "init_process_group"):
            self.adopted_memory(Tensor(0))
        sys.modules["torch.distributed._symmetric_memory"] = None
        del self.dist._symmetric_memory
        with self.assertRaisesRegex(RuntimeError, "does not provide symmetric memory"):
            self.adopted_memory(Tensor(0))


def process(rank, folder, how):
    """The code that process `rank` runs. Process 1 leaves in one of several ways; the other processes print the error that they get and how
    long it took to get it."""
    _, _, store = made_up_torch(FileStore(folder))
    from membar import _adopted
    seconds = 0.01 if how == "never" and rank == 0 else 60

    class Engine:
        def __init__(self):
            self.memory = _adopted.adopted_memory(Tensor(rank), seconds=seconds)
            self.gather = self.memory.all_gather
            if rank == 1 and how == "construction":
                raise ValueError("of the program")

    try:
        engine = Engine()
        store.set(f"made/{rank}", "1")
        store.wait([f"made/{each}" for each in range(COUNT) if each != 1 or how != "construction"], datetime.timedelta(seconds=30))
        if rank == 1 and how == "exception":
            raise ValueError("of the program")
    except ValueError:
        engine = None
    if rank == 1:
        if how == "exit":
            sys.modules["keeps_it_until_the_end"] = engine
            return
        if how == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "del":
            gather, memory = engine.gather, engine.memory
            del memory, engine, gather
        store.wait(["told/0", "told/2"] if how != "never" else ["told/0"], datetime.timedelta(seconds=30))
        return
    if how == "never" and rank == 2:
        store.wait(["told/0"], datetime.timedelta(seconds=30))
        return
    begin = time.monotonic()
    try:
        engine.gather(rank)
        print("nothing")
    except (RuntimeError, TimeoutError) as why:
        print(f"{time.monotonic() - begin < 1}: {why}")
    store.set(f"told/{rank}", "1")


class Processes(unittest.TestCase):
    def said(self, how):
        with tempfile.TemporaryDirectory() as folder:
            started = [subprocess.Popen([sys.executable, __file__, "process", str(rank), folder, how], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True) for rank in range(COUNT)]
            ended = [each.communicate(timeout=60) for each in started]
            self.assertEqual([errors for _, errors in ended], [""] * COUNT)
            return [told for told, _ in ended]

    def test_a_process_that_leaves_is_named_by_the_others_at_once(self):
        for how in ("exit", "killed", "del", "exception", "construction"):
            with self.subTest(how):
                told = self.said(how)
                for rank in (0, 2):
                    self.assertRegex(told[rank], r"^True: membar: ranks \[1\] have left")

    def test_a_process_that_never_comes_is_named(self):
        self.assertRegex(self.said("never")[0], r"^True: membar: ranks \[1, 2\] did not join a collective call within 0.01 s")


if __name__ == "__main__":
    if sys.argv[1:2] == ["process"]:
        process(int(sys.argv[2]), sys.argv[3], sys.argv[4])
    else:
        unittest.main()
