# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Programs whose answers are known without the oracle, in pairs of a correct and a wrong version."""

from model import Ins, Loc
from programs import Launch, places

X, F, Y, S, V = Loc("x"), Loc("f"), Loc("y"), Loc("s"), Loc("v")
CLEAN = frozenset()


def ld(loc, order="weak", scope="gpu", **more):
    return Ins("ld", loc, order, scope, **more)


def st(loc, value=1, order="weak", scope="gpu", **more):
    return Ins("st", loc, order, scope, value, **more)


def update(op, loc, value=1, order="relaxed", scope="gpu"):
    return Ins(op, loc, order, scope, value)


def wait(loc, value=1, order="acquire", scope="gpu"):
    return Ins("wait", loc, order, scope, value, "==")


def need(loc, value, order="acquire", scope="gpu"):
    return Ins("need", loc, order, scope, value, "==")


def fence(order="acq_rel", scope="gpu"):
    return Ins("fence", order=order, scope=scope)


def bar(at, aligned=True):
    return Ins("bar", order="aligned" if aligned else "unaligned", arg=at)


def packed(loc, value=0x3c003c00, arg="red"):
    return Ins("packed", loc, "relaxed", "gpu", value, arg)


RET, PROXY = Ins("ret"), Ins("pfence")
COPY_IN, ARRIVED = Ins("copyin", S, arg=(X, 0)), Ins("mwait", arg=0)
COPY_OUT, WRITTEN, READ = Ins("copyout", Y, arg=S), Ins("gwait", arg=""), Ins("gwait", arg="read")


def launch(*segments, devices=1, blocks=1, threads=1, cluster=0, syncs=None, host=(), shared=(), device=(), managed=(), x=0):
    """Makes a program. Each segment has one list of instructions per thread."""
    spaces = {"f": "global", "x": "global", "y": "global", **{n: "shared" for n in shared}, **{n: "device" for n in device},
              **{n: "managed" for n in managed}}
    where = places(devices, blocks, threads, cluster)
    assert all(len(s) == len(where) for s in segments)
    return Launch(where, threads, cluster, tuple(tuple(tuple(b) for b in s) for s in segments), tuple(syncs or [""] * len(segments)),
                  tuple(tuple(b) for b in host), spaces, {"f": 0, "x": x, "y": 0, **{n: 0 for n in (*device, *managed)},
                   **(device if isinstance(device, dict) else {})})


def two_blocks(a, b, **more):
    return launch([a, b], blocks=2, **more)


def in_cluster(*segments, syncs, threads=1):
    return launch(*segments, blocks=2, threads=threads, cluster=2, syncs=syncs, shared=["s"])


def one_block(*segments, threads, syncs=None, shared=()):
    return launch(*segments, threads=threads, syncs=syncs, shared=shared)


SETS = [[st(S, 10)], [st(S, 11)]]  # each block sets its own word
NEIGHBOUR = [[ld(Loc("s", 1))], [ld(Loc("s", 0))]]
NOTHING = [[], []]

