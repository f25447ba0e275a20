#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the table in docs/ptx_forms.md: each PTX form that orders, copies, waits or affects caches, and its function or the reason why
there is none.

usage: ptx_forms.py --write|--check [<folder cuda/__ptx of a CCCL>]
       ptx_forms.py --made-faults

FORMS is the table. --check compares the page with it, looks up each function in its header, and reads the forms that `cuda::ptx` wraps from
the comments of the given CCCL. Each must belong to a row of FORMS or to an instruction of REGISTERS_ONLY. --made-faults checks that these
checks can fail. Exit status: 0 if nothing is wrong, 1 if something is.
"""

import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "ptx_forms.md"
BEGIN, END = "<!-- ptx_forms.py -->\n", "<!-- end -->\n"

# Instructions that compute in registers, read special registers or end a thread. These instructions do not order, copy or wait.
REGISTERS_ONLY = {"bfind", "bmsk", "exit", "mov", "prmt", "setmaxnreg", "shfl", "shl", "shr", "trap"}

TENSOR = ("none: use `cuda::ptx` for typed boxes, gather and scatter, together with [membar's barriers and fences](asynchronous_copies.md#tensor-copies). `cuda::ptx` does not "
          "offer `.L2::cache_hint` for them; in handwritten PTX, pass the `bits()` of a policy")
MATRIX = "none: use `cuda::ptx` or CUTLASS for matrix operations and their memory"
FABRIC = "none: new in PTX ISA 9.3, for compute capability 10.0; no device was available to run it, and the model [does not decide](readings.md#ptx-9x) what it orders"
RUBIN = "none: new in PTX ISA 9.4, for sm_107; no device was available to run it"

# Section, then rows: the form as the page shows it, a pattern of the opcodes that belong to this form, as `cuda::ptx` or PTX writes them,
# and (header, functions) or the reason why there is no function. The first matching pattern counts.
FORMS = {
    "Loads and stores": [
        ("`ld{.weak,.relaxed,.acquire,.mmio}…`", r"ld\.(space|weak|relaxed|acquire|mmio)(?!.*\.nc)[\w.:]*", ("load_store.cuh", ["load", "load_weak"])),
        ("`ld.global.nc…`", r"ld\.(space|global)\.nc[\w.:]*", ("read_only.cuh", ["load_read_only"])),
        ("`st.async.weak.shared::cluster.mbarrier::complete_tx::bytes…`", r"st\.async\.weak\.shared::cluster[\w.:]*", ("async_copy.cuh", ["async_store"])),
        ("`st.async{.mmio}.release.{gpu,sys}.global…`", r"st\.async\.(mmio\.)?release[\w.:]*", ("async_copy.cuh", ["async_store_release"])),
        ("`st.bulk.weak.shared::cta`", r"st\.bulk[\w.:]*", ("async_copy.cuh", ["bulk_zero"])),
        ("`st{.weak,.relaxed,.release,.mmio}…`", r"st\.(space|weak|relaxed|release|mmio)[\w.:]*", ("load_store.cuh", ["store", "store_weak"])),
        ("`multimem.ld_reduce…`, `multimem.st…`, `multimem.red…`", r"multimem\.(ld_reduce|st|red)\.(?!async)[\w.:]*", ("multimem.cuh", ["multimem_ref"])),
        ("`ldmatrix…`, `stmatrix…`", r"(ld|st)matrix[\w.:]*", MATRIX),
    ],
    "Atomics": [
        ("`atom…`, `red…`", r"(atom|red)\.(?!async)[\w.:]+", ("atomic.hpp", ["atomic_ref", "fetch_add", "compare_exchange"])),
        ("`red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes…`", r"red\.async\.relaxed\.cluster[\w.:]*", ("async_copy.cuh", ["async_reduce"])),
        ("`red.async{.mmio}.release.{gpu,sys}.global…`", r"red\.async\.(mmio\.)?release[\w.:]*", ("async_copy.cuh", ["async_reduce_release"])),
    ],
    "Fences": [
        ("`fence{.sc,.acq_rel,.acquire,.release}.scope`", r"fence\.(sem|sc|acq_rel|acquire|release)\.(scope|cta|cluster|gpu|sys)", ("fence.cuh", ["thread_fence"])),
        ("`fence.{acquire,release}.sync_restrict::space.cluster`", r"fence\.sem\.sync_restrict::space\.scope", ("fence.cuh", ["shared_fence"])),
        ("`fence.mbarrier_init.release.cluster`", r"fence\.mbarrier_init\.sem\.scope", ("fence.cuh", ["mbarrier_init_fence"])),
        ("`fence.proxy.alias`, `fence.proxy.async{.space}`", r"fence\.proxy\.(alias|async(\.space)?)", ("fence.cuh", ["proxy_fence"])),
        ("`fence.proxy.alias.{acquire,release}.sys`", r"fence\.proxy\.alias\.(sem|acquire|release)\.sys", "none: new in PTX ISA 9.4; use `proxy_fence<proxy::alias>`, which orders accesses in both directions"),
        ("`fence.proxy.async::generic.sem.sync_restrict::space.cluster`", r"fence\.proxy\.async::generic\.sem\.sync_restrict::space\.scope",
         ("fence.cuh", ["shared_proxy_fence"])),
        ("`fence.proxy.async::generic.release.sync_restrict::shared::cluster::read.cluster`", r"fence\.proxy\.async::generic\.sem\.sync_restrict::space::read\.scope",
         "none: new in PTX ISA 9.4; use `shared_proxy_fence(release)`, which is not restricted to reads"),
        ("`fence.proxy.tensormap::generic.{acquire,release}.scope`", r"fence\.proxy\.tensormap::generic\.(sem|acquire|release)\.scope", ("fence.cuh", ["proxy_fence"])),
        ("`tensormap.cp_fenceproxy…`", r"tensormap\.cp_fenceproxy[\w.:]*", ("fence.cuh", ["publish_tensor_map"])),
        ("`fence.alias.sync_restrict::read.release.sys`", r"fence\.alias[\w.:]*", "none: new in PTX ISA 9.5; use `proxy_fence<proxy::alias>`, because the model [does not decide](readings.md#ptx-9x) what this fence orders"),
        ("`fence.proxy.{fabric,generic}::{fabric,generic}.alias…`", r"fence\.proxy\.(fabric|generic)::(fabric|generic)\.alias[\w.:]*", FABRIC),
    ],
    "Barriers": [
        ("`barrier.cta.sync{.aligned}`, `barrier.cta.arrive{.aligned}`", r"barrier\.cta\.(sync|arrive)(\.aligned)?", ("block_barrier.cuh", ["named_barrier"])),
        ("`barrier.cta.red…`", r"barrier\.cta\.red[\w.:]*", "none: use CUDA's `__syncthreads_count`, `__syncthreads_and` and `__syncthreads_or`, which include the whole block"),
        ("`barrier.cluster.arrive…`, `barrier.cluster.wait…`", r"barrier\.cluster\.(arrive|wait)(\.(sem|aligned))*", ("cluster_barrier.cuh", ["cluster_arrive", "cluster_wait"])),
        ("`elect.sync`", r"elect\.sync", ("block_barrier.cuh", ["elect_one"])),
        ("`getctarank…`", r"getctarank[\w.:]*", ("cluster_barrier.cuh", ["cluster_block_rank", "shared_of_block"])),
        ("`griddepcontrol.wait`, `griddepcontrol.launch_dependents`", r"griddepcontrol\.(wait|launch_dependents)", ("dependent_launch.cuh", ["wait_for_prerequisites", "launch_dependents"])),
        ("`clusterlaunchcontrol.try_cancel…`", r"clusterlaunchcontrol\.try_cancel(?!.*multicast)[\w.:]*", ("cluster_launch.cuh", ["cancel_launch"])),
        ("`clusterlaunchcontrol.try_cancel….multicast::cluster::all`", r"clusterlaunchcontrol\.try_cancel[\w.:]*multicast[\w.:]*",
         "none: use `cuda::ptx`; it needs an architecture-specific target, such as sm_100a"),
        ("`clusterlaunchcontrol.query_cancel…`", r"clusterlaunchcontrol\.query_cancel[\w.:]*", ("cluster_launch.cuh", ["cancelled_launch", "succeeded", "first_block"])),
    ],
    "Mbarriers": [
        ("`mbarrier….multicast::cluster::32b`", r"mbarrier[\w.:]*multicast[\w.:]*", RUBIN),
        ("`mbarrier.init`, `mbarrier.inval`", r"mbarrier\.(init|inval)[\w.:]*", ("mbarrier.cuh", ["init", "invalidate"])),
        ("`mbarrier.arrive…`", r"mbarrier\.arrive(?!_drop|\.(expect_tx|noComplete))[\w.:]*", ("mbarrier.cuh", ["arrive"])),
        ("`mbarrier.arrive.expect_tx…`", r"mbarrier\.arrive\.expect_tx[\w.:]*", ("mbarrier.cuh", ["arrive_expect"])),
        ("`mbarrier.arrive.noComplete…`", r"mbarrier\.arrive\.noComplete[\w.:]*", ("mbarrier.cuh", ["arrive_no_complete"])),
        ("`mbarrier.arrive_drop.expect_tx…`", r"mbarrier\.arrive_drop\.expect_tx[\w.:]*", ("mbarrier.cuh", ["arrive_drop_expect"])),
        ("`mbarrier.arrive_drop.noComplete…`", r"mbarrier\.arrive_drop\.noComplete[\w.:]*", "none: call `arrive_drop(release)` in each thread"),
        ("`mbarrier.arrive_drop…`", r"mbarrier\.arrive_drop[\w.:]*", ("mbarrier.cuh", ["arrive_drop"])),
        ("`mbarrier.expect_tx…`, `mbarrier.complete_tx…`", r"mbarrier\.(expect|complete)_tx[\w.:]*", ("mbarrier.cuh", ["expect", "complete"])),
        ("`mbarrier.test_wait…`", r"mbarrier\.test_wait[\w.:]*", ("mbarrier.cuh", ["test_wait", "test_wait_parity"])),
        ("`mbarrier.try_wait…`", r"mbarrier\.try_wait[\w.:]*", ("mbarrier.cuh", ["try_wait", "try_wait_parity"])),
        ("`mbarrier.pending_count.b64`", r"mbarrier\.pending_count\.b64", ("mbarrier.cuh", ["pending_count"])),
        ("`mbarrier.check_layout…`", r"mbarrier\.check_layout[\w.:]*", "none: new in PTX ISA 9.4; the instruction queries an mbarrier's layout, and membar uses only one layout"),
    ],
    "Asynchronous copies": [
        ("`cp.async.{ca,cg}.shared::cta.global{.L2::cache_hint}`", r"cp\.async\.(ca|cg)[\w.:]*", ("async_copy.cuh", ["async_copy", "async_copy_first"])),
        ("`cp.async.commit_group`, `cp.async.wait_group`", r"cp\.async\.(commit|wait)_group", ("async_copy.cuh", ["async_commit", "async_wait"])),
        ("`cp.async.mbarrier.arrive{.noinc}…`", r"cp\.async\.mbarrier\.arrive[\w.:]*", ("async_copy.cuh", ["async_arrive", "async_arrive_beside"])),
        ("`cp.async.bulk….ignore_oob`", r"cp\.async\.bulk\.(?!tensor)[\w.:]*ignore_oob[\w.:]*", "none: new in PTX ISA 9.2; to omit whole 16-byte units at the end, shorten the size of the copy instead"),
        ("`cp.async.bulk….report_mechanism`, `cp.async.bulk….multicast::cluster::32b`", r"cp\.async\.bulk\.(?!tensor)[\w.:]*(report_mechanism|cluster::32b)[\w.:]*", RUBIN),
        ("`cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes{.L2::cache_hint}`, and `.shared::cluster` from `.shared::cta`",
         r"cp\.async\.bulk\.dst\.src\.mbarrier::complete_tx::bytes", ("bulk_copy.cuh", ["bulk_load", "bulk_send"])),
        ("`cp.async.bulk.shared::cluster.global….multicast::cluster{.L2::cache_hint}`", r"cp\.async\.bulk\.dst\.src\.mbarrier::complete_tx::bytes\.multicast::cluster",
         ("bulk_copy.cuh", ["bulk_load_multicast"])),
        ("`cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}`", r"cp\.async\.bulk\.dst\.src\.bulk_group", ("bulk_copy.cuh", ["bulk_store"])),
        ("`cp.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}.cp_mask`", r"cp\.async\.bulk\.dst\.src\.bulk_group\.cp_mask", ("bulk_copy.cuh", ["bulk_store_masked"])),
        ("`cp.async.bulk.commit_group`, `cp.async.bulk.wait_group{.read}`", r"cp\.async\.bulk\.(commit_group|wait_group(\.read)?)",
         ("bulk_copy.cuh", ["bulk_commit", "bulk_wait", "bulk_wait_read"])),
        ("`cp.async.bulk.wait_group.sync_restrict::proxy::async`", r"cp\.async\.bulk\.wait_group\.sync_restrict[\w.:]*", "none: new in PTX ISA 9.5; use `bulk_wait`, which has no such restriction"),
        ("`cp.reduce.async.bulk.global.shared::cta.bulk_group{.L2::cache_hint}…`", r"cp\.reduce\.async\.bulk\.dst\.src\.bulk_group[\w.:]*", ("bulk_copy.cuh", ["bulk_reduce"])),
        ("`cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes…`", r"cp\.reduce\.async\.bulk\.dst\.src\.mbarrier[\w.:]*",
         "none: use `async_reduce` for single values; send a tile with `bulk_send` and let the other block add it"),
        ("`cp.async.bulk.tensor…`, `cp.reduce.async.bulk.tensor…`, `cp.async.bulk.prefetch.tensor…`", r"cp\.(reduce\.)?async\.bulk(\.prefetch)?\.tensor[\w.:]*", TENSOR),
        ("`tensormap.replace…`, `tensormap.query…`", r"tensormap\.(replace|query)[\w.:]*", "none: use `cuda::ptx` to edit a map in shared memory, and release the map with `publish_tensor_map`"),
        ("`fabric.…`", r"fabric\.[\w.:]*", FABRIC),
        ("`tcgen05.…`, `wgmma.…`", r"(tcgen05|wgmma)\.[\w.:]*", MATRIX),
    ],
    "Caches": [
        ("`prefetch.global.{L1,L2}`, `prefetch.global.L2::{evict_last,evict_normal}`", r"prefetch\.global\.(L1|L2)(::evict_(last|normal))?", ("cache_control.cuh", ["prefetch_l1", "prefetch_l2"])),
        ("`prefetch.global.L1::32B.valid_addr`", r"prefetch\.global\.L1::32B\.valid_addr", "none: new in PTX ISA 9.4; use `prefetch_l1`"),
        ("`prefetch.tensormap`", r"prefetch\.tensormap", ("cache_control.cuh", ["prefetch_tensor_map"])),
        ("`cp.async.bulk.prefetch.L2.global{.L2::cache_hint}`", r"cp\.async\.bulk\.prefetch\.L2\.\w+(\.L2::cache_hint)?", ("cache_control.cuh", ["bulk_prefetch_l2"])),
        ("`cp.async.bulk.prefetch.L2.global.L2::evict_last`", r"cp\.async\.bulk\.prefetch\.L2\.\w+\.L2::evict\w+", RUBIN),
        ("`applypriority.async.bulk…`", r"applypriority\.async[\w.:]*", RUBIN),
        ("`applypriority.global.L2::evict_normal`", r"applypriority\.global[\w.:]*", ("cache_control.cuh", ["apply_priority"])),
        ("`discard.global.L2`", r"discard[\w.:]*", ("cache_control.cuh", ["discard_l2"])),
        ("`createpolicy.fractional…`, `createpolicy.range…`", r"createpolicy\.(fractional|range)[\w.:]*", ("cache_hint.cuh", ["cache_policy", "cache_policy_range"])),
        ("`createpolicy.cvt.L2.b64`", r"createpolicy\.cvt[\w.:]*", ("cache_hint.cuh", ["converted_policy"])),
    ],
}


def table():
    for section, rows in FORMS.items():
        yield f"## {section}\n\n| PTX | membar |\n|---|---|\n"
        for form, _, answer in rows:
            if isinstance(answer, str):
                text = answer
            else:
                header, functions = answer
                page = "headers/" + ("atomic" if header.startswith("atomic") else header.partition(".")[0]) + ".md"
                text = ", ".join(f"`{f}`" for f in functions) + f" in [`{header}`]({page})"
            yield f"| {form} | {text} |\n"
        yield "\n"


def opcodes(folder):
    """Yields (file, opcode) for each form that the headers of `cuda::ptx` wrap, from the grammar in their comments."""
    for file in sorted(folder.rglob("*.h")):
        for comment in re.findall(r"/\*\s*\n(.*?)\*/", file.read_text(), re.S):
            text = " ".join(line.strip().lstrip("/").strip() for line in comment.splitlines())
            if form := re.match(r"([a-z]\w*(?:\.[\w.:]+)?)[\s;].*PTX ISA", text):
                yield file.name, form[1]


def row_of(opcode):
    for rows in FORMS.values():
        for form, pattern, _ in rows:
            if re.fullmatch(pattern, opcode):
                return form
    return None


def faults(page, root, wrapped):
    head, _, rest = page.partition(BEGIN)
    if rest.partition(END)[0] != "".join(table()):
        yield f"{PAGE.name} is out of date: run tests/docs/ptx_forms.py --write"
    for rows in FORMS.values():
        for form, _, answer in rows:
            if not isinstance(answer, str):
                text = (root / "include" / "membar" / answer[0]).read_text()
                for function in answer[1]:
                    if not re.search(rf"\b{function}\b\(?", text):
                        yield f"{answer[0]} does not declare {function}, which the row of {form} names"
    for file, opcode in sorted(set(wrapped)):
        if opcode.partition(".")[0] not in REGISTERS_ONLY and row_of(opcode) is None:
            yield f"{opcode} of cuda::ptx ({file}) is in no row of the table: give it a function or a reason"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--made-faults", action="store_true")
    parser.add_argument("ptx", nargs="?", type=pathlib.Path)
    arguments = parser.parse_args()
    page = PAGE.read_text()
    if arguments.write:
        head, _, rest = page.partition(BEGIN)
        PAGE.write_text(head + BEGIN + "".join(table()) + END + rest.partition(END)[2])
        page = PAGE.read_text()
    if arguments.made_faults:
        found = [len(list(faults(*case))) for case in ((page, ROOT, []), (page.replace("`elect_one`", "`elect_all`"), ROOT, []),
                                                       (page, ROOT, [("new.h", "fence.new.gpu")]), (page, ROOT, [("new.h", "mbarrier.invent.b64")]))]
        print(f"faults found: {found}, expected [0, 1, 1, 1]")
        return 0 if found == [0, 1, 1, 1] else 1
    wrapped = list(opcodes(arguments.ptx)) if arguments.ptx else []
    if arguments.ptx and len(wrapped) < 100:
        print(f"{arguments.ptx} has {len(wrapped)} forms, so it is not the folder cuda/__ptx of a CCCL")
        return 1
    found = list(faults(page, ROOT, wrapped))
    print("\n".join(found) if found else f"{sum(map(len, FORMS.values()))} rows, {len(set(wrapped))} forms of cuda::ptx, 0 faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
