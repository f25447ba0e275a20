# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The asynchronous parts of the codegen matrix: mbarriers, bulk and small copies, cluster barriers, and dependent launches.

The tables restate the reference pages in PTX, independently of the headers. matrix.py writes the parts, and check_matrix.py checks them.
"""

ARRIVALS = {"relaxed": "relaxed", "release": "release"}
WAITS = {"relaxed": "relaxed", "acquire": "acquire"}
CLUSTER_SCOPES = {"block": "cta", "cluster": "cluster"}

PREAMBLE = """\
// Written by tests/codegen/matrix.py.
#include <membar/async_copy.cuh>
#include <membar/atomic.cuh>
#include <membar/block_barrier.cuh>
#include <membar/bulk_copy.cuh>
#include <membar/cluster_barrier.cuh>
#include <membar/cluster_launch.cuh>
#include <membar/dependent_launch.cuh>
#include <membar/fence.cuh>
#include <membar/mbarrier.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

extern __shared__ unsigned long long memory[];
__device__ inline unsigned here() { return static_cast<unsigned>(__cvta_generic_to_shared(memory)); }
"""


def asm(text, outputs="", inputs=""):
    return f'asm volatile("{text};" : {outputs} : {inputs} : "memory");'


def asm_predicate(instruction, operands, inputs):
    """Returns an asm statement for an instruction whose result is a predicate, which is stored to `*result`."""
    text = f"{{ .reg .pred complete; {instruction} complete, {operands}; selp.b32 %0, 1, 0, complete; }}"
    return f'unsigned done; asm volatile("{text}" : "=r"(done) : {inputs} : "memory"); *result = done != 0;'


def add_mbarriers(part):
    hopper = part.architecture >= 90
    for scope, s in (CLUSTER_SCOPES if hopper else {"block": "cta"}).items():
        barrier = f"membar::mbarrier<membar::thread_scope::{scope}>"
        of = f"{barrier}& b = {barrier}::of(memory);"

        def add(name, call, instruction, operands, inputs="", result=None, parameters=""):
            """Adds a call that becomes one instruction. `result` is "state", "predicate" or empty."""
            comma = ", " if parameters else ""
            own = f'"r"(here()){", " + inputs if inputs else ""}'
            name = f"mbarrier_{name}_{scope}"
            if result == "state":
                to = '"=l"(state)'
                hand = f"unsigned long long state; {asm(f'{instruction} %0, {operands}', to, own)} *result = state;"
                part.kernel(name, f"unsigned long long* result{comma}{parameters}", f"{of} *result = {call}.native();", [instruction], hand)
            elif result == "predicate":
                part.kernel(name, f"unsigned* result{comma}{parameters}", f"{of} *result = {call};", [instruction],
                            asm_predicate(instruction, operands, own))
            else:
                part.kernel(name, parameters, f"{of} {call};", [instruction], asm(f"{instruction} {operands}", "", own))

        add("init", "b.init(count)", "mbarrier.init.shared::cta.b64", "[%0], %1", '"r"(count)', parameters="unsigned count")
        add("invalidate", "b.invalidate()", "mbarrier.inval.shared::cta.b64", "[%0]")
        if scope == "block":
            add("arrive_no_complete", "b.arrive_no_complete(count)", "mbarrier.arrive.noComplete.release.cta.shared::cta.b64", "[%1], %2",
                '"r"(count)', "state", "unsigned count")
        for order in ARRIVALS if hopper else ["release"]:
            o = f"membar::{order}"
            add(f"arrive_{order}", f"b.arrive({o})", f"mbarrier.arrive.{order}.{s}.shared::cta.b64", "[%1]", result="state")
            add(f"arrive_drop_{order}", f"b.arrive_drop({o})", f"mbarrier.arrive_drop.{order}.{s}.shared::cta.b64", "[%1]", result="state")
            if hopper:
                add(f"arrive_count_{order}", f"b.arrive({o}, count)", f"mbarrier.arrive.{order}.{s}.shared::cta.b64", "[%1], %2", '"r"(count)',
                    "state", "unsigned count")
                add(f"arrive_drop_expect_{order}", f"b.arrive_drop_expect(bytes, {o})", f"mbarrier.arrive_drop.expect_tx.{order}.{s}.shared::cta.b64",
                    "[%1], %2", '"r"(bytes)', "state", "unsigned bytes")
                add(f"arrive_expect_{order}", f"b.arrive_expect(bytes, {o})", f"mbarrier.arrive.expect_tx.{order}.{s}.shared::cta.b64", "[%1], %2",
                    '"r"(bytes)', "state", "unsigned bytes")
        for call, form in (("expect", "expect_tx"), ("complete", "complete_tx")) if hopper else ():
            add(call, f"b.{call}(bytes)", f"mbarrier.{form}.relaxed.{s}.shared::cta.b64", "[%0], %1", '"r"(bytes)', parameters="unsigned bytes")
        # For sm_80, ptxas 13.0 crashes on a state that is uniform across threads. No arrival returns such a state.
        token = "membar::mbarrier_token::from_native(state + threadIdx.x)"
        for order in WAITS if hopper else ["acquire"]:
            o = f"membar::{order}"
            for form in ("test_wait", "try_wait") if hopper else ("test_wait",):
                add(f"{form}_{order}", f"b.{form}({token}, {o})", f"mbarrier.{form}.{order}.{s}.shared::cta.b64", "[%1], %2", '"l"(state + threadIdx.x)',
                    "predicate", "unsigned long long state")
                add(f"{form}_parity_{order}", f"b.{form}_parity(parity, {o})", f"mbarrier.{form}.parity.{order}.{s}.shared::cta.b64", "[%1], %2",
                    '"r"(parity)', "predicate", "unsigned parity")
            if hopper:
                add(f"try_wait_hint_{order}", f"b.try_wait({token}, {o}, ns)", f"mbarrier.try_wait.{order}.{s}.shared::cta.b64", "[%1], %2, %3",
                    '"l"(state + threadIdx.x), "r"(ns)', "predicate", "unsigned long long state, unsigned ns")
                add(f"try_wait_parity_hint_{order}", f"b.try_wait_parity(parity, {o}, ns)", f"mbarrier.try_wait.parity.{order}.{s}.shared::cta.b64",
                    "[%1], %2, %3", '"r"(parity), "r"(ns)', "predicate", "unsigned parity, unsigned ns")
            form = "try_wait" if hopper else "test_wait"
            budget = "membar::wait_budget::milliseconds(1)"
            for name, call, parameter, instruction in (
                    ("wait", f"b.wait({token}, {o}, {budget})", "unsigned long long state", f"mbarrier.{form}"),
                    ("wait_parity", f"b.wait_parity(parity, {o}, {budget})", "unsigned parity", f"mbarrier.{form}.parity")):
                part.kernel(f"mbarrier_{name}_{order}_{scope}", f"unsigned* result, {parameter}",
                            f"{of} *result = {call} == membar::wait_result::done;", [f"{instruction}.{order}.{s}.shared::cta.b64"], looped=True)
    form = "mbarrier.arrive.noComplete.release.cta.shared::cta.b64"
    arrived = 'unsigned long long state; ' + asm(f"{form} %0, [%1], %2", '"=l"(state)', '"r"(here()), "r"(count)')
    part.kernel("mbarrier_pending_count", "unsigned* result, unsigned count",
                "*result = membar::mbarrier<membar::thread_scope::block>::of(memory).arrive_no_complete(count).pending_count();",
                [form, "mbarrier.pending_count.b64"],
                f"{arrived} unsigned pending; " + asm("mbarrier.pending_count.b64 %0, %1", '"=r"(pending)', '"l"(state)') + " *result = pending;")
    if hopper:
        add_remote_mbarriers(part)


def add_remote_mbarriers(part):
    """Adds a call on another block of the cluster, which becomes mapa and one instruction."""
    barrier = "membar::mbarrier<membar::thread_scope::cluster>"
    there = 'unsigned there; ' + asm("mapa.shared::cluster.u32 %0, %1, %2", '"=r"(there)', '"r"(here()), "r"(rank)')

    def add(name, call, instruction, operands, inputs="", parameters=""):
        given = '"r"(there)' + (f", {inputs}" if inputs else "")
        part.kernel(f"remote_mbarrier_{name}", f"unsigned rank{', ' + parameters if parameters else ''}",
                    f"{barrier}::of(memory).in_block(rank).{call};", ["mapa.shared::cluster.u32", instruction],
                    f"{there} {asm(f'{instruction} {operands}', '', given)}")

    for order in ARRIVALS:
        o = f"membar::{order}"
        form = f"{order}.cluster.shared::cluster.b64"
        add(f"arrive_{order}", f"arrive({o}, count)", f"mbarrier.arrive.{form}", "_, [%0], %1", '"r"(count)', "unsigned count")
        add(f"arrive_once_{order}", f"arrive({o})", f"mbarrier.arrive.{form}", "_, [%0], %1", '"r"(1)')
        add(f"arrive_expect_{order}", f"arrive_expect(bytes, {o})", f"mbarrier.arrive.expect_tx.{form}", "_, [%0], %1", '"r"(bytes)',
            "unsigned bytes")
        add(f"arrive_drop_{order}", f"arrive_drop({o})", f"mbarrier.arrive_drop.{form}", "_, [%0]")
        add(f"arrive_drop_expect_{order}", f"arrive_drop_expect(bytes, {o})", f"mbarrier.arrive_drop.expect_tx.{form}", "_, [%0], %1",
            '"r"(bytes)', "unsigned bytes")
    for call, form in (("expect", "expect_tx"), ("complete", "complete_tx")):
        add(call, f"{call}(bytes)", f"mbarrier.{form}.relaxed.cluster.shared::cluster.b64", "[%0], %1", '"r"(bytes)', "unsigned bytes")


# The C++ and PTX types of each bulk reduction to global memory.
WHOLE = {"unsigned": "u32", "unsigned long long": "u64", "int": "s32"}
BITS = {"unsigned": "b32", "unsigned long long": "b64"}
BULK_REDUCTIONS = {
    "add": WHOLE | {"long long": "u64", "float": "f32", "double": "f64", "__half": "noftz.f16", "__nv_bfloat16": "noftz.bf16"},
    "min": WHOLE | {"long long": "s64", "__half": "f16", "__nv_bfloat16": "bf16"},
    "max": WHOLE | {"long long": "s64", "__half": "f16", "__nv_bfloat16": "bf16"},
    "inc": {"unsigned": "u32"}, "dec": {"unsigned": "u32"},
    "bitwise_and": BITS, "bitwise_or": BITS, "bitwise_xor": BITS,
}


def add_bulk_copies(part):
    on_mbarrier = "mbarrier::complete_tx::bytes"
    to_global, from_global = '"l"(__cvta_generic_to_global(to))', '"l"(__cvta_generic_to_global(from))'
    stage = "static_cast<unsigned>(__cvta_generic_to_shared(memory + 2))"
    for scope in CLUSTER_SCOPES:
        barrier = f"membar::mbarrier<membar::thread_scope::{scope}>::of(memory)"
        form = f"cp.async.bulk.shared::cta.global.{on_mbarrier}"
        part.kernel(f"bulk_load_{scope}", "const void* from, unsigned bytes",
                    f"static_cast<void>(membar::bulk_load(memory + 2, from, bytes, {barrier}));", [form],
                    asm(f"{form} [%0], [%1], %2, [%3]", "", f'"r"({stage}), {from_global}, "r"(bytes), "r"(here())'))
    form = f"cp.async.bulk.shared::cluster.global.{on_mbarrier}.multicast::cluster"
    part.kernel("bulk_load_multicast", "const void* from, unsigned bytes, unsigned short blocks",
                f"static_cast<void>(membar::bulk_load_multicast(memory + 2, from, bytes, {barrier}, blocks));", [form],
                asm(f"{form} [%0], [%1], %2, [%3], %4", "", f'"r"({stage}), {from_global}, "r"(bytes), "r"(here()), "h"(blocks)'))
    hint, policy = "L2::cache_hint", "unsigned long long policy"
    form = f"cp.async.bulk.shared::cta.global.{on_mbarrier}.{hint}"
    part.kernel("bulk_load_policy", f"const void* from, unsigned bytes, {policy}",
                f"static_cast<void>(membar::bulk_load(memory + 2, from, bytes, {barrier}, membar::l2_policy(policy)));", [form],
                asm(f"{form} [%0], [%1], %2, [%3], %4", "", f'"r"({stage}), {from_global}, "r"(bytes), "r"(here()), "l"(policy)'))
    form = f"cp.async.bulk.shared::cluster.global.{on_mbarrier}.multicast::cluster.{hint}"
    part.kernel("bulk_load_multicast_policy", f"const void* from, unsigned bytes, unsigned short blocks, {policy}",
                f"static_cast<void>(membar::bulk_load_multicast(memory + 2, from, bytes, {barrier}, blocks, membar::l2_policy(policy)));", [form],
                asm(f"{form} [%0], [%1], %2, [%3], %4, %5", "",
                    f'"r"({stage}), {from_global}, "r"(bytes), "r"(here()), "h"(blocks), "l"(policy)'))
    form = f"cp.async.bulk.shared::cluster.shared::cta.{on_mbarrier}"
    there = "unsigned there, completes; " + asm("mapa.shared::cluster.u32 %0, %1, %2", '"=r"(there)', f'"r"({stage}), "r"(rank)') + asm(
        "mapa.shared::cluster.u32 %0, %1, %2", '"=r"(completes)', '"r"(here()), "r"(rank)')
    source = "static_cast<unsigned>(__cvta_generic_to_shared(memory + 4))"
    part.kernel("bulk_send", "unsigned rank, unsigned bytes",
                f"static_cast<void>(membar::bulk_send(memory + 2, rank, memory + 4, bytes, {barrier}));",
                ["mapa.shared::cluster.u32", "mapa.shared::cluster.u32", form],
                f"{there} {asm(f'{form} [%0], [%1], %2, [%3]', '', f'{chr(34)}r{chr(34)}(there), {chr(34)}r{chr(34)}({source}), {chr(34)}r{chr(34)}(bytes), {chr(34)}r{chr(34)}(completes)')}")
    commit = "cp.async.bulk.commit_group"
    form = "cp.async.bulk.global.shared::cta.bulk_group"
    given = f'{to_global}, "r"({stage}), "r"(bytes)'
    part.kernel("bulk_store", "void* to, unsigned bytes", "membar::bulk_commit(membar::bulk_store(to, memory + 2, bytes));", [form, commit],
                asm(f"{form} [%0], [%1], %2", "", given) + asm(commit))
    stored = "membar::bulk_commit(membar::bulk_store"
    part.kernel("bulk_store_policy", f"void* to, unsigned bytes, {policy}", f"{stored}(to, memory + 2, bytes, membar::l2_policy(policy)));",
                [f"{form}.{hint}", commit], asm(f"{form}.{hint} [%0], [%1], %2, %3", "", f'{given}, "l"(policy)') + asm(commit))
    if part.architecture >= 100:
        mask = "unsigned short mask"
        part.kernel("bulk_store_masked", f"void* to, unsigned bytes, {mask}", f"{stored}_masked(to, memory + 2, bytes, mask));",
                    [f"{form}.cp_mask", commit], asm(f"{form}.cp_mask [%0], [%1], %2, %3", "", f'{given}, "h"(mask)') + asm(commit))
        part.kernel("bulk_store_masked_policy", f"void* to, unsigned bytes, {mask}, {policy}",
                    f"{stored}_masked(to, memory + 2, bytes, mask, membar::l2_policy(policy)));", [f"{form}.{hint}.cp_mask", commit],
                    asm(f"{form}.{hint}.cp_mask [%0], [%1], %2, %3, %4", "", f'{given}, "l"(policy), "h"(mask)') + asm(commit))
    reduced = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{hint}.max.u64"
    part.kernel("bulk_reduce_policy", f"unsigned long long* to, unsigned bytes, {policy}",
                "membar::bulk_commit(membar::bulk_reduce<membar::async_operation::max>(to, "
                "static_cast<const unsigned long long*>(memory + 2), bytes, membar::l2_policy(policy)));", [reduced, commit],
                asm(f"{reduced} [%0], [%1], %2, %3", "", f'{given}, "l"(policy)') + asm(commit))
    for operation, types in BULK_REDUCTIONS.items():
        for cpp, ptx in types.items():
            form = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation.removeprefix('bitwise_')}.{ptx}"
            part.kernel(f"bulk_reduce_{operation}_{cpp.replace(' ', '_')}", f"{cpp}* to, unsigned bytes",
                        f"membar::bulk_commit(membar::bulk_reduce<membar::async_operation::{operation}>(to, "
                        f"reinterpret_cast<const {cpp}*>(memory + 2), bytes));", [form, commit],
                        asm(f"{form} [%0], [%1], %2", "", given) + asm(commit))
    for pending in (0, 1, 7):
        for call, form in (("bulk_wait", "wait_group"), ("bulk_wait_read", "wait_group.read")):
            part.kernel(f"{call}_{pending}", "", f"membar::{call}<{pending}>();", [f"cp.async.bulk.{form}"], asm(f"cp.async.bulk.{form} {pending}"))


# The C++ and PTX types of each remote reduction.
REMOTE_REDUCTIONS = {
    "add": WHOLE | {"long long": "u64"}, "min": {"unsigned": "u32", "int": "s32"}, "max": {"unsigned": "u32", "int": "s32"},
    "inc": {"unsigned": "u32"}, "dec": {"unsigned": "u32"},
    "bitwise_and": {"unsigned": "b32"}, "bitwise_or": {"unsigned": "b32"}, "bitwise_xor": {"unsigned": "b32"},
}


def add_async_copies(part):
    """Adds the forms of cp.async, which need sm_80."""
    stage, given = '"r"(static_cast<unsigned>(__cvta_generic_to_shared(to)))', '"l"(__cvta_generic_to_global(from))'
    commit, wait = "cp.async.commit_group", "cp.async.wait_group"
    for cpp, size, caching in (("unsigned", 4, "all_levels"), ("double", 8, "all_levels"), ("uint4", 16, "all_levels"), ("uint4", 16, "l2_only")):
        form = f"cp.async.{'ca' if caching == 'all_levels' else 'cg'}.shared::cta.global"
        to = f"{cpp}* to = reinterpret_cast<{cpp}*>(memory) + 1;"
        how = "" if caching == "all_levels" else f"<membar::async_caching::{caching}>"
        part.kernel(f"async_copy_{cpp}_{caching}", f"const {cpp}* from", f"{to} membar::async_commit(membar::async_copy{how}(to, from));",
                    [form, commit], to + asm(f"{form} [%0], [%1], {size}", "", f"{stage}, {given}") + asm(commit))
        part.kernel(f"async_copy_first_{cpp}_{caching}", f"const {cpp}* from, unsigned there",
                    f"{to} membar::async_commit(membar::async_copy_first{how}(to, from, there));", [form, commit],
                    to + asm(f"{form} [%0], [%1], {size}, %2", "", f'{stage}, {given}, "r"(there)') + asm(commit))
        part.kernel(f"async_copy_{cpp}_{caching}_policy", f"const {cpp}* from, unsigned long long policy",
                    f"{to} membar::async_commit(membar::async_copy{how}(to, from, membar::l2_policy(policy)));", [f"{form}.L2::cache_hint", commit],
                    to + asm(f"{form}.L2::cache_hint [%0], [%1], {size}, %2", "", f'{stage}, {given}, "l"(policy)') + asm(commit))
        part.kernel(f"async_copy_first_{cpp}_{caching}_policy", f"const {cpp}* from, unsigned there, unsigned long long policy",
                    f"{to} membar::async_commit(membar::async_copy_first{how}(to, from, there, membar::l2_policy(policy)));",
                    [f"{form}.L2::cache_hint", commit],
                    to + asm(f"{form}.L2::cache_hint [%0], [%1], {size}, %2, %3", "", f'{stage}, {given}, "r"(there), "l"(policy)') + asm(commit))
    for pending in (0, 1, 7):
        part.kernel(f"async_wait_{pending}", "", f"membar::async_wait<{pending}>();", [wait], asm(f"{wait} {pending}"))
    form = "cp.async.ca.shared::cta.global"
    to = "unsigned* to = reinterpret_cast<unsigned*>(memory) + 4;"
    for scope in CLUSTER_SCOPES:
        for call, arrive in (("async_arrive", "cp.async.mbarrier.arrive.noinc.shared::cta.b64"),
                             ("async_arrive_beside", "cp.async.mbarrier.arrive.shared::cta.b64")):
            part.kernel(f"{call}_{scope}", "const unsigned* from",
                        f"{to} membar::{call}(membar::async_copy(to, from), membar::mbarrier<membar::thread_scope::{scope}>::of(memory));",
                        [form, arrive], to + asm(f"{form} [%0], [%1], 4", "", f"{stage}, {given}") + asm(f"{arrive} [%0]", "", '"r"(here())'))


def add_remote_operations(part):
    """Adds the forms of st.async and red.async, which need sm_90."""
    barrier = "membar::mbarrier<membar::thread_scope::cluster>::of(memory)"
    stage = "static_cast<unsigned>(__cvta_generic_to_shared(to))"
    there = "unsigned there, completes; " + asm("mapa.shared::cluster.u32 %0, %1, %2", '"=r"(there)', f'"r"({stage}), "r"(rank)') + asm(
        "mapa.shared::cluster.u32 %0, %1, %2", '"=r"(completes)', '"r"(here()), "r"(rank)')
    maps = ["mapa.shared::cluster.u32"] * 2

    def add(name, cpp, call, form, operands, inputs):
        to = f"{cpp}* to = reinterpret_cast<{cpp}*>(memory) + 1;"
        part.kernel(name, f"unsigned rank, {cpp} value", f"{to} static_cast<void>(membar::{call}(to, rank, value, {barrier}));", [*maps, form],
                    f"{to} {there} {asm(f'{form} {operands}', '', f'{chr(34)}r{chr(34)}(there), {chr(34)}r{chr(34)}(completes), {inputs}')}")

    form = "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes"
    add("async_store_unsigned", "unsigned", "async_store", f"{form}.b32", "[%0], %2, [%1]", '"r"(value)')
    add("async_store_float", "float", "async_store", f"{form}.b32", "[%0], %2, [%1]", '"r"(__float_as_uint(value))')
    add("async_store_double", "double", "async_store", f"{form}.b64", "[%0], %2, [%1]", '"l"(__double_as_longlong(value))')
    add("async_store_uint4", "uint4", "async_store", f"{form}.v4.b32", "[%0], {{%2, %3, %4, %5}}, [%1]".replace("{{", "{").replace("}}", "}"),
        '"r"(value.x), "r"(value.y), "r"(value.z), "r"(value.w)')
    for operation, types in REMOTE_REDUCTIONS.items():
        for cpp, ptx in types.items():
            add(f"async_reduce_{operation}_{cpp.replace(' ', '_')}", cpp, f"async_reduce<membar::async_operation::{operation}>",
                f"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{operation.removeprefix('bitwise_')}.{ptx}",
                "[%0], %2, [%1]", f'"{"l" if ptx == "u64" else "r"}"(value)')


def add_releases_in_global_memory(part):
    """Adds st.async and red.async with release semantics, and st.bulk, which need sm_100."""
    for order, ptx, scopes in (("release", "release", {"device": "gpu", "system": "sys"}), ("mmio", "mmio.release", {"system": "sys"})):
        for scope, s in scopes.items():
            s = f"{ptx}.{s}.global"
            for cpp, bits, letter, made in (("unsigned short", 16, "h", "value"), ("float", 32, "r", "__float_as_uint(value)"),
                                            ("unsigned long long", 64, "l", "value")):
                form = f"st.async.{s}.b{bits}"
                part.kernel(f"async_store_{order}_{scope}_{bits}", f"{cpp}* to, {cpp} value",
                            f"membar::async_store_release<membar::thread_scope::{scope}>(to, value, membar::{order});", [form],
                            asm(f"{form} [%0], %1", "", f'"l"(__cvta_generic_to_global(to)), "{letter}"({made})'))
            for operation, types in REMOTE_REDUCTIONS.items():
                for cpp, ptx_type in types.items():
                    form = f"red.async.{s}.{operation.removeprefix('bitwise_')}.{ptx_type}"
                    part.kernel(f"async_reduce_{order}_{scope}_{operation}_{cpp.replace(' ', '_')}", f"{cpp}* to, {cpp} value",
                                f"membar::async_reduce_release<membar::async_operation::{operation}, membar::thread_scope::{scope}>(to, value, "
                                f"membar::{order});", [form],
                                asm(f"{form} [%0], %1", "",
                                    f'"l"(__cvta_generic_to_global(to)), "{"l" if ptx_type == "u64" else "r"}"(value)'))
    part.kernel("bulk_zero", "unsigned long long bytes", "membar::bulk_zero(memory + 2, bytes);", ["st.bulk.weak.shared::cta"],
                asm("st.bulk.weak.shared::cta [%0], %1, 0", "", '"r"(static_cast<unsigned>(__cvta_generic_to_shared(memory + 2))), "l"(bytes)'))


def add_block_barriers(part):
    for execution, aligned in (("diverged", ""), ("together", ".aligned")):
        for call in ("sync", "arrive"):
            form = f"barrier.cta.{call}{aligned}"
            part.kernel(f"named_barrier_{call}_{execution}", "unsigned number, unsigned threads",
                        f"membar::named_barrier(number, threads).{call}<membar::warp_execution::{execution}>();", [form],
                        asm(f"{form} %0, %1", "", '"r"(number), "r"(threads)'))
    part.kernel("elect_one", "unsigned* result, unsigned mask", "*result = membar::elect_one(mask);", ["elect.sync"],
                'unsigned one; asm volatile("{ .reg .pred e; elect.sync _|e, %1; selp.b32 %0, 1, 0, e; }" : "=r"(one) : "r"(mask) : "memory"); '
                "*result = one != 0;")
    for scope, s in {"block": "cta", "cluster": "cluster", "device": "gpu", "system": "sys"}.items():
        form = f"tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.{s}.sync.aligned"
        part.kernel(f"publish_tensor_map_{scope}", "void* to", f"membar::publish_tensor_map<membar::thread_scope::{scope}>(to, memory);", [form],
                    asm(f"{form} [%0], [%1], 128", "", '"l"(__cvta_generic_to_global(to)), "r"(here())'))


def add_cluster_launch(part):
    """Adds cluster launch control, which needs sm_100. The response is a kernel parameter, because the check ignores loads of
    parameters."""
    form = "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128"
    answer = "reinterpret_cast<membar::cancelled_launch*>(memory + 2)"
    for scope in CLUSTER_SCOPES:
        part.kernel(f"cancel_launch_{scope}", "",
                    f"static_cast<void>(membar::cancel_launch(*{answer}, membar::mbarrier<membar::thread_scope::{scope}>::of(memory)));", [form],
                    asm(f"{form} [%0], [%1]", "", '"r"(static_cast<unsigned>(__cvta_generic_to_shared(memory + 2))), "r"(here())'))
    query = "clusterlaunchcontrol.query_cancel"
    read = 'asm volatile("{ .reg .b128 q; .reg .pred p; mov.b128 q, {%1, %2}; '
    given = '"l"(reinterpret_cast<const ulonglong2&>(answer).x), "l"(reinterpret_cast<const ulonglong2&>(answer).y)'
    part.kernel("launch_is_cancelled", "unsigned* result, membar::cancelled_launch answer", "*result = answer.succeeded();",
                [f"{query}.is_canceled.pred.b128"],
                f'unsigned r; {read}{query}.is_canceled.pred.b128 p, q; selp.b32 %0, 1, 0, p; }}" : "=r"(r) : {given} : "memory"); *result = r != 0;')
    part.kernel("first_block_of_cancelled", "unsigned* result, membar::cancelled_launch answer", "*result = answer.first_block().y;",
                [f"{query}.get_first_ctaid.v4.b32.b128"])


def add_cluster_barrier(part):
    for execution, aligned in (("diverged", ""), ("together", ".aligned")):
        how = f"membar::warp_execution::{execution}"
        wait = f"barrier.cluster.wait.acquire{aligned}"
        for order in ARRIVALS:
            arrive = f"barrier.cluster.arrive.{order}{aligned}"
            part.kernel(f"cluster_arrive_{order}_{execution}", "",
                        f"membar::cluster_wait<{how}>(membar::cluster_arrive<{how}>(membar::{order}));", [arrive, wait], asm(arrive) + asm(wait))
        arrive = f"barrier.cluster.arrive.release{aligned}"
        part.kernel(f"cluster_sync_{execution}", "", f"membar::cluster_sync<{how}>();", [arrive, wait], asm(arrive) + asm(wait))
    for call, register in (("cluster_block_rank", "cluster_ctarank"), ("cluster_block_count", "cluster_nctarank")):
        part.kernel(call, "unsigned* result", f"*result = membar::{call}();", [],
                    f"unsigned r; {asm(f'mov.b32 %0, %%{register}', chr(34) + '=r' + chr(34) + '(r)')} *result = r;")
    part.kernel("shared_of_block", "unsigned rank, unsigned long long** result", "*result = membar::shared_of_block(memory, rank);", ["mapa.u64"],
                "unsigned long long* there; " + asm("mapa.u64 %0, %1, %2", '"=l"(there)', '"l"(memory), "r"(rank)') + " *result = there;")
    # The state space is known, so the atomic does not test for it.
    for call, form in (("fetch_add(value, membar::relaxed)", "add.u32"), ("exchange(value, membar::relaxed)", "exch.b32")):
        instruction = f"atom.relaxed.cluster.{form}"
        part.kernel(f"shared_of_block_{form.replace('.', '_')}", "unsigned rank, unsigned value, unsigned* result",
                    "auto* there = reinterpret_cast<unsigned*>(membar::shared_of_block(memory, rank)); "
                    f"*result = membar::atomic_ref<unsigned, membar::thread_scope::cluster>(*there).{call};", ["mapa.u64", instruction],
                    "unsigned long long* there; " + asm("mapa.u64 %0, %1, %2", '"=l"(there)', '"l"(memory), "r"(rank)') + " unsigned old; " +
                    asm(f"{instruction} %0, [%1], %2", '"=r"(old)', '"l"(there), "r"(value)') + " *result = old;")


def add_dependent_launch(part):
    for call, form in (("wait_for_prerequisites", "wait"), ("launch_dependents", "launch_dependents")):
        part.kernel(call, "", f"membar::{call}();", [f"griddepcontrol.{form}"], asm(f"griddepcontrol.{form}"))


def parts(part_of):
    """Builds each part by calling `part_of(name, architecture, preamble)`."""
    for architecture in (80, 90, 100):
        part = part_of(f"mbarrier_sm_{architecture}", architecture, PREAMBLE)
        add_mbarriers(part)
        yield part
    for architecture in (80, 90, 100):
        part = part_of(f"async_copy_sm_{architecture}", architecture, PREAMBLE)
        add_async_copies(part)
        if architecture >= 90:
            add_remote_operations(part)
        if architecture >= 100:
            add_releases_in_global_memory(part)
        yield part
    for architecture in (90, 100):
        part = part_of(f"bulk_copy_sm_{architecture}", architecture, PREAMBLE)
        add_bulk_copies(part)
        add_cluster_barrier(part)
        add_dependent_launch(part)
        add_block_barriers(part)
        if architecture >= 100:
            add_cluster_launch(part)
        yield part
