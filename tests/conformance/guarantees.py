# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Maps each guarantee, quoted from the documentation, to the tests of the suite that check it, or to the reason why there is none.

`ROWS` are in the order of the table in docs/conformance.md. A row's `tests` is a pattern that is searched for in "family/test@place".
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    file: str   # in include/membar, or a page in docs
    words: str  # A sentence quoted from its documentation.
    tests: str  # a regular expression


ROWS = [
    Row("thread_scope.hpp", "Two operations synchronize only if each includes the other's thread in its scope.",
        r"^message_passing/MP\+atomic_ref\.store\.release\.\w+\+atomic_ref\.load\.acquire\."),
    Row("thread_scope.hpp", "across domains of one device only `system` synchronizes.", r"^(?!domains).*@two_domains$"),
    Row("sync_domain.hpp",
        "Kernels in different domains of one device need system scope to order accesses between them; device scope is not enough.",
        r"^domains/"),
    Row("memory_order.hpp", "Atomic, and ordered only with other accesses of the same location.",
        r"^coherence/.*atomic_ref"),
    Row("memory_order.hpp", "including what this thread has observed, stays before it: the writer's half of synchronization.",
        r"^causality/(WRC|ISA2|S)\+.*atomic_ref|^devices/"),
    Row("memory_order.hpp", "Both halves, for operations that read and write, and for fences.",
        r"^(message_passing|causality)/.*acq_rel"),
    Row("memory_order.hpp", "one order of all such operations that every thread in scope agrees on.",
        r"^sequential_consistency/.*(store|load)\.seq_cst"),
    Row("fence.hpp", "a release fence followed by a relaxed (or stronger) store synchronizes with an acquire fence that follows a "
        "relaxed (or stronger) load of that store's value, or of one that later read-modify-writes made of it, if both fences and "
        "both accesses include each other's threads; cumulative: what the releasing thread has observed is also released.",
        r"^(message_passing|causality|host)/.*thread_fence"),
    Row("fence.hpp", "All `seq_cst` fences in scope also have one order.",
        r"^sequential_consistency/.*thread_fence\.seq_cst"),
    Row("atomic.hpp", "a release operation synchronizes with an acquire operation that reads its value, or a value of the "
        "read-modify-writes that follow it, if each operation's scope includes the other's thread.",
        r"^(message_passing|host)/MP\+(?!thread_fence|store|aggregated|load).*\+(?!load\.|aggregated|.*thread_fence)"
        r"|^causality/(RelSeq|LB)"),
    Row("atomic.hpp", "seq_cst: fence.sc.S; atom.acquire.S.OP.T",
        r"^sequential_consistency/.*(exchange|fetch_add|fetch_update)\S*\.seq_cst"),
    Row("headers/atomic.md", "The value type is trivially copyable, has 1, 2, 4, 8 or 16 bytes, and is aligned to its size.",
        r"^types/.*(uint8|uint16|uint64|half|float|double|quad)\.(atomic_ref|exchange|compare_exchange|fetch|reduce)"),
    Row("atomic.hpp", "float, double min and max: that of the bits", r"^(types|atomicity)/.*(float|double)\.(fetch|reduce)_(min|max)"),
    Row("atomic.hpp", "no instruction: fence of the order's release half; ld.relaxed; loop { atom.relaxed.cas }; fence of its acquire half",
        r"^(message_passing|types)/.*(fetch_update|uint8|uint16|uint64\.fetch_inc)"),
    Row("atomic.hpp", "add, sub, ... red.{relaxed,release}.S.OP.T no other order", r"^(message_passing|types|atomicity)/.*[.+-]reduce_"),
    Row("atomic.hpp", "Returns once the value's bits differ from those of `old`, ordered as a load that has read the new value.",
        r"^(?!asynchronous).*\.wait\."),
    Row("headers/atomic.md", "Read-modify-write operations return the previous value.",
        r"^types/.*fetch_|^atomicity/Atomicity\+(?!aggregated)"),
    Row("headers/atomic.md", "8- and 16-bit read-modify-writes operate on the aligned 32-bit word around the object and write the "
        "neighbouring bytes back unchanged.", r"^atomicity/.*fetch_add_byte"),
    Row("atomic.hpp", "acquire, acq_rel, seq_cst at cluster scope or wider, of 64 bits but exchange and compare_exchange, and additions of "
        "float, double and pairs: atom without the acquire; fence.acquire.S.", r"^shared_memory/"),
    Row("load_store.cuh", "acquire synchronizes with the release operation whose value it reads, if each one's scope includes the "
        "other's thread; relaxed orders nothing but is atomic; `mmio`, at system scope only, is relaxed and neither merged nor "
        "repeated.", r"\+((?!atomic_ref)\w+\.)?load(_hinted)?\.(acquire|seq_cst|mmio)|^coherence/.*\+load\."),
    Row("load_store.cuh", "release synchronizes with the acquire operation that reads the value, if each one's scope includes the "
        "other's thread, and carries what this thread has observed; relaxed orders nothing but is atomic; `mmio` as for `load`.",
        r"\+((?!atomic_ref)\w+\.)?store(_hinted)?\.(release|seq_cst|mmio)|^coherence/.*\+store\."),
    Row("load_store.cuh", "One access whatever the size: 16 bytes are `.b128`, not a vector.", r"^atomicity/Torn"),
    Row("aggregated.cuh", "performed its operation with the order itself", r"[.+]aggregated\."),
    Row("fence.cuh", "It synchronizes with nothing by itself: accesses through two proxies are ordered only if this fence is on the "
        "path that orders them.", r"^proxies/"),
    Row("bulk_copy.cuh", "Ordinary stores come before a copy that reads them only with `proxy_fence<proxy::async>`",
        r"^proxies/.*[+](copy|load)_in_bulk"),
    Row("bulk_copy.cuh", "Ordinary loads come before a copy that overwrites what they read only with such a fence as well.",
        r"^proxies/.*[+](store|load)_before_load_in_bulk"),
    Row("bulk_copy.cuh", "The source of a copy out of shared memory may be written again after `bulk_wait_read`, by the thread that "
        "committed and by what that thread synchronizes with.", r"^asynchronous/Reuse"),
    Row("cluster_barrier.cuh", "With `release` it synchronizes with the `cluster_wait` of every thread of the cluster.",
        r"^asynchronous/.*\+cluster_arrive\.release"),
    Row("cluster_barrier.cuh", "With `relaxed` it orders nothing by itself: `thread_fence<thread_scope::cluster>(release)` before it "
        "synchronizes with these waits.", r"^asynchronous/.*cluster_arrive\.relaxed"),
    Row("mbarrier.cuh", "An arrival with `release` synchronizes with a wait with `acquire` for its phase, if each one's scope includes "
        "the other's thread.", r"^asynchronous/.*mbarrier"),
    Row("dependent_launch.cuh", "Waits until the kernels that this one depends on have ended. All that they did is visible to the "
        "calling thread then.", r"^asynchronous/MP\.launch"),
    Row("sync/sequence_lock.cuh", "a read that is done synchronizes with the write whose value it took, and never mixes the bytes of two "
        "writes.", r"^patterns/"),
    Row("mapped_memory.hpp", "Only operations of system scope and synchronization order the writes of host and device.",
        r"^host/"),
]

