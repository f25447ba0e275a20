# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Maps each guarantee, quoted from the documentation, to the tests of the suite that check it, or to the reason why there is none.

`ROWS` are in the order of the table in docs/conformance.md. A row's `tests` is a regular expression;
the row covers each test whose "family/test@place" contains a match.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    file: str   # The header in include/membar, or a page in docs.
    words: str  # A sentence quoted from the documentation in this file.
    tests: str  # A regular expression that selects tests.


ROWS = [
    Row("thread_scope.hpp", "Two operations synchronize only if each includes the other's thread in its scope.",
        r"^message_passing/MP\+atomic_ref\.store\.release\.\w+\+atomic_ref\.load\.acquire\."),
    Row("thread_scope.hpp", "Across domains of one device, only `system` synchronizes.", r"^(?!domains).*@two_domains$"),
    Row("sync_domain.hpp",
        "Kernels in different domains of one device need system scope to order accesses between them; device scope is not enough.",
        r"^domains/"),
    Row("memory_order.hpp", "The operation is atomic, but it is ordered only relative to other accesses to the same location.",
        r"^coherence/.*atomic_ref"),
    Row("memory_order.hpp", "including those that this thread has observed, stay before the operation: the writer's half of "
        "synchronization.",
        r"^causality/(WRC|ISA2|S)\+.*atomic_ref|^devices/"),
    Row("memory_order.hpp", "Acquire and release, for operations that both read and write, and for fences.",
        r"^(message_passing|causality)/.*acq_rel"),
    Row("memory_order.hpp", "all such operations have a single order on which all threads in scope agree.",
        r"^sequential_consistency/.*(store|load)\.seq_cst"),
    Row("fence.hpp", "a release fence followed by a relaxed (or stronger) store synchronizes with an acquire fence that follows "
        "a relaxed (or stronger) load of that store's value, or of a value in the chain of read-modify-writes "
        "after it, if the scopes of both fences and both accesses include each other's threads.",
        r"^(message_passing|causality|host)/.*thread_fence"),
    Row("fence.hpp", "In addition, all `seq_cst` fences in scope occur in a single order.",
        r"^sequential_consistency/.*thread_fence\.seq_cst"),
    Row("atomic.hpp", "a release operation synchronizes with an acquire operation that reads its value, or a value of a "
        "read-modify-write chain that starts with it, if each operation's scope includes the thread of the other operation.",
        r"^(message_passing|host)/MP\+(?!thread_fence|store|aggregated|load).*\+(?!load\.|aggregated|.*thread_fence)"
        r"|^causality/(RelSeq|LB)"),
    Row("atomic.hpp", "seq_cst: fence.sc.S; atom.acquire.S.OP.T",
        r"^sequential_consistency/.*(exchange|fetch_add|fetch_update)\S*\.seq_cst"),
    Row("headers/atomic.md", "The value type must be trivially copyable, have a size of 1, 2, 4, 8 or 16 bytes, and be aligned to its size.",
        r"^types/.*(uint8|uint16|uint64|half|float|double|quad)\.(atomic_ref|exchange|compare_exchange|fetch|reduce)"),
    Row("atomic.hpp", "float, double min and max: the operation on the bits", r"^(types|atomicity)/.*(float|double)\.(fetch|reduce)_(min|max)"),
    Row("atomic.hpp", "no instruction: fence of the order's release half; ld.relaxed; loop { atom.relaxed.cas }; fence of its acquire half",
        r"^(message_passing|types)/.*(fetch_update|uint8|uint16|uint64\.fetch_inc)"),
    Row("atomic.hpp", "add, sub, ... red.{relaxed,release}.S.OP.T no other order", r"^(message_passing|types|atomicity)/.*[.+-]reduce_"),
    Row("atomic.hpp", "Blocks until the value's bits differ from those of `old`. The order applies to the load that reads the new "
        "value.",
        r"^(?!asynchronous).*\.wait\."),
    Row("headers/atomic.md", "Read-modify-write operations return the previous value.",
        r"^types/.*fetch_|^atomicity/Atomicity\+(?!aggregated)"),
    Row("headers/atomic.md", "8- and 16-bit read-modify-writes operate on the aligned 32-bit word around the object and write the "
        "neighbouring bytes back unchanged.", r"^atomicity/.*fetch_add_byte"),
    Row("atomic.hpp", "acquire, acq_rel, seq_cst at cluster scope or wider, for 64-bit operations except exchange and "
        "compare_exchange, and for additions of float, double and pairs: atom without the acquire; "
        "fence.acquire.S.", r"^shared_memory/"),
    Row("load_store.cuh", "an acquire load synchronizes with the release operation whose value it reads, if each scope includes the "
        "other's thread. A relaxed load is atomic but orders nothing. An `mmio` load, which requires system "
        "scope, is relaxed and is neither merged nor repeated.", r"\+((?!atomic_ref)\w+\.)?load(_hinted)?\.(acquire|seq_cst|mmio)|^coherence/.*\+load\."),
    Row("load_store.cuh", "a release store synchronizes with the acquire operation that reads the value, if each scope includes the "
        "other's thread, and releases everything that this thread has observed.",
        r"\+((?!atomic_ref)\w+\.)?store(_hinted)?\.(release|seq_cst|mmio)|^coherence/.*\+store\."),
    Row("load_store.cuh", "The load is a single access for every size: 16 bytes use `.b128`, not a vector.", r"^atomicity/Torn"),
    Row("aggregated.cuh", "as if each lane had performed its operation with the given order", r"[.+]aggregated\."),
    Row("fence.cuh", "It does not synchronize on its own: accesses through two proxies are ordered only if this fence is on the "
        "synchronization path between them.", r"^proxies/"),
    Row("bulk_copy.cuh", "Ordinary stores are ordered before a copy that reads their data only if a `proxy_fence<proxy::async>`",
        r"^proxies/.*[+](copy|load)_in_bulk"),
    Row("bulk_copy.cuh", "ordinary loads are ordered before a copy that overwrites their data only if such a fence is between them.",
        r"^proxies/.*[+](store|load)_before_load_in_bulk"),
    Row("bulk_copy.cuh", "The source of a copy out of shared memory may be overwritten after `bulk_wait_read`, by the thread that "
        "committed the copy and by the threads with which it then synchronizes.", r"^asynchronous/Reuse"),
    Row("cluster_barrier.cuh", "With `release` it synchronizes with the `cluster_wait` of every thread of the cluster.",
        r"^asynchronous/.*\+cluster_arrive\.release"),
    Row("cluster_barrier.cuh", "With `relaxed` it orders nothing on its own, but a preceding "
        "`thread_fence<thread_scope::cluster>(release)` synchronizes with these waits.", r"^asynchronous/.*cluster_arrive\.relaxed"),
    Row("mbarrier.cuh", "An arrival with `release` synchronizes with a wait with `acquire` for its phase, if each scope includes "
        "the other's thread.", r"^asynchronous/.*mbarrier"),
    Row("dependent_launch.cuh", "Waits until the kernels that this one depends on have ended. Everything that they did is then visible to "
        "the calling thread.", r"^asynchronous/MP\.launch"),
    Row("sync/sequence_lock.cuh", "a read that returns `done` synchronizes with the write whose value it returns, and never mixes the bytes of two "
        "writes.", r"^patterns/"),
    Row("mapped_memory.hpp", "The writes of host and device are ordered only by operations at system scope and by synchronization",
        r"^host/"),
]