# name: (launch, findings, final values (f, x, y) if they are few, registers per thread)
PROGRAMS = {
    # ---- message passing
    "message": (two_blocks([st(X, 7), st(F, 1, "release")], [wait(F), ld(X)]), CLEAN, {((1, 7, 0), ((), (7,)))}),
    "message_relaxed_store": (two_blocks([st(X, 7), st(F, 1, "relaxed")], [wait(F), ld(X)]), {"race"}, None),
    "message_relaxed_load": (two_blocks([st(X, 7), st(F, 1, "release")], [wait(F, order="relaxed"), ld(X)]), {"race"}, None),
    "message_of_block_scope": (two_blocks([st(X, 7), st(F, 1, "release", "cta")], [wait(F), ld(X)]), {"race"}, None),
    "message_of_block_scope_in_block": (one_block([[st(X, 7), st(F, 1, "release", "cta")], [wait(F, scope="cta"), ld(X)]], threads=2), CLEAN, None),
    "message_by_fences": (two_blocks([st(X, 7), fence(), st(F, 1, "relaxed")], [wait(F, order="relaxed"), fence(), ld(X)]), CLEAN, None),
    "message_by_weak_flag": (two_blocks([st(X, 7), fence(), st(F, 1)], [wait(F, order="relaxed"), fence(), ld(X)]), {"race"}, None),
    "message_looked_at_once": (two_blocks([st(X, 7), st(F, 1, "release")], [need(F, 1), ld(X)]), CLEAN,
                               {((1, 7, 0), ((), (7,))), ((1, 7, 0), ((), ()))}),
    "message_read_in_any_case": (two_blocks([st(X, 7), st(F, 1, "release")], [ld(F, "acquire"), ld(X)]), {"race"}, None),
    "release_sequence": (launch([[st(X, 7), st(F, 1, "release")], [wait(F, 1, "relaxed"), update("add", F)], [wait(F, 2), ld(X)]],
                                blocks=3), CLEAN, None),
    "release_cut_by_a_store": (launch([[st(X, 7), st(F, 1, "release")], [wait(F, 1, "relaxed"), st(F, 2, "relaxed")],
                                       [wait(F, 2), ld(X)]], blocks=3), {"race"}, None),
    "overwrites_what_it_saw": (two_blocks([st(X, 7, "relaxed")], [wait(X, 7, "relaxed"), st(X, 8)]), CLEAN, {((0, 8, 0), ((), ()))}),
    "overwrites_an_update_it_saw": (two_blocks([update("exch", X, 7)], [wait(X, 7, "relaxed"), st(X, 8)]), CLEAN, None),
    "overwrites_at_once": (two_blocks([st(X, 7, "relaxed")], [st(X, 8)]), {"race"}, None),
    "nobody_writes": (two_blocks([], [wait(F)]), {"hang"}, None),
    "store_buffering_with_fences": (two_blocks([st(X, 1, "relaxed"), fence("sc"), ld(F, "relaxed")],
                                               [st(F, 1, "relaxed"), fence("sc"), ld(X, "relaxed")]),
                                    CLEAN, {((1, 1, 0), r) for r in [((0,), (1,)), ((1,), (0,)), ((1,), (1,))]}),
    # ---- red
    "red_then_acquire": (launch([[st(X, 7), st(F, 1, "release")], [update("red", F, 2), need(F, 16), ld(X)],
                                 [need(F, 3, "relaxed"), st(F, 16, "relaxed")]], blocks=3), {"race"}, None),
    "add_then_acquire": (launch([[st(X, 7), st(F, 1, "release")], [update("add", F, 2), need(F, 16), ld(X)],
                                 [need(F, 3, "relaxed"), st(F, 16, "relaxed")]], blocks=3), CLEAN, None),
    "red_in_a_chain": (launch([[st(X, 7), st(F, 1, "release")], [update("red", F, 2)], [need(F, 3), ld(X)]], blocks=3), CLEAN, None),
    # ---- clusters
    "neighbour": (in_cluster(SETS, NEIGHBOUR, syncs=["csync", "csync"]), CLEAN, {((0, 0, 0), ((11,), (10,)))}),
    "neighbour_without_last_barrier": (in_cluster(SETS, NEIGHBOUR, syncs=["csync", ""]), {"undefined"}, None),
    "neighbour_may_not_have_begun": (in_cluster([[], [st(Loc("s", 0), 3)]], [[ld(S)], []], syncs=["csync", ""]), {"undefined"}, None),
    "neighbour_has_begun": (in_cluster(NOTHING, [[], [st(Loc("s", 0), 3)]], [[ld(S)], []], syncs=["csync", "csync", ""]), CLEAN, None),
    "neighbour_has_begun_by_a_flag": (in_cluster([[st(F, 1, "release", "cluster")], [wait(F, scope="cluster"), st(Loc("s", 0), 3)]],
                                                [[ld(S)], []], syncs=["csync", ""]), CLEAN, None),
    "neighbour_told_by_flag_before_exit": (in_cluster(SETS, [[wait(F)], [ld(Loc("s", 0)), st(F, 1, "release")]],
                                                      syncs=["csync", ""]), CLEAN, None),
    "neighbour_told_by_relaxed_flag": (in_cluster(SETS, [[wait(F)], [ld(Loc("s", 0)), st(F, 1, "relaxed")]],
                                                 syncs=["csync", ""]), {"undefined"}, None),
    "one_thread_returned_the_block_lives": (in_cluster([[st(S, 1)], [RET], [], [RET]], [[], [], [ld(Loc("s", 0))], []], NOTHING + NOTHING,
                                                       syncs=["csync", "csync", ""], threads=2), CLEAN, None),
    "window_of_the_own_block": (in_cluster(SETS, [[ld(Loc("s", 0), window=True)], []], syncs=["csync", "csync"]), CLEAN, None),
    "window_of_another_block": (in_cluster(SETS, [[], [ld(Loc("s", 0), window=True)]], syncs=["csync", "csync"]), {"undefined"}, None),
    # ---- packed types
    "packed_beside_packed": (two_blocks([packed(X)], [packed(X)]), CLEAN, {((0, 0x40004000, 0), ((), ()))}),
    "packed_beside_word": (two_blocks([packed(X)], [update("exch", X, 0)]), {"race"}, None),
    "packed_beside_half": (two_blocks([packed(X)], [ld(Loc("x", None, 1), "relaxed")]), CLEAN,
                           {((0, 0x3c003c00, 0), ((), (v,))) for v in (0, 0x3c00)}),
    "packed_torn": (two_blocks([packed(X, arg="atom")], [packed(X, arg="atom")]), CLEAN,
                    {((0, 0x40004000, 0), ((v,), (0x3c003c00 - v,))) for v in (0, 0x3c00, 0x3c000000, 0x3c003c00)}),
    "packed_then_word": (two_blocks([packed(X), st(F, 1, "release")], [wait(F), ld(X)]), CLEAN, None),
    # ---- barriers
    "barrier": (one_block([[st(X)], []], [[], [ld(X)]], threads=2, syncs=["bar", ""]), CLEAN, {((0, 1, 0), ((), (1,)))}),
    "early_return": (one_block([[st(X)], [], [RET]], [[], [ld(X)], []], threads=3, syncs=["bar", ""]), CLEAN, None),
    "returned_thread_is_not_ordered": (one_block([[st(X), RET], []], [[], [ld(X)]], threads=2, syncs=["bar", ""]), {"race"}, None),
    "fences_around_an_exit": (one_block([[st(X, 7, "relaxed"), fence("sc"), RET], []], [[], [fence("sc"), ld(X, "relaxed")]], threads=2,
                                        syncs=["bar", ""]), CLEAN, None),
    "fences_around_an_exit_and_weak_data": (one_block([[st(X), fence("sc"), RET], []], [[], [fence("sc"), ld(X)]], threads=2, syncs=["bar", ""]),
                                            CLEAN, None),
    "different_aligned": (one_block([[bar(100)], [bar(101)]], threads=2), {"undefined"}, None),
    "different_unaligned": (one_block([[st(X), bar(100, False)], [bar(101, False), ld(X)]], threads=2), CLEAN, None),
    "aligned_in_a_branch": (one_block([[bar(100)], []], NOTHING, threads=2, syncs=["bar", ""]), {"undefined"}, None),
    "unaligned_in_a_branch": (one_block([[bar(100, False)], [bar(101)]], threads=2), {"undefined"}, None),
    # ---- bulk copies
    "copy_in": (one_block([[COPY_IN, ARRIVED, ld(S)]], threads=1, shared=["s"]), CLEAN, {((0, 0, 0), ((0,),))}),
    "copy_in_not_waited_for": (one_block([[COPY_IN]], threads=1, shared=["s"]), {"undefined"}, None),
    "copy_in_read_early": (one_block([[COPY_IN, ld(S), ARRIVED]], threads=1, shared=["s"]), {"race", "uninitialised"}, None),
    "copy_out": (one_block([[st(S, 4), PROXY, COPY_OUT, WRITTEN, ld(Y)]], threads=1, shared=["s"]), CLEAN, {((0, 0, 4), ((4,),))}),
    "copy_out_without_proxy_fence": (one_block([[st(S, 4), COPY_OUT, WRITTEN]], threads=1, shared=["s"]), {"race"}, None),
    "copy_out_not_waited_for": (one_block([[st(S, 4), PROXY, COPY_OUT]], threads=1, shared=["s"]), {"undefined"}, None),
    "copy_out_source_read": (one_block([[st(S, 4), PROXY, COPY_OUT, READ]], threads=1, shared=["s"]), CLEAN, {((0, 0, 4), ((),))}),
    "copy_out_result_early": (one_block([[st(S, 4), PROXY, COPY_OUT, READ, ld(Y)]], threads=1, shared=["s"]), {"race"}, None),
    # ---- devices and the host
    "device_scope_on_two_devices": (launch([[st(X, 7), st(F, 1, "release")], [wait(F), ld(X)]], devices=2), {"race"}, None),
    "system_scope_on_two_devices": (launch([[st(X, 7), st(F, 1, "release", "sys")], [wait(F, scope="sys"), ld(X)]], devices=2), CLEAN, None),
    "variable_per_device": (launch([[st(V), ld(V)], [ld(V)]], devices=2, device=["v"]), CLEAN, {((0, 0, 0, 1, 0), ((1,), (0,)))}),
    "variable_begins_per_device": (launch([[ld(V)], [ld(V)]], devices=2, device={"v": {0: 3, 1: 4}}), CLEAN, {((0, 0, 0, 3, 4), ((3,), (4,)))}),
    "variable_of_all_devices": (launch([[st(V)], [ld(V)]], devices=2, managed=["v"]), {"race"}, None),
    "variable_of_all_devices_by_system_scope": (launch([[st(V), st(F, 1, "release", "sys")], [wait(F, scope="sys"), ld(V)]], devices=2,
                                                       managed=["v"]), CLEAN, {((1, 0, 0, 1), ((), (1,)))}),
    "variable_of_one_device": (two_blocks([st(V)], [ld(V)], device=["v"]), {"race"}, None),
    "host_reads": (launch([[st(X, 7), st(F, 1, "release", "sys")]], host=[[wait(F, scope="sys"), ld(X)]]), CLEAN, None),
    "host_reads_after_device_scope": (launch([[st(X, 7), st(F, 1, "release", "gpu")]], host=[[wait(F, scope="sys"), ld(X)]]), {"race"}, None),
    "host_reads_relaxed": (launch([[st(X, 7), st(F, 1, "release", "sys")]], host=[[wait(F, order="relaxed", scope="sys"), ld(X)]]), {"race"}, None),
    "host_fences": (launch([[st(X, 7), fence(scope="sys"), st(F, 1, "relaxed", "sys")]],
                           host=[[wait(F, order="relaxed", scope="sys"), fence(scope="sys"), ld(X)]]), CLEAN, None),
    "host_adds": (launch([[update("add", F, 1, "release", "sys")]], host=[[update("exch", F, 5, "acquire", "sys")], [update("add", F, 2, "relaxed", "sys")]]),
                  CLEAN, {((v, 0, 0), ((r,), (a,), (b,))) for v, r, a, b in
                          [(7, 0, 1, 5), (5, 0, 3, 1), (8, 7, 0, 5), (8, 5, 0, 6), (5, 2, 3, 0), (6, 5, 2, 0)]}),
    "host_does_not_count_as_gpu_scope": (launch([[update("add", F, 1, "relaxed", "gpu")]], host=[[update("add", F, 2, "relaxed", "sys")]]), {"race"}, None),
    "host_writes": (launch([[wait(F, scope="sys"), ld(X)]],
                           host=[[st(X, 7, scope="sys"), st(F, 1, "release", "sys")]]), CLEAN, {((1, 7, 0), ((7,), ()))}),
}