# Sentences that the suite does not test, and what tests them instead. One block of a litmus run holds many instances, so a test cannot use
# the block's barrier. Its cells have 16 bytes.
PATTERN = "its orders: tests/model/sync_patterns_test.cpp; its code: the stress tests in tests/gpu"
ELSEWHERE = {
    "load_store.cuh": {"Synchronizes with nothing, and races": "it is in the controls",
                       "Synchronizes with nothing.": "it is in the controls"},
    "aggregated.cuh": {"a barrier of the lanes is before the leader's operation if that releases, and one after it if it acquires.":
                       "only groups of one lane run, because each lane runs another instance; groups of several lanes: "
                       "tests/gpu/atomic_types_test.cu; the barriers: the codegen tests",
                       "values are combined with relaxed atomics of block scope": "barriers of a block: tests/gpu/atomic_contention_test.cu"},
    "atomic.hpp": {"say what they synchronize with and become": "`atomic` calls `atomic_ref`"},
    "read_only.cuh": {"Synchronizes with nothing": "no thread writes such data while a kernel runs"},
    "sync/sequence_lock.cuh": {"lock that synchronizes them": "it is a property of that lock"},
    "async_copy.cuh": {"synchronizes with nothing by itself": "its orders: tests/model/asynchronous_test.cpp; its code: tests/gpu/asynchronous_test.cu"},
    "fence.cuh": {"The two synchronize through a relaxed flag": "its orders: tests/litmus/catalogue, OneWay; its code: tests/codegen"},
    "block_barrier.cuh": {"It synchronizes with nothing": "`elect.sync` has no event in the model; its code: tests/codegen"},
    "multimem.cuh": {"Synchronizes, at `Scope`": "its orders: tests/litmus/catalogue, Alias.multimem; its code, which has not run: tests/codegen"},
    "mbarrier.cuh": {words: "its orders: tests/litmus/catalogue, Bulk, Transaction and CpAsync; its code: tests/gpu/mbarrier_test.cu"
                     for words in ("The completion of an asynchronous copy synchronizes",
                                   "An arrival synchronizes with a wait of cluster scope", "Synchronizes, with", "Synchronizes as",
                                   "Synchronizes with nothing")},
    "wait_budget.hpp": {"Only `done` synchronizes": PATTERN},
    **{f"sync/{header}.cuh": dict.fromkeys(words, PATTERN) for header, *words in (
        ("bulk_pipeline", "Synchronizes: what"), ("cluster_broadcast", "Synchronizes: what"),
        ("dependent_chain", "Synchronizes: what"), ("cross_barrier", "Synchronizes: with"), ("grid_barrier", "Synchronizes: with"),
        ("last_block", "Synchronizes: what", "Synchronizes as", "a use that comes after"),
        ("mpmc_channel", "a `pop` that is done synchronizes", "that `closed` synchronizes"),
        ("mpsc_channel", "a `pop` that is done synchronizes", "that `closed` synchronizes"),
        ("packed_channel", "It synchronizes with nothing", "No push synchronizes"), ("publisher", "a consumer that acquires"),
        ("queue_lock", "a `lock` or `try_lock`"), ("ticket_lock", "a `lock` or `try_lock`"),
        ("spsc_channel", "a `pop` that is done synchronizes", "synchronizes with the producer's `close`",
         "unless they synchronize"))},
}
# Folders of headers that the suite does not test.
FOLDERS = {
    "symmetric": "its orders: tests/model/symmetric_patterns_test.cpp; its code: tests/multi_gpu",
    "base": "macros and the state of the process: tests/unit and tests/headers",
    "deadlock": "it runs nothing: tests/unit",
    "model": "the model itself: tests/model",
    "litmus": "the engine itself: tests/litmus and tests/codegen",
    "detail": "through the headers that use it",
}