# Sentences that the suite does not test, and other tests that cover them. Reasons include: in a litmus run, each block runs many instances
# of a test, so a test cannot use the block's barrier; and a test's cells have only 16 bytes.
PATTERN = "ordering: tests/model/sync_patterns_test.cpp; implementation: the stress tests in tests/gpu"
ELSEWHERE = {
    "aggregated.cuh": {"A barrier among the lanes precedes the leader's operation if that operation releases":
                       "the suite runs only groups of one lane, because each lane runs a different instance; groups of several lanes: "
                       "tests/gpu/atomic_types_test.cu; barriers: the codegen tests",
                       "values are combined with relaxed atomics at block scope": "block barriers: tests/gpu/atomic_contention_test.cu"},
    "cluster_barrier.cuh": {"Synchronizes with every arrival that specified `release`": "the rows for `cluster_arrive`, whose tests wait with `cluster_wait`"},
    "sync/sequence_lock.cuh": {"lock that synchronizes them": "not tested here: the ordering is a property of that lock"},
    "async_copy.cuh": {"It does not synchronize with anything on its own": "ordering: tests/model/asynchronous_test.cpp; implementation: tests/gpu/asynchronous_test.cu"},
    "fence.cuh": {"The two fences synchronize through a relaxed flag": "ordering: tests/litmus/catalogue, OneWay; implementation: tests/codegen"},
    "block_barrier.cuh": {"each of which synchronizes some of the block's warps": "ordering: tests/litmus/catalogue; implementation: tests/codegen"},
    "multimem.cuh": {words: "ordering: tests/litmus/catalogue, Alias.multimem; implementation, which has not run: tests/codegen"
                     for words in ("Synchronizes at `Scope`", "a release store or reduction synchronizes")},
    "mbarrier.cuh": {words: "ordering: tests/litmus/catalogue, Bulk, Transaction and CpAsync; implementation: tests/gpu/mbarrier_test.cu"
                     for words in ("The completion of an asynchronous copy synchronizes",
                                   "An arrival synchronizes with a wait at cluster scope",
                                   "With `release`, the arrival synchronizes with the waits", "synchronizes like",
                                   "synchronizes with the phase's arrivals and completions")},
    "wait_budget.hpp": {"Only `done` synchronizes": PATTERN},
    **{f"sync/{header}.cuh": dict.fromkeys(words, PATTERN) for header, *words in (
        ("bulk_pipeline", "Synchronizes: the data"), ("cluster_broadcast", "Synchronizes: the data"),
        ("dependent_chain", "Synchronizes: everything"), ("cross_barrier", "Synchronizes: with", "To synchronize a grid"),
        ("grid_barrier", "Synchronizes: with"), ("last_block", "Synchronizes: everything", "synchronizes like `last_block`"),
        ("mpmc_channel", "a `pop` that returns `done` synchronizes", "A pop that returns `closed` does not synchronize"),
        ("mpsc_channel", "a `pop` that returns `done` synchronizes", "A pop that returns `closed` does not synchronize"),
        ("packed_channel", "The channel does not synchronize", "A push does not synchronize"), ("publisher", "a consumer that acquires"),
        ("queue_lock", "a `lock` or `try_lock`"), ("ticket_lock", "a `lock` or `try_lock`"),
        ("spsc_channel", "a `pop` that returns `done` synchronizes", "synchronizes with the producer's `close`",
         "unless they synchronize"))},
}
# Folders with headers that the suite does not test.
FOLDERS = {
    "symmetric": "ordering: tests/model/symmetric_patterns_test.cpp; implementation: tests/multi_gpu",
    "base": "macros and per-process state: tests/unit and tests/headers",
    "deadlock": "runs nothing on a GPU: tests/unit",
    "model": "the model itself: tests/model",
    "litmus": "the engine itself: tests/litmus and tests/codegen",
    "detail": "tested through the headers that use it",
}
