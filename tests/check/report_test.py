#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the exact text of membar-check's findings, its progress messages, and the structure of its SARIF.

usage: report_test.py <membar-check>
"""

import json
import os
import pathlib
import re
import resource
import select
import subprocess
import sys
import tempfile
import time

import sarif as sarif_of

HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
# The source to which the kernels' line numbers refer. Line 7 calls a library function.
SOURCE = ["__global__ void send(float* data, unsigned* flag) {", "  *data = 1.5f;", "  *flag = 1;", "  __threadfence();", "}",
          "__global__ void receive(float* data, unsigned* flag, float* out) {", "  while (load(flag) == 0) {", "  }", "  *out = *data;", "}"]
FILES = '.file 1 "flags.cu"\n.file 2 "/opt/cuda/include/cuda/std/__atomic/load.h"\n.file 3 "/opt/cuda/include/cuda/std/atomic"\n'


def kernel(name, parameters, body):
    declared = ", ".join(f".param .{'f32' if p == 'x' else 'u64'} {p}" for p in parameters)
    loads = "".join(f"ld.param.u64 %rd{k}, [{p}];\n" for k, p in enumerate(parameters, 1) if p != "x")
    return (f".visible .entry {name}({declared})\n{{\n.reg .b32 %r<9>; .reg .f32 %f<9>; .reg .b64 %rd<9>; .reg .pred %p<3>;\n.loc 1 1 0\n"
            f"{loads}{body}ret;\n}}\n")


# The fence comes after the store to the flag, and the wait is a relaxed load in a library.
SEND = kernel("send", "df", ".loc 1 2 3\nst.global.f32 [%rd1], 0f3FC00000;\n.loc 1 3 3\nst.relaxed.gpu.global.u32 [%rd2], 1;\n"
                           ".loc 1 4 3\nfence.acq_rel.gpu;\n")
WAIT = (".loc 1 7 10\n.loc 3 40 5, function_name load, inlined_at 1 7 10\nL: .loc 2 12 3, function_name read, inlined_at 3 40 5\n"
        "ld.{}.gpu.global.u32 %r1, [%rd2];\n.loc 1 7 3\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n.loc 1 9 3\nld.global.f32 %f1, [%rd1];\n"
        "st.global.f32 [%rd3], %f1;\n")
RECEIVE = kernel("receive", "dfo", WAIT.format("relaxed"))
ACQUIRE = kernel("acquire", "dfo", WAIT.format("acquire").replace("gpu", "sys"))
FENCED = kernel("fenced", "df", ".loc 1 2 3\nst.global.f32 [%rd1], 0f3FC00000;\n.loc 1 3 3\nfence.acq_rel.gpu;\n"
                               "st.relaxed.sys.global.u32 [%rd2], 1;\n")
STRONG = kernel("strong", "d", ".loc 1 2 3\nst.relaxed.gpu.global.f32 [%rd1], 0f3FC00000;\n")
LOOK = kernel("look", "d", ".loc 1 9 3\nld.relaxed.gpu.global.f32 %f1, [%rd1];\n")
BEFORE = kernel("before", "d", ".loc 1 9 3\nld.global.s32 %r1, [%rd1+-4];\n")
# Block 1 sends. The fence is in a branch that block 0, the receiver, never takes.
ROLES = kernel("roles", "dfo", "mov.u32 %r1, %ctaid.x;\nsetp.eq.u32 %p1, %r1, 1;\n@%p1 bra SEND;\n" + WAIT.format("relaxed") +
               "bra.uni E;\nSEND:\n.loc 1 2 3\nst.global.f32 [%rd1], 0f3FC00000;\n.loc 1 4 3\nfence.acq_rel.gpu;\n.loc 1 3 3\n"
               "st.relaxed.gpu.global.u32 [%rd2], 1;\nE:\n")
# Thread 0 of each block raises the flag for its block.
FOR_BLOCK = kernel("for_block", "df", "mov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, %r1, 4;\nadd.u64 %rd3, %rd3, %rd1;\n.loc 1 2 3\n"
                                      "st.global.f32 [%rd3], 0f3FC00000;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra E;\n.loc 1 3 3\n"
                                      "st.release.gpu.global.u32 [%rd2], 1;\nE:\n")
LAST = kernel("last", "dfo", WAIT.format("acquire").replace("[%rd1]", "[%rd1+4]"))
# Thread 0 waits for its block. Each thread of the block reads what a thread of the other block has written.
BLOCK_READS = kernel("block_reads", "df", "mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd3, %rd3, %rd1;\nsetp.ne.u32 %p2, %r2, 0;\n@%p2 bra B;\n"
                     ".loc 1 7 10\nL: ld.acquire.gpu.global.u32 %r1, [%rd2];\n.loc 1 7 3\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nB: bar.sync 0;\n"
                     ".loc 1 9 3\nld.global.f32 %f1, [%rd3];\n")
# As the two kernels above, but thread 0 waits without an acquire, and the threads of its block then read their elements again at many
# lines, between any two of which there could be a barrier.
RAISES = FOR_BLOCK.replace("for_block", "raises").replace("@%p1 bra E;", "bar.sync 0;\n@%p1 bra E;")
MANY_READS = BLOCK_READS.replace("block_reads", "many_reads").replace("acquire", "relaxed").replace(
    "ret;", "".join(f".loc 1 {line} 3\nld.global.f32 %f1, [%rd3];\n" for line in range(10, 40)) + "ret;")
# Each block has barriers, but no barrier between its accesses to the data and thread 0's access to the flag.
LATE_BARRIER = FOR_BLOCK.replace("for_block", "late_barrier").replace(".loc 1 2 3", ".loc 1 1 3\nbar.sync 0;\n.loc 1 2 3").replace("E:\n", "E:\n.loc 1 5 3\nbar.sync 0;\n")
EARLY_BARRIER = BLOCK_READS.replace("block_reads", "early_barrier").replace("setp.ne.u32 %p2", ".loc 1 6 3\nbar.sync 0;\nsetp.ne.u32 %p2").replace("B: bar.sync 0;\n", "B:\n")
# Each thread of a block reads its element. Without a barrier, thread 0 then hands the elements back to a block that overwrites them.
OWN = "mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd4, %r2, 4;\nadd.u64 %rd4, %rd4, %rd1;\nsetp.ne.u32 %p2, %r2, 0;\n"
HANDS_BACK = kernel("hands_back", "dfo", OWN + ".loc 1 9 3\nld.global.f32 %f1, [%rd4];\nst.relaxed.gpu.global.f32 [%rd3], %f1;\n@%p2 bra E;\n.loc 1 3 3\nst.release.gpu.global.u32 [%rd2], 1;\nE:\n")
OVERWRITES = kernel("overwrites", "df", OWN + "@%p2 bra B;\n.loc 1 7 10\nL: ld.acquire.gpu.global.u32 %r1, [%rd2];\n.loc 1 7 3\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\nB: bar.sync 0;\n"
                    ".loc 1 2 3\nst.global.f32 [%rd4], 0f3FC00000;\n")
# In each of two rounds, block 0 waits for the flag and fills a slot, and block 1 reads it. The functions are inlined at line 5.
# In block 1, there is no barrier before thread 0 hands the slot back.
CALLED = ", function_name f, inlined_at 1 5 3\n"
POLLS = "{0}:\n@%p2 bra B{0};\n.loc 1 {1} 10" + CALLED + "L{0}: ld.acquire.gpu.global.u32 %r1, [{2}];\nsetp.lt.u32 %p1, %r1, %r3;\n@%p1 bra L{0};\nB{0}: bar.sync 0;\n"
ROUNDS = kernel("rounds", "dfo", ".loc 1 5 3\n" + OWN + "add.u64 %rd5, %rd2, 4;\nmov.u32 %r3, 0;\nmov.u32 %r4, %ctaid.x;\nsetp.eq.u32 %p1, %r4, 1;\n@%p1 bra OUT;\n" +
                POLLS.format("IN", 1, "%rd5") + ".loc 1 2 3" + CALLED + "st.global.f32 [%rd4], 0f3FC00000;\nadd.u32 %r3, %r3, 1;\nbar.sync 0;\n@%p2 bra I;\n.loc 1 3 3" + CALLED +
                "st.release.gpu.global.u32 [%rd2], %r3;\nI: setp.lt.u32 %p1, %r3, 2;\n@%p1 bra IN;\nbra.uni E;\nOUT: mov.u32 %r3, 1;\n" +
                POLLS.format("R", 7, "%rd2") + ".loc 1 9 3" + CALLED + "ld.global.f32 %f1, [%rd4];\nst.relaxed.gpu.global.f32 [%rd3], %f1;\n@%p2 bra J;\n.loc 1 10 3" + CALLED +
                "st.release.gpu.global.u32 [%rd5], %r3;\nJ: add.u32 %r3, %r3, 1;\nsetp.le.u32 %p1, %r3, 2;\n@%p1 bra R;\nE:\n")
# The data are stored in one of two branches.
BRANCHES = FOR_BLOCK.replace("for_block", "branches").replace("st.global.f32", "setp.eq.u64 %p2, %rd2, 0;\n@%p2 bra A;\nst.global.f32").replace(
    "setp.ne.u32 %p1", "bra.uni B;\nA: st.global.f32 [%rd3], 0f00000000;\nB: .loc 1 3 3\nsetp.ne.u32 %p1")
COPY = kernel("copy", "dfo", ".shared .align 16 .b8 tile[16];\nmov.u32 %r1, tile;\n.loc 1 3 3\nst.shared.f32 [tile], 0f00000000;\n.loc 1 2 3\ncp.async.ca.shared.global [%r1], [%rd1+16], 16;\n"
                             ".loc 1 9 3\nld.shared.f32 %f1, [tile];\nst.global.f32 [%rd3], %f1;\n")
# Thread 0 fills the tile, all threads read it, and thread 0 fills it again without a barrier.
FILL = "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra {0};\n.loc 1 {1} 3\ncp.async.ca.shared.global [%r1], [%rd1], 16;\n{0}: cp.async.wait_all;\n"
REFILL = kernel("refill", "do", ".shared .align 16 .b8 tile[16];\nmov.u32 %r1, tile;\nmov.u32 %r2, %tid.x;\n" + FILL.format("A", 2) +
                "bar.sync 0;\nshl.b32 %r3, %r2, 2;\nadd.u32 %r3, %r3, %r1;\n.loc 1 9 3\nld.shared.f32 %f1, [%r3];\nst.relaxed.gpu.global.f32 [%rd2], %f1;\n" + FILL.format("B", 4))
# Thread 0 reads the tile, and the last thread writes it after it has waited for thread 0's arrival at an mbarrier.
RELEASED = kernel("{name}", "o", ".shared .align 8 .b64 bar;\n.shared .align 4 .b8 tile[4];\nmov.u32 %r2, %tid.x;\nmov.u32 %r3, %ntid.x;\nsub.u32 %r3, %r3, 1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra I;\n"
                  ".loc 1 1 3\nst.shared.f32 [tile], 0f00000000;\nmbarrier.init.shared.b64 [bar], 1;\nI: bar.sync 0;\nsetp.eq.u32 %p2, %r2, %r3;\n@%p2 bra W;\n{reads}bra.uni E;\n"
                  "W: .loc 1 7 10\nL: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra L;\n.loc 1 2 3\nst.shared.f32 [tile], 0f3FC00000;\nE:\n")
ARRIVES = ".loc 1 3 3\n@!%p1 mbarrier.arrive.shared.b64 _, [bar];\n"
READS = ".loc 1 9 3\nld.shared.f32 %f1, [tile];\nst.relaxed.gpu.global.f32 [%rd1], %f1;\n"
RELEASES = "".join(RELEASED.replace("{name}", name).replace("{reads}", reads) for name, reads in
                   (("arrives_early", ARRIVES + READS), ("arrives_for_warp", READS + ARRIVES), ("other_branch", READS)))
RELEASES = RELEASES[:RELEASES.rindex("L: mbarrier")] + RELEASES[RELEASES.rindex(".loc 1 2 3"):]  # `other_branch` does not wait
# One thread fills the tile twice, and the other thread releases it too early. The arrival at `full` belongs to the first use.
WAITS = "{0}: mbarrier.try_wait.parity.shared.b64 %p2, [{1}], 0;\n@!%p2 bra {0};\n"
RING = kernel("{name}", "o", ".shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\n.shared .align 4 .b8 tile[4];\nmov.u32 %r2, %tid.x;\nsetp.eq.u32 %p1, %r2, {reader};\n@%p1 bra I;\n.loc 1 1 3\n"
              "mbarrier.init.shared.b64 [full], 1;\nmbarrier.init.shared.b64 [empty], 1;\nI: bar.sync 0;\n@%p1 bra R;\n.loc 1 2 3\nst.shared.f32 [tile], 0f3FC00000;\n.loc 1 4 3\nmbarrier.arrive.shared.b64 _, [full];\n"
              ".loc 1 7 10\n" + WAITS.format("L", "empty") + ".loc 1 5 3\nst.shared.f32 [tile], 0f3FC00000;\nbra.uni E;\nR: .loc 1 6 3\n" + WAITS.format("M", "full") + ".loc 1 3 3\nmbarrier.arrive.shared.b64 _, [empty];\n" + READS + "E:\n")
RINGS = RING.replace("{name}", "ring").replace("{reader}", "1") + RING.replace("{name}", "turned_ring").replace("{reader}", "0")
# Thread 0 fills the tile with bulk copies, and thread 1 reads it. `refills` says what precedes the second copy, and `reader` what
# thread 1 does after it has waited for the first copy.
BULK_COPY = (".loc 1 {0} 3\nmbarrier.arrive.expect_tx.shared.b64 _, [full], 16;\n.loc 1 {1} 3\n"
             "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1], 16, [full];\n")
BULK = kernel("{name}", "do", ".shared .align 8 .b64 full;\n.shared .align 8 .b64 empty;\n.shared .align 16 .b8 tile[16];\nmov.u32 %r1, tile;\nmov.u32 %r2, %tid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra I;\n"
              ".loc 1 1 3\nmbarrier.init.shared.b64 [full], {count};\nmbarrier.init.shared.b64 [empty], 1;\nfence.proxy.async;\nI: bar.sync 0;\n@%p1 bra R;\n" + BULK_COPY.format(3, 2) + ".loc 1 7 10\n{refills}" +
              BULK_COPY.format(4, 5) + WAITS.format("X", "full").replace("0;", "1;") + "bra.uni E;\nR: {arrives}.loc 1 6 3\n" + WAITS.format("M", "full") + "{reader}E:\n")
READS_TILE = ".loc 1 {} 3\nld.shared.u32 %r4, [tile];\nst.relaxed.gpu.global.u32 [%rd2], %r4;\n"
EMPTIES = ".loc 1 8 3\nmbarrier.arrive.shared.b64 _, [empty];\n"
BULK_COPIES = "".join(BULK.replace("{name}", name).replace("{count}", count).replace("{refills}", refills).replace("{arrives}", arrives).replace("{reader}", reader)
                      for name, count, refills, arrives, reader in (
    ("no_proxy_fence", "1", WAITS.format("L", "empty"), "", READS_TILE.format(9) + EMPTIES),
    ("empties_early", "1", WAITS.format("L", "empty") + "fence.proxy.async;\n", "", EMPTIES + READS_TILE.format(9)),
    ("wrong_parity", "1", WAITS.format("L", "empty") + "fence.proxy.async;\n", "", READS_TILE.format(9) + EMPTIES + WAITS.format("N", "full") + READS_TILE.format(10)),
    ("reads_early", "1", WAITS.format("L", "empty"), READS_TILE.format(9), EMPTIES),
    ("one_phase", "2", WAITS.format("L", "full") + "fence.proxy.async;\n", ".loc 1 3 3\nmbarrier.arrive.shared.b64 _, [full];\n", READS_TILE.format(9))))
# Each thread writes its own element of the tile, and reads the element of the thread half a block away.
NEIGHBOURS = kernel("neighbours", "d", ".shared .align 16 .b8 tile[256];\nmov.u32 %r1, tile;\nmov.u32 %r2, %tid.x;\nshl.b32 %r3, %r2, 2;\nadd.u32 %r4, %r3, %r1;\n"
                    ".loc 1 1 3\nst.shared.u32 [%r4], 0;\nbar.sync 0;\n.loc 1 2 3\nst.shared.u32 [%r4], 1;\nxor.b32 %r3, %r3, 128;\nadd.u32 %r4, %r3, %r1;\n.loc 1 9 3\nld.shared.u32 %r5, [%r4];\nst.relaxed.gpu.global.u32 [%rd1], %r5;\n")
# As above, but nothing is written to the tile before. The exploration executes the loads before the later stores.
LOADS = ".loc 1 6 3\nld.global.u32 %r7, [%rd1+8];\n"
UNFILLED = NEIGHBOURS.replace("neighbours", "unfilled").replace(".loc 1 1 3\nst.shared.u32 [%r4], 0;\nbar.sync 0;\n", LOADS)
SLOW = kernel("slow", "df", LOADS.replace("rd1+8", "rd2") + ".loc 1 2 3\nst.global.f32 [%rd1], 0f3FC00000;\n")
# Thread 0 reads its neighbour's element, and then each thread writes its own.
READS_FIRST = kernel("reads_first", "d", ".shared .align 16 .b8 tile[256];\nmov.u32 %r1, tile;\nmov.u32 %r2, %tid.x;\nshl.b32 %r3, %r2, 2;\nadd.u32 %r4, %r3, %r1;\nxor.b32 %r3, %r3, 128;\n"
                     "add.u32 %r6, %r3, %r1;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra W;\n.loc 1 2 3\nld.shared.u32 %r5, [%r6];\nW: " + LOADS + ".loc 1 9 3\nst.shared.u32 [%r4], %r7;\n")
# Thread 0 arrives at an mbarrier before it fills the tile.
FILLS_LATE = kernel("fills_late", "o", ".shared .align 8 .b64 bar;\n.shared .align 4 .b8 tile[4];\nmov.u32 %r2, %tid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra I;\n.loc 1 1 3\nmbarrier.init.shared.b64 [bar], 1;\nI: bar.sync 0;\n"
                    "@%p1 bra R;\n.loc 1 3 3\nmbarrier.arrive.shared.b64 _, [bar];\n.loc 1 2 3\nst.shared.f32 [tile], 0f3FC00000;\nbra.uni E;\nR: .loc 1 7 10\n" + WAITS.format("L", "bar") + READS + "E:\n")
# Each thread copies 16 bytes to the tile and reads what the other thread has copied.
COPIED = "".join(kernel(name, "do", ".shared .align 16 .b8 tile[32];\nmov.u32 %r1, tile;\nmov.u32 %r2, %tid.x;\nshl.b32 %r3, %r2, 4;\nadd.u32 %r4, %r3, %r1;\n.loc 1 2 3\ncp.async.ca.shared.global [%r4], [%rd1], 16;\ncp.async.commit_group;\n"
                        f"{wait}xor.b32 %r3, %r3, {other};\nadd.u32 %r4, %r3, %r1;\n.loc 1 9 3\nld.shared.u32 %r5, [%r4];\nst.relaxed.gpu.global.u32 [%rd2], %r5;\n")
                 for name, wait, other in (("waits_too_little", ".loc 1 4 3\ncp.async.wait_group 1;\nbar.sync 0;\n", 16), ("waits_alone", ".loc 1 4 3\ncp.async.wait_group 0;\n", 16),
                                           ("waits_never", "bar.sync 0;\n", 0), ("waits_for_arrival", ".loc 1 5 3\ncp.async.mbarrier.arrive.noinc.shared.b64 [bar];\nbar.sync 0;\n", 16)))
COPIED = COPIED.replace("waits_for_arrival(.param .u64 d, .param .u64 o)\n{\n", "waits_for_arrival(.param .u64 d, .param .u64 o)\n{\n.shared .align 8 .b64 bar;\n").replace(
    ".loc 1 2 3\ncp.async.ca.shared.global [%r4], [%rd1], 16;\ncp.async.commit_group;\n.loc 1 5 3", "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra I;\nmbarrier.init.shared.b64 [bar], 2;\nI: bar.sync 0;\n.loc 1 2 3\ncp.async.ca.shared.global [%r4], [%rd1], 16;\n.loc 1 5 3")
# The first warp fills the tile twice, and the second warp releases it at named barrier 2 before it reads it.
NAMED_RING = kernel("named_ring", "o", ".shared .align 16 .b8 tile[128];\nmov.u32 %r1, tile;\nmov.u32 %r2, %tid.x;\nand.b32 %r3, %r2, 31;\nshl.b32 %r3, %r3, 2;\nadd.u32 %r4, %r3, %r1;\nsetp.gt.u32 %p1, %r2, 31;\n@%p1 bra R;\n"
                    ".loc 1 2 3\nst.shared.u32 [%r4], 1;\nbar.arrive 1, 64;\n.loc 1 4 3\nbar.sync 2, 64;\n.loc 1 5 3\nst.shared.u32 [%r4], 2;\nbra.uni E;\nR: .loc 1 6 3\nbar.sync 1, 64;\n.loc 1 7 3\nbar.arrive 2, 64;\n.loc 1 9 3\n"
                    "ld.shared.u32 %r5, [%r4];\nst.relaxed.gpu.global.u32 [%rd1], %r5;\nE:\n")
# The second write to the flag also publishes the data if the first one releases them.
TWO_WRITES = SEND.replace("send", "two_writes").replace(".loc 1 4 3\nfence.acq_rel.gpu;\n", ".loc 1 5 3\nst.relaxed.gpu.global.u32 [%rd2], 2;\n")
TWO_WRITES += TWO_WRITES.replace("two_writes", "first_releases").replace("relaxed.gpu.global.u32 [%rd2], 1", "release.gpu.global.u32 [%rd2], 1")
TWO_WRITES += RECEIVE.replace("receive", "awaits_second").replace("eq.u32 %p1, %r1, 0", "lt.u32 %p1, %r1, 2")
# Each block increments a counter, and the block that is second to do so reads the other block's data.
COUNTED = kernel("counted", "df", "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd3, %r2, 4;\nadd.u64 %rd3, %rd3, %rd1;\n.loc 1 2 3\nst.global.f32 [%rd3], 0f3FC00000;\n.loc 1 3 3\natom{}.global.add.u32 %r1, [%rd2], 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra E;\n"
                 ".loc 1 9 3\nld.global.f32 %f1, [%rd1];\nE:\n")
# A flag that another kernel passes on: with a second flag, or with an update of the same flag.
PASS_ON = kernel("pass_on", "f", ".loc 1 7 10\nL: ld.relaxed.gpu.global.u32 %r1, [%rd1];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n.loc 1 8 3\nst.relaxed.gpu.global.u32 [%rd1+4], 1;\n")
PASS_ON += PASS_ON.replace("pass_on", "update").replace("st.relaxed.gpu.global.u32 [%rd1+4], 1", "atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1")
PASS_ON += SEND.replace("send", "releases").replace("relaxed", "release") + ACQUIRE.replace("acquire(", "both(").replace("eq.u32 %p1, %r1, 0", "lt.u32 %p1, %r1, 2")
PLAIN_FLAG = SEND.replace("send", "plain_flag").replace("st.relaxed.gpu", "st")
NARROW_FLAG = SEND.replace("send", "narrow_flag").replace("st.relaxed.gpu", "st.release.cta")
# The compiler has moved the load of the flag before the loop.
HOISTED = kernel("hoisted", "dfo", ".loc 1 7 10\nld.global.u32 %r1, [%rd2];\nsetp.eq.u32 %p1, %r1, 0;\n.loc 1 7 3\n@%p1 bra L;\n.loc 1 9 3\nld.global.f32 %f1, [%rd1];\n"
                 "st.global.f32 [%rd3], %f1;\nret;\nL: .loc 1 7 3\nbra.uni L;\n")
READ_ONLY = HOISTED.replace("hoisted", "read_only").replace("ld.global.u32", "ld.global.nc.u32")
# Either the compiler has moved the load out of the loop, or the source has a conditional endless loop.
OTHER_LINE = HOISTED.replace("hoisted", "other_line").replace("L: .loc 1 7 3", "L: .loc 1 8 3")
# The loop has an exit, but never changes the values that it compares.
EXIT = kernel("exit", "f", ".loc 1 6 3\nld.global.u32 %r1, [%rd1];\nL: .loc 1 7 3\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n")
ENDLESS = kernel("endless", "f", "L: .loc 1 7 3\nbra.uni L;\n")
# The compiler has removed the loop that polls the flag.
REMOVED = kernel("removed", "do", ".loc 1 9 3\nld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd2], %f1;\n").replace("removed(.param .u64 d,", "removed(.param .u64 d, .param .u64 f,")
# The last thread to increment the counter resets it with a weak store. Whether this races depends on a reading.
RESETS = kernel("resets", "cg", ".loc 1 1 3\nfence.acq_rel.gpu;\nld.relaxed.gpu.global.u32 %r1, [%rd2];\nfence.acq_rel.gpu;\n.loc 1 2 3\natom.global.add.u32 %r2, [%rd1], 1;\n"
                               "setp.eq.u32 %p1, %r2, 0;\n@%p1 bra W;\n.loc 1 3 3\nfence.acq_rel.gpu;\nst.global.u32 [%rd1], 0;\nfence.acq_rel.gpu;\n.loc 1 4 3\n"
                               "atom.global.add.u32 %r3, [%rd2], 1;\nbra.uni E;\n.loc 1 7 3\nW: ld.relaxed.gpu.global.u32 %r3, [%rd2];\nsetp.eq.u32 %p1, %r3, %r1;\n@%p1 bra W;\nE:\n")


# Block 0 fills one slot of a queue, and each block takes a slot. The slot that the second block takes is not filled.
POPS = kernel("pops", "dfo", "mov.u32 %r3, %ctaid.x;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra POP;\n.loc 1 2 3\nst.relaxed.gpu.global.u32 [%rd3], 0;\nPOP:\n.loc 1 7 3\n"
              "atom.relaxed.gpu.global.add.u32 %r1, [%rd2], 1;\nmul.wide.u32 %rd4, %r1, 4;\nadd.u64 %rd4, %rd4, %rd3;\n.loc 1 8 3\nld.relaxed.gpu.global.u32 %r2, [%rd4];\n"
              "mul.wide.u32 %rd5, %r2, 4;\nadd.u64 %rd5, %rd5, %rd1;\n.loc 1 9 3\nst.global.f32 [%rd5], 0f3FC00000;\n")
# With more loads, exploring load buffering under the other reading takes too long.
RESETS_LATER = RESETS.replace("resets", "resets_later").replace("E:\n", "E:\n" + "ld.relaxed.gpu.global.u32 %r4, [%rd2+8];\n" * 32)
# As above, but the index is a member of the same object that no thread changes.
CURSOR = POPS.replace("pops", "cursor").replace("ld.relaxed.gpu.global.u32 %r2, [%rd4]", "ld.relaxed.gpu.global.u32 %r2, [%rd3+4]")
# The kernel has far too many executions to explore all of them.
MANY = kernel("many", "d", "mov.u32 %r2, %ctaid.x;\n" + 8 * "st.relaxed.gpu.global.u32 [%rd1], %r2;\nld.relaxed.gpu.global.u32 %r1, [%rd1];\nadd.u32 %r2, %r2, %r1;\n")
# All threads exchange one value. The threads of `competing` also store to one location and load from it.
EXCHANGING = "mov.u32 %r2, %ctaid.x;\n.loc 1 2 3\natom.relaxed.gpu.global.exch.b32 %r1, [%rd1], %r2;\n"
COMPETING = kernel("exchanging", "df", EXCHANGING) + kernel("competing", "df", EXCHANGING + ".loc 1 3 3\nst.relaxed.gpu.global.u32 [%rd2], %r1;\n.loc 1 7 10\nld.relaxed.gpu.global.u32 %r3, [%rd2];\n")
# Each thread reads a word before it updates the word.
LOOKS_FIRST = kernel("looks_first", "d", ".loc 1 2 3\nld.global.u32 %r1, [%rd1];\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra E;\n.loc 1 3 3\natom.relaxed.gpu.global.or.b32 %r1, [%rd1], 1;\nE:\n")
# Two of these kernels with exchanged arguments have executions with load buffering.
BUFFERED = kernel("buffered", "do", "ld.relaxed.gpu.global.u32 %r1, [%rd1];\nst.relaxed.gpu.global.u32 [%rd2], 1;\n")
# Two threads exchange values in shared memory without a barrier; the other threads of the block do nothing.
PAIR = kernel("pair", "d", ".shared .align 4 .b8 two[8];\nmov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 1;\n@%p1 bra E;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, two;\nadd.u32 %r4, %r3, %r2;\n"
              ".loc 1 2 3\nst.shared.u32 [%r4], %r1;\nxor.b32 %r2, %r2, 4;\nadd.u32 %r4, %r3, %r2;\n.loc 1 9 3\nld.shared.u32 %r1, [%r4];\nst.global.u32 [%rd1], %r1;\nE:\n")
RELAY = kernel("relay", "do", ".loc 1 9 3\nld.relaxed.gpu.global.f32 %f1, [%rd1];\nst.relaxed.gpu.global.f32 [%rd2], %f1;\n")
# The addresses of a thread's own element and of its neighbour's element.
NEIGHBOUR = "mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd4, %r2, 4;\nadd.u64 %rd4, %rd4, %rd1;\nxor.b32 %r3, %r2, 1;\nmul.wide.u32 %rd5, %r3, 4;\nadd.u64 %rd5, %rd5, %rd1;\n"
# In each iteration, each thread of a block reads its neighbour's element and then updates its own.
SMOOTH = kernel("smooth", "d", ".loc 1 1 3\n" + NEIGHBOUR + "mov.u32 %r1, 0;\n.loc 1 2 3\nst.global.f32 [%rd4], 0f3FC00000;\nAGAIN:\n.loc 1 7 3\nld.global.f32 %f1, [%rd5];\nbar.sync 0;\n"
                ".loc 1 9 3\nst.global.f32 [%rd4], %f1;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra AGAIN;\n")
# Each iteration of the outer loop updates the thread's own element in an inner loop, and then reads its neighbour's element.
NESTED = SMOOTH.replace("smooth", "nested").replace("AGAIN:\n.loc 1 7 3\n", "AGAIN:\nbar.sync 0;\nmov.u32 %r4, 0;\nFILL:\nsetp.ge.u32 %p2, %r4, 1;\n@%p2 bra DONE;\n.loc 1 2 3\n"
                        "st.global.f32 [%rd4], 0f3FC00000;\nadd.u32 %r4, %r4, 1;\nbra.uni FILL;\nDONE:\n.loc 1 7 3\n").replace("ld.global.f32 %f1, [%rd5];\nbar.sync 0;\n.loc 1 9 3\nst.global.f32 [%rd4], %f1;\n", "ld.global.f32 %f1, [%rd5];\n")
# A function with a conditional store is called twice, in an unrolled loop at line 5. Then, at line 8, each thread reads its neighbour's elements.
CALL = ".loc 1 2 3" + CALLED + "@%p2 bra J{0};\nst.global.f32 [%rd4+{0}], 0f3FC00000;\nJ{0}:\n"
UNROLLED_CALLS = kernel("unrolled", "d", ".loc 1 4 3\n" + NEIGHBOUR + "setp.eq.u64 %p2, %rd1, 0;\n" + CALL.format(0) + CALL.format(8) + ".loc 1 8 3\nld.global.f32 %f1, [%rd5];\nld.global.f32 %f1, [%rd5+8];\n")
# The same in a loop that is not unrolled and in which each iteration stores the same element.
ROLLED_CALLS = kernel("rolled", "d", ".loc 1 4 3\n" + NEIGHBOUR + "setp.eq.u64 %p2, %rd1, 0;\nmov.u32 %r1, 0;\n.loc 1 5 3\nAGAIN:\n" + CALL.format(0) + "add.u32 %r1, %r1, 1;\n.loc 1 5 3\n"
                "setp.lt.u32 %p1, %r1, 2;\n@%p1 bra AGAIN;\n.loc 1 8 3\nld.global.f32 %f1, [%rd5];\n")
# In each iteration, a store at line 3 precedes a call at line 5, and the function, which is at line 2, reads the neighbour's element.
CALLS_AGAIN = kernel("calls_again", "d", ".loc 1 1 3\n" + NEIGHBOUR + "setp.eq.u64 %p2, %rd1, 0;\nmov.u32 %r1, 0;\nAGAIN:\n.loc 1 3 3\n@%p2 bra J;\nst.global.f32 [%rd4], 0f3FC00000;\nJ:\n.loc 1 2 3" + CALLED +
                     "ld.global.f32 %f1, [%rd5];\nbar.sync 0;\n.loc 1 1 3\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra AGAIN;\n")
# The code after the conditional store has an earlier line, as if a function were inlined, but there is no loop.
BACKWARDS = kernel("backwards", "d", ".loc 1 8 3\n" + OWN.replace("%rd4, %rd1", "%rd4, %rd1;\nxor.b32 %r3, %r2, 1;\nmul.wide.u32 %rd5, %r3, 4;\nadd.u64 %rd5, %rd5, %rd1").format() + ".loc 1 9 3\n@%p2 bra J;\n"
                   "st.global.f32 [%rd4], 0f3FC00000;\nJ:\n.loc 1 7 3\nld.global.f32 %f1, [%rd5];\n")
# A conditional store at line 2 of a function that is called at line 5. After code without a line, the compiler repeats the store's `.loc`
# without the call. The function then reads the neighbour's element at line 3, or calls a function that reads it at line 8.
REPEATED = kernel("repeated_loc", "d", ".loc 1 5 3\n" + NEIGHBOUR + "setp.eq.u64 %p2, %rd1, 0;\n.loc 1 2 3" + CALLED + "@%p2 bra J;\n.loc 1 0 3\nmov.u32 %r1, 0;\n.loc 1 2 3\n"
                  "st.global.f32 [%rd4], 0f3FC00000;\nJ:\n.loc 1 3 3" + CALLED + "ld.global.f32 %f1, [%rd5];\n")
REPEATED += REPEATED.replace("repeated_loc", "calls_reader").replace("ld.global", ".loc 1 8 3, function_name g, inlined_at 1 3 3\nld.global")
# The compiler has moved the load of line 3 before the load of line 2. Line 9 then writes the elements that both loads read, or only
# one of them.
REORDERED = kernel("reordered", "d", ".loc 1 1 3\n" + NEIGHBOUR + ".loc 1 3 3\nld.global.f32 %f1, [%rd5];\n.loc 1 2 3\nld.global.f32 %f2, [%rd5+8];\n"
                   ".loc 1 9 3\nst.global.f32 [%rd4], %f1;\nst.global.f32 [%rd4+8], %f2;\n")
REORDERED += REORDERED.replace("reordered", "reordered_first").replace("st.global.f32 [%rd4+8], %f2;\n", "")
# A function writes an element at line 2, in some threads, and reads its neighbour's elements at lines 3 and 4. It is called at line 5, where
# the compiler has moved the load of line 4 to the front, and at line 6.
REORDERED += kernel("reordered_after", "d", ".loc 1 1 3\n" + NEIGHBOUR + "setp.eq.u64 %p2, %rd1, 0;\n" + "".join(
    f".loc 1 2 3{call}@%p2 bra J{k};\nst.global.f32 [%rd4+{k}], 0f3FC00000;\nJ{k}:\n" + "".join(f".loc 1 {line} 3{call}ld.global.f32 %f1, [%rd5+{k}];\n" for line in lines)
    for k, call, lines in ((0, CALLED, (4, 3)), (8, CALLED.replace("1 5 3", "1 6 3"), (3, 4)))))
# An unrolled loop, in which line 2 follows line 3 of the previous iteration and writes what its neighbour reads there.
REORDERED += kernel("unrolled_lines", "d", ".loc 1 1 3\n" + NEIGHBOUR + "".join(
    f".loc 1 2 3\nst.global.f32 [%rd4+{k}], 0f3FC00000;\n.loc 1 3 3\nld.global.f32 %f1, [%rd5+{k}];\n" for k in (0, 8)))
# A loop whose condition, at line 2, reads what line 3 writes, and is tested at the end of the body.
REORDERED += kernel("rotated", "d", ".loc 1 1 3\n" + NEIGHBOUR + "mov.u32 %r1, 0;\nAGAIN:\n.loc 1 3 3\nst.global.f32 [%rd4], 0f3FC00000;\n"
                    ".loc 1 2 3\nld.global.f32 %f1, [%rd5];\nbar.sync 0;\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra AGAIN;\n")
# Block 0 also writes another location, which the block that resets the counter reads before the reset.
RESETS_LAST = RESETS.replace("resets", "resets_last").replace(".loc 1 1 3\n", ".loc 1 1 3\nmov.u32 %r5, %ctaid.x;\nsetp.eq.u32 %p2, %r5, 0;\n", 1).replace(
    ".loc 1 2 3\n", "@%p2 st.relaxed.gpu.global.u32 [%rd2+4], 1;\n.loc 1 2 3\n").replace(".loc 1 3 3\n", ".loc 1 3 3\nld.relaxed.gpu.global.u32 %r4, [%rd2+4];\n")
# The store is in a function that another inlined function calls.
DEEP = kernel("deep", "d", ".loc 1 5 3\n.loc 1 3 3, function_name g, inlined_at 1 5 3\n.loc 1 2 3, function_name h, inlined_at 1 3 3\nst.global.f32 [%rd1], 0f3FC00000;\n")
# The arrival counts for more threads than the phase expects.
TOO_MANY = '.shared .align 8 .b8 meeting[8];\n' + kernel("too_many", "d", ".loc 1 1 3\nmbarrier.init.shared.b64 [meeting], 2;\n.loc 1 2 3\nmbarrier.arrive.shared.b64 %rd3, [meeting], 3;\n")


def many_branches(count):
    """A thread that tests the data and then sets it, with branches in between that depend on the value read."""
    skips = "".join(f"@%p1 bra A{k};\nadd.u32 %r2, %r2, 1;\nA{k}:\n" for k in range(count))
    return kernel("many_branches", "d", f".loc 1 2 3\nld.global.u32 %r1, [%rd1];\nmov.u32 %r2, 0;\nsetp.ne.u32 %p1, %r1, 0;\n{skips}setp.ne.u32 %p2, %r1, 0;\n@%p2 bra E;\n.loc 1 3 3\nst.global.u32 [%rd1], 1;\nE:\n")


def buffers(name, lines, fence, then=""):
    """A thread that loads and then stores, with or without a fence in between."""
    return kernel(name, "fg", f".loc 1 {lines[0]} 3\nld.relaxed.gpu.global.u32 %r1, [%rd1];\n{fence}.loc 1 {lines[1]} 3\nst.relaxed.gpu.global.u32 [%rd2], 1;\n{then}")


# The second thread waits for ever if both loads read the other thread's value.
TELLS = ".loc 1 4 3\nst.relaxed.gpu.global.u32 [%rd1+8], %r1;\n"
WAITS = ".loc 1 9 3\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra E;\nW: ld.relaxed.gpu.global.u32 %r2, [%rd1+4];\nsetp.eq.u32 %p1, %r2, 1;\n@%p1 bra W;\nE:\n"
BUFFERING = "".join(buffers(f"buffers{name}", (2, 3), fence, TELLS) + buffers(f"waits{name}", (7, 8), fence, WAITS)
                    for name, fence in (("", ""), ("_narrow", "fence.acq_rel.cta;\n"), ("_fenced", "fence.acq_rel.gpu;\n")))
BUSY = kernel("busy", "d", "mov.u32 %r2, 0;\nL: .loc 1 7 3\natom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1;\nadd.u32 %r2, %r2, 1;\n"
                           "setp.ne.u32 %p1, %r2, 9;\n@%p1 bra L;\n")
SIGNED = kernel("signed", "d", ".loc 1 9 3\nld.global.u32 %r1, [%rd1];\nadd.u64 %rd1, %rd1, 64;\nst.global.u32 [%rd1], %r1;\n")
STRUCTURE = (".visible .entry structure(.param .align 8 .b8 s[16])\n{\n.reg .b32 %r<4>; .reg .b64 %rd<4>;\nld.param.u64 %rd1, [s];\n"
             "ld.param.u32 %r1, [s+8];\nld.param.u32 %r2, [s+12];\nst.global.u32 [%rd1], %r1;\nst.global.u32 [%rd1+4], %r2;\nret;\n}\n")
# As above, but the tile is initialised, so that reading it too early is a race.
INITIALISED = COPIED.replace(".entry waits", ".entry initialises_waits").replace(".loc 1 2 3\ncp.async", ".loc 1 3 3\nst.shared.u32 [%r4], 0;\n.loc 1 2 3\ncp.async")
INITIALISED += INITIALISED.replace(".entry initialises", ".entry commits_never").replace("cp.async.commit_group;\n", "").replace("wait_group 1", "wait_group 0")
# A bulk copy reads the tile, and its thread fills the tile again.
INITIALISED += kernel("stores_tile", "do", ".shared .align 16 .b8 tile[16];\nmov.u32 %r1, tile;\n.loc 1 3 3\ncp.async.cg.shared.global [%r1], [%rd2], 16;\ncp.async.wait_all;\nfence.proxy.async;\n.loc 1 2 3\ncp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;\ncp.async.bulk.commit_group;\n"
                      ".loc 1 9 3\ncp.async.cg.shared.global [%r1], [%rd2], 16;\n")
# A flag is written before the data: with a store or with an update. In `acknowledges`, the data is read after the flag's second write.
EARLY = kernel("announces", "df", ".loc 1 3 3\nst.release.gpu.global.u32 [%rd2], 1;\n.loc 1 2 3\nst.global.f32 [%rd1], 0f3FC00000;\n")
EARLY += EARLY.replace("announces", "claims").replace("st.release.gpu.global.u32 [%rd2], 1", "atom.acq_rel.gpu.global.exch.b32 %r1, [%rd2], 1")
EARLY += kernel("acknowledges", "dfo", WAIT.format("acquire").replace(".loc 1 9 3", ".loc 1 8 3\nst.release.gpu.global.u32 [%rd2+4], 1;\n.loc 1 9 3"))
EARLY += kernel("overwrites_again", "df", ".loc 1 3 3\nst.release.gpu.global.u32 [%rd2], 1;\n.loc 1 4 3\nL: ld.acquire.gpu.global.u32 %r1, [%rd2+4];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra L;\n"
                ".loc 1 2 3\nst.global.f32 [%rd1], 0f3FC00000;\n")
# The counter gives each block a number; it is not a flag.
EARLY += kernel("takes_number", "df", ".loc 1 3 3\natom.acq_rel.gpu.global.add.u32 %r1, [%rd2], 1;\n.loc 1 2 3\nst.global.f32 [%rd1], 0f3FC00000;\n")
# Each block tests the data and then sets it, or increments it. In `leader_sets`, only thread 0 sets it.
TESTS = kernel("tests_and_sets", "d", ".loc 1 2 3\nld.global.u32 %r1, [%rd1];\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra E;\n.loc 1 3 3\nst.global.u32 [%rd1], 1;\nE:\n")
TESTS += kernel("increments", "d", ".loc 1 2 3\nld.global.u32 %r1, [%rd1];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;\n")
TESTS += kernel("leader_sets", "d", "mov.u32 %r2, %tid.x;\n.loc 1 2 3\nld.global.u32 %r1, [%rd1];\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra E;\nadd.u32 %r1, %r1, 1;\n.loc 1 3 3\nst.global.u32 [%rd1], %r1;\nE: st.relaxed.gpu.global.u32 [%rd1+16], %r1;\n")
TESTS += TESTS[TESTS.index(".visible .entry leader_sets"):].replace("leader_sets", "first_block_sets").replace("mov.u32 %r2, %tid.x;\n", "mov.u32 %r3, %ctaid.x;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 exit;\nmov.u32 %r2, %tid.x;\n")
TESTS += kernel("adds_neighbour", "d", "mov.u32 %r2, %tid.x;\nmul.wide.u32 %rd2, %r2, 4;\nadd.u64 %rd2, %rd2, %rd1;\n.loc 1 2 3\nld.global.u32 %r1, [%rd2];\nld.global.u32 %r3, [%rd2+4];\nadd.u32 %r1, %r1, %r3;\nst.global.u32 [%rd2], %r1;\n")
# Each thread writes its data before a barrier with a fence on its wrong side; thread 0 then increments a counter.
FENCE_BEFORE_BARRIER = kernel("fence_before_barrier", "df", "mov.u32 %r2, %ctaid.x;\nmov.u32 %r3, %tid.x;\nshl.b32 %r4, %r2, 1;\nadd.u32 %r4, %r4, %r3;\nmul.wide.u32 %rd3, %r4, 4;\nadd.u64 %rd3, %rd3, %rd1;\n.loc 1 2 3\nst.global.f32 [%rd3], 0f3FC00000;\n"
                              ".loc 1 4 3\nfence.acq_rel.gpu;\n.loc 1 5 3\nbar.sync 0;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra E;\n.loc 1 3 3\natom.global.inc.u32 %r1, [%rd2], 1;\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra E;\n.loc 1 9 3\nld.global.f32 %f1, [%rd1];\nE:\n")
# As above, but only one thread of each block writes: the thread with the block's number, or thread 0. The last block reads two elements.
FENCE_BEFORE_BARRIER += "".join(FENCE_BEFORE_BARRIER.replace("fence_before_barrier", name).replace("st.global.f32", f"setp.eq.u32 %p2, %r3, {writer};\n@%p2 st.global.f32").replace(
    "ld.global.f32 %f1, [%rd1];\n", "ld.global.f32 %f1, [%rd1];\nld.global.f32 %f1, [%rd1+12];\n") for name, writer in (("one_writer", "%r2"), ("leader_writes", "0")))
# A thread reads 8 bytes, of which the other thread writes the first 4 before it sets a flag, or without a flag.
WIDE = RECEIVE.replace("receive", "reads_both").replace("ld.global.f32 %f1, [%rd1];\nst.global.f32 [%rd3], %f1;", "ld.global.u64 %rd4, [%rd1];\nst.relaxed.gpu.global.u64 [%rd1+8], %rd4;")
WIDE += kernel("writes_half", "d", "mov.u32 %r2, %tid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra R;\n.loc 1 2 3\nst.global.u32 [%rd1], 1;\nbra.uni E;\nR: .loc 1 9 3\nld.global.u64 %rd2, [%rd1];\nst.relaxed.gpu.global.u64 [%rd1+8], %rd2;\nE:\n")
# As above, but the compiler has chosen loads for data that no thread writes.
WIDE += WIDE[WIDE.index(".visible .entry writes_half"):].replace("writes_half", "reads_constant").replace("ld.global.u64", "ld.global.nc.u64")
# A bulk copy reads 16 bytes of the tile, and its thread writes 4 of them before the copy has completed.
STORES_PART = kernel("stores_part", "d", ".shared .align 16 .b8 tile[16];\nmov.u32 %r1, tile;\n.loc 1 3 3\nst.shared.u32 [tile], 0;\nfence.proxy.async;\n.loc 1 2 3\n"
                     "cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r1], 16;\ncp.async.bulk.commit_group;\n.loc 1 9 3\nst.shared.u32 [tile], 1;\n")
# Each thread copies an element and reads its neighbour's in each of two rounds, without a barrier before the next copy.
REFILLS = kernel("refills", "do", ".shared .align 16 .b8 tile[256];\nmov.u32 %r1, tile;\nmov.u32 %r2, %tid.x;\nshl.b32 %r3, %r2, 2;\nadd.u32 %r4, %r3, %r1;\nxor.b32 %r3, %r3, 4;\nadd.u32 %r6, %r3, %r1;\nmov.u32 %r7, 0;\nL:\n.loc 1 2 3\n"
                 "cp.async.ca.shared.global [%r4], [%rd1], 4;\ncp.async.wait_all;\nbar.sync 0;\n.loc 1 9 3\nld.shared.u32 %r5, [%r6];\nst.relaxed.gpu.global.u32 [%rd2], %r5;\nadd.u32 %r7, %r7, 1;\nsetp.lt.u32 %p1, %r7, 2;\n@%p1 bra L;\n")
# As above, with an mbarrier instead of the barrier.
REFILLS += REFILLS.replace("refills", "refills_at_mbarrier").replace(".shared .align 16", ".shared .align 8 .b64 bar;\n.shared .align 16").replace("L:\n", "setp.ne.u32 %p1, %r2, 0;\n@%p1 bra I;\nmbarrier.init.shared.b64 [bar], 2;\nI: bar.sync 0;\nL:\n").replace(
    "cp.async.wait_all;\nbar.sync 0;\n", "cp.async.mbarrier.arrive.noinc.shared.b64 [bar];\nW: mbarrier.try_wait.parity.shared.b64 %p2, [bar], %r7;\n@!%p2 bra W;\n")
# As in `neighbours`, but the write and the read have the same line.
ONE_LINE = NEIGHBOURS.replace("neighbours", "one_line").replace(".loc 1 9 3\n", "")
# Every thread writes the same element: in two statements that the compiler has made from one, also with a barrier in between, or
# in a loop.
UNROLLED = ("mov.u32 %r2, %tid.x;\nmov.u32 %r3, %ctaid.x;\nadd.u32 %r2, %r2, %r3;\nsetp.ne.u32 %p1, %r2, 0;\n.loc 1 2 3\n@!%p1 st.global.u32 [%rd1], 1;\nSYNC@%p1 st.global.u32 [%rd1], 2;\n"
            "st.global.u32 [%rd1+8], 3;\n")
ONE_ELEMENT = "".join(kernel(name, "d", body) for name, body in (
    ("one_element", UNROLLED.replace("SYNC", "")), ("one_element_per_round", UNROLLED.replace("SYNC", "bar.sync 0;\n")),
    ("one_element_in_a_loop", "mov.u32 %r1, 0;\nL: .loc 1 2 3\nst.global.u32 [%rd1], %r1;\n.loc 1 7 3\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p1, %r1, 2;\n@%p1 bra L;\n")))
# The last thread to arrive at an mbarrier invalidates another one, for which the other thread may still wait.
INVALIDATES = kernel("invalidates", "d", ".shared .align 8 .b64 bar;\nmov.u32 %r2, %tid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra I;\nmbarrier.init.shared.b64 [bar], 1;\nmbarrier.arrive.shared.b64 _, [bar];\nI: bar.sync 0;\n@%p1 bra R;\n"
                     ".loc 1 2 3\nmbarrier.inval.shared.b64 [bar];\nbra.uni E;\nR: .loc 1 9 3\nL: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra L;\nE:\n")
# Two threads wait for each other at one or two mbarriers, and one of them then invalidates the first mbarrier.
MEETS = kernel("meets", "d", ".shared .align 8 .b64 bar[2];\nmov.u32 %r2, %tid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra I;\nmbarrier.init.shared.b64 [bar], 2;\nmbarrier.init.shared.b64 [bar+8], 2;\nI: bar.sync 0;\n"
               ".loc 1 2 3\nmbarrier.arrive.shared.b64 _, [bar];\n.loc 1 3 3\nmbarrier.arrive.shared.b64 _, [bar+8];\n.loc 1 7 3\nL: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra L;\n"
               ".loc 1 9 3\nM: mbarrier.try_wait.parity.shared.b64 %p2, [bar+8], 0;\n@!%p2 bra M;\n@%p1 bra E;\n.loc 1 10 3\nmbarrier.inval.shared.b64 [bar];\nE:\n")
MEETS += MEETS.replace("meets", "meets_once").replace("mbarrier.arrive.shared.b64 _, [bar+8];\n", "").replace("M: mbarrier.try_wait.parity.shared.b64 %p2, [bar+8], 0;\n@!%p2 bra M;\n", "")
# As above, but only one of the threads waits at each mbarrier.
MEETS += kernel("arrives_then_waits", "d", ".shared .align 8 .b64 bar[2];\nmov.u32 %r2, %tid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra I;\nmbarrier.init.shared.b64 [bar], 1;\nmbarrier.init.shared.b64 [bar+8], 1;\nmbarrier.arrive.shared.b64 _, [bar];\nI: bar.sync 0;\n"
                "@%p1 bra R;\n.loc 1 9 3\nM: mbarrier.try_wait.parity.shared.b64 %p2, [bar+8], 0;\n@!%p2 bra M;\n.loc 1 10 3\nmbarrier.inval.shared.b64 [bar];\nbra.uni E;\n"
                "R: .loc 1 3 3\nmbarrier.arrive.shared.b64 _, [bar+8];\n.loc 1 7 3\nL: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra L;\nE:\n")
# A thread that invalidates an mbarrier arrives at another one first, and the other thread then uses the first one again.
MEETS += kernel("arrives_then_invalidates", "d", ".shared .align 8 .b64 bar[2];\nmov.u32 %r2, %tid.x;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra I;\nmbarrier.init.shared.b64 [bar], 1;\nmbarrier.init.shared.b64 [bar+8], 1;\nmbarrier.arrive.shared.b64 _, [bar];\nI: bar.sync 0;\n"
                ".loc 1 3 3\n@!%p1 mbarrier.arrive.shared.b64 _, [bar+8];\n@!%p1 bra R;\n.loc 1 9 3\nM: mbarrier.try_wait.parity.shared.b64 %p2, [bar+8], 0;\n@!%p2 bra M;\n.loc 1 7 3\nL: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra L;\n"
                "R: @%p1 bra E;\n.loc 1 10 3\nmbarrier.inval.shared.b64 [bar];\nE:\n")
# Each block writes its element, and reads the other block's.
BLOCKS = kernel("blocks", "d", "mov.u32 %r2, %ctaid.x;\nmul.wide.u32 %rd4, %r2, 4;\nadd.u64 %rd4, %rd4, %rd1;\nxor.b32 %r3, %r2, 1;\nmul.wide.u32 %rd5, %r3, 4;\nadd.u64 %rd5, %rd5, %rd1;\n.loc 1 2 3\nst.global.u32 [%rd4], 1;\n"
                ".loc 1 9 3\nld.global.u32 %r4, [%rd5];\nst.relaxed.gpu.global.u32 [%rd1+16], %r4;\n.loc 1 3 3\nst.global.u32 [%rd1+20], 1;\n")
CLEARS = kernel("clears", "d", ".loc 1 2 3\nst.global.u32 [%rd1], 0;\n")
# The last iteration has no barrier between a thread's update and its neighbour's next read.
SMOOTH_AGAIN = SMOOTH.replace(".entry smooth", ".entry smooth_again").replace("0f3FC00000;\nAGAIN", "0f3FC00000;\nbar.sync 0;\nAGAIN")
# The writing block's threads meet at a barrier of their warp; those of the reading block at none.
FOR_WARP = FOR_BLOCK.replace("for_block", "for_warp").replace("setp.ne.u32 %p1", ".loc 1 5 3\nbar.warp.sync 3;\nsetp.ne.u32 %p1")
FOR_WARP += BLOCK_READS.replace("block_reads", "reads_alone").replace("B: bar.sync 0;\n", "B:\n")
# As announces, but the data has block scope.
FOR_WARP += kernel("announces_to_block", "df", ".loc 1 3 3\nst.release.gpu.global.u32 [%rd2], 1;\n.loc 1 2 3\nst.relaxed.cta.global.f32 [%rd1], 0f3FC00000;\n")
MODULE = (HEAD + CLEARS + MEETS + SMOOTH_AGAIN + FOR_WARP + REFILLS + ONE_LINE + ONE_ELEMENT + INVALIDATES + BLOCKS + WIDE + STORES_PART + INITIALISED + EARLY + TESTS + FENCE_BEFORE_BARRIER + SEND + RECEIVE + ACQUIRE + FENCED + STRONG + LOOK + BEFORE + ROLES + FOR_BLOCK + LAST + BLOCK_READS + RAISES + MANY_READS + LATE_BARRIER +
          EARLY_BARRIER + HANDS_BACK + OVERWRITES + ROUNDS + BRANCHES + REFILL + RELEASES + RINGS + NEIGHBOURS + COPY + COUNTED.replace("atom{}", "atom") +
          COUNTED.replace("atom{}", "atom.release.gpu").replace("counted", "releasing") + PLAIN_FLAG + NARROW_FLAG + HOISTED + READ_ONLY + OTHER_LINE + EXIT +
          ENDLESS + REMOVED + BUSY + SIGNED + STRUCTURE + RESETS + RESETS_LATER + POPS + CURSOR + SMOOTH + NESTED + UNROLLED_CALLS + ROLLED_CALLS + CALLS_AGAIN + BACKWARDS + REPEATED + REORDERED + RESETS_LAST + TOO_MANY +
          BUFFERING + MANY + COMPETING + LOOKS_FIRST + BUFFERED + RELAY + PAIR + BULK_COPIES + UNFILLED + SLOW + READS_FIRST + FILLS_LATE + COPIED + NAMED_RING + TWO_WRITES + PASS_ON + DEEP + FILES)
MEMORY = "source flags.ptx\nmemory data f32[8]\nmemory flag u32\nmemory out f32\n"

POLL = "poll with cuda::atomic_ref<T, cuda::thread_scope_{scope}>(*p).load(cuda::memory_order_acquire) or membar::load<membar::thread_scope::{scope}>(p, membar::acquire)"
# (launches, the text that the report must contain)
SHOWN = [
    ("launch send args data flag\nlaunch receive args data flag out\n", """\
s.scenario	race	0 executions, 0 blocked, 0.00 s; flags.cu:2 and flags.cu:9
  data race on data: flags.cu:2 writes 4 bytes and flags.cu:9 reads 4 bytes; nothing orders them, and both are weak
  flag is written at flags.cu:3 without a release, and there is no fence between it and flags.cu:2; the fence at flags.cu:4 comes after flags.cu:3
  flag is read at flags.cu:7 without an acquire, and there is no fence between it and flags.cu:9
  release in C++: cuda::atomic_ref<T, cuda::thread_scope_device>(*p).store(v, cuda::memory_order_release), or __threadfence() before the access
  acquire in C++: cuda::atomic_ref<T, cuda::thread_scope_device>(*p).load(cuda::memory_order_acquire), or __threadfence() after the load (after the loop if the load polls)
  thread 0 (send, block 0, thread 0)
  > 0: flags.cu:2: *data = 1.5f;   // writes 1.5 to data
    1: flags.cu:3: *flag = 1;   // writes 1 to flag
  thread 1 (receive, block 0, thread 0)
    0: flags.cu:7: while (load(flag) == 0) {   [in load.h:12]   // reads 1 from flag, written by thread 0 event 1
  > 1: flags.cu:9: *out = *data;   // reads 1.5 from data, written by thread 0 event 0
  --events=all shows all 5 events
  --repair searches for orders, scopes, fences and barriers that let the scenario pass
"""),
    # Reading the flag in the second round does not order anything in the first round.
    ("memory turns u32[2]\nlaunch rounds grid 2 block 2 args data turns out\n", """\
  data race on data+4: flags.cu:2 writes 4 bytes and flags.cu:9 reads 4 bytes; nothing orders them, and both are weak
  flags.cu:10 writes turns+4 on behalf of its block, and no barrier orders flags.cu:9 in the other threads before it: add __syncthreads() between them, where all threads of the block reach it
  thread 2 (rounds, block 1, thread 0)
    5: flags.cu:10: }   [called at flags.cu:5]   // writes 1 to turns+4
  thread 0 (rounds, block 0, thread 0)
"""),
    # A fence in another branch is not reported as a fence in the wrong place.
    ("launch roles grid 2 args data flag out\n",
     "  flag is read at flags.cu:7 without an acquire, and there is no fence between it and flags.cu:9\n"),
    # With two domains, the flag's device scope does not reach the other domain.
    ("launch fenced args data flag\nlaunch acquire domain 1 args data flag out\n", """\
  data race on data: flags.cu:2 writes 4 bytes and flags.cu:9 reads 4 bytes; nothing orders them, and both are weak
  flag is written at flags.cu:3 without a release; the fence at flags.cu:3 has device scope, but the threads are in memory synchronization domains 0 and 1: device scope does not reach beyond its domain, and only system scope includes both
  release in C++: cuda::atomic_ref<T, cuda::thread_scope_system>(*p).store(v, cuda::memory_order_release), or __threadfence_system() before the access
  thread 0 (fenced, domain 0, block 0, thread 0)
"""),
    ("launch strong args data\nlaunch look domain 3 args data\n",
     "nothing orders them, and their scopes do not include each other's thread: the first has device scope, but the threads are in memory synchronization domains 0 and 3: device scope does not reach beyond its domain, and only system scope includes both\n"),
    ("launch strong args data\nlaunch look device 1 domain 2 args data\n", """\
the first has device scope, but the threads are on devices 0 and 1; only system scope includes both
  widen the scope of the store at flags.cu:2 to system: cuda::atomic_ref<T, cuda::thread_scope_system>(*p).store(v, cuda::memory_order_relaxed)
  widen the scope of the load at flags.cu:9 to system: cuda::atomic_ref<T, cuda::thread_scope_system>(*p).load(cuda::memory_order_relaxed)
  thread 0 (strong, device 0, domain 0, block 0, thread 0)
  > 0: flags.cu:2: *data = 1.5f;   // writes 1.5 to data
  thread 1 (look, device 1, domain 2, block 0, thread 0)
"""),
    # A wrong final value is followed back to the write that it came from, past the many events of a launch that has nothing to do with it.
    ("launch strong args data+4\nlaunch relay args data+4 out\nlaunch many args flag\nfinal data == 0.0 /\\ out == 2.0\n", """\
  thread 0 (strong, block 0, thread 0)
    0: flags.cu:2: *data = 1.5f;   // writes 1.5 to data+4
  thread 1 (relay, block 0, thread 0)
    0: flags.cu:9: *out = *data;   // reads 1.5 from data+4, written by thread 0 event 0
  > 1: flags.cu:9: *out = *data;   // writes 1.5 to out
"""),
    ("launch smooth_again block 2 args data\n", "; the access at flags.cu:7 belongs to a later iteration than the access at flags.cu:9, so synchronization may be missing after flags.cu:9 and before the next iteration's flags.cu:7\n"),
    ("launch for_warp block 2 args data flag\nlaunch reads_alone block 2 args data flag\n",
     "both are weak\n  flags.cu:7 reads flag on behalf of its block, and no barrier orders it before flags.cu:9 in the other threads: add __syncthreads() between them"),
    ("launch announces_to_block args data flag\nlaunch acquire args data flag out\n", "is weak\n  widen the scope of the store at flags.cu:2 to device: "),
    # Another thread updates what this thread overwrites.
    ("launch clears args data\nlaunch busy args data\n", "or with memory_order_relaxed if no other memory depends on this store; the store still overwrites the updates that precede it\n"),
    # An address before an object is shown relative to that object, not as an offset past the end of the previous object.
    ("launch before args flag\n", "4 bytes at 4 bytes before flag\n"),
    # The block lacks a barrier.
    ("launch for_block block 2 args data flag\nlaunch last args data flag out\n",
     "  flags.cu:3 writes flag on behalf of its block, and no barrier orders flags.cu:2 in the other threads before it: add __syncthreads() between them, where all threads of the block reach it\n"),
    # the report names the flag that hands the data on, not thread 0's data
    ("launch for_block block 2 args data flag\nlaunch block_reads block 2 args data flag\n",
     "both are weak\n  flags.cu:3 writes flag on behalf of its block, and no barrier orders flags.cu:2 in the other threads before it: add __syncthreads() between them, where all threads of the block reach it\n  thread 1 "),
    # Another thread of each block accesses the flag: the report also shows that thread's accesses.
    ("launch late_barrier block 2 args data flag\nlaunch block_reads block 2 args data flag\n", """\
  data race on data+4: flags.cu:2 writes 4 bytes and flags.cu:9 reads 4 bytes; nothing orders them, and both are weak
  flags.cu:3 writes flag on behalf of its block, and no barrier orders flags.cu:2 in the other threads before it: add __syncthreads() between them, where all threads of the block reach it; the barrier at flags.cu:5 comes after flags.cu:3
  thread 1 (late_barrier, block 0, thread 1)
  > 2: flags.cu:2: *data = 1.5f;   // writes 1.5 to data+4
  thread 0 (late_barrier, block 0, thread 0)
    3: flags.cu:3: *flag = 1;   // writes 1 to flag
  thread 2 (block_reads, block 0, thread 0)
    0: flags.cu:7: while (load(flag) == 0) {   // reads 1 from flag, written by thread 0 event 3
  thread 3 (block_reads, block 0, thread 1)
  > 2: flags.cu:9: *out = *data;   // reads 1.5 from data+4, written by thread 1 event 2
"""),
    ("launch send args data+4 flag\nlaunch early_barrier block 2 args data flag\n",
     "  flags.cu:7 reads flag on behalf of its block, and no barrier orders it before flags.cu:9 in the other threads: add __syncthreads() between them, where all threads of the block reach it; the barrier at flags.cu:6 comes before flags.cu:7\n"),
    # The read may also see the value that overwrites the data: here, the flag orders the reader's block before the writer's block.
    *((launches, "  flags.cu:3 writes flag on behalf of its block, and no barrier orders flags.cu:9 in the other threads before it: add __syncthreads() between them, where all threads of the block reach it\n")
      for launches in ("launch hands_back block 2 args data flag out\nlaunch overwrites block 2 args data flag\n",
                       "launch overwrites block 2 args data flag\nlaunch hands_back block 2 args data flag out\n")),
    # a copy, with its source and its destination
    ("launch copy args data flag out\n", """\
s.scenario	race	0 executions, 0 blocked, 0.00 s; flags.cu:9 and flags.cu:2
  data race on tile of block 0: flags.cu:9 reads 4 bytes and flags.cu:2 (an asynchronous copy of 16 bytes from data+16 to tile of block 0) writes this memory; nothing orders them, and both are weak
"""),
    # The report names a single writer for the bytes that are read, although the copy wrote more bytes. A note names the missing barrier.
    ("launch refill block 2 args data out\n", """\
  data race on tile+4 of block 0: flags.cu:9 reads 4 bytes and flags.cu:4 (an asynchronous copy of 16 bytes from data to tile of block 0) writes this memory; nothing orders them, and both are weak
  both threads are in the same warp, and no barrier separates flags.cu:9 and flags.cu:4: add __syncthreads() between them, where all threads of the block reach it, before the copy starts (__syncwarp() is enough only if all threads that share this memory are always in one warp)
"""),
    ("launch refill block 2 args data out\n", "  > 3: flags.cu:9: *out = *data;   // reads 0.0 from tile+4 of block 0, written by thread 2 event 1\n"),
    # A copy's numbers have the type of the memory at its source, although the tile has no type.
    ("launch refill block 2 args data out\n", "// writes {0.0, 0.0, 0.0, 0.0} to tile of block 0\n"),
    # Launches that nothing orders.
    *((launches, "weak\n  " + who + " run concurrently, because their launch lines have neither a common stream nor 'after'; if the program launches them into one stream, "
       "add 'stream 0' to both lines\n") for launches, who in (
        ("launch send args data+4 flag\nlaunch before args data+8\n", "send and before"),
        ("launch send args data flag\nlaunch send args data flag\n", "two launches of send"),
        ("launch before stream 0 args data+8\nlaunch send stream 1 args data+4 flag\n", "send and before"))),
    ("memory few f32\nlaunch refill block 2 args few out\n", """\
  an access by thread 2 is outside of every object: 16 bytes at few
"""),
    ("memory few f32\nlaunch refill block 2 args few out\n", "is at flags.cu:2: *data = 1.5f;\n"),
    # An arrival at an mbarrier releases only what precedes it in its own thread.
    ("launch arrives_early block 2 args out\n",
     "  the arrival at flags.cu:3 comes before flags.cu:9, so the wait for bar of block 0 at flags.cu:7 does not order flags.cu:9 before flags.cu:2: move the arrival after flags.cu:9\n  thread "),
    *((f"launch {name} block 2 args out\n", "  the arrival at flags.cu:3 comes before flags.cu:9, so the wait for empty of block 0 at flags.cu:7 does not order flags.cu:9 before flags.cu:5: move the arrival after flags.cu:9\n")
      for name in ("ring", "turned_ring")),
    ("launch arrives_for_warp block 3 args out\n",
     "  the arrival at flags.cu:3 is performed on behalf of its warp, and no barrier orders flags.cu:9 in the other threads before it: add __syncwarp() between them\n  thread "),
    # If only a proxy fence is missing, no arrival is to blame.
    ("launch no_proxy_fence block 2 args data out\n", "uses a different proxy: a proxy fence is missing between them\n  add cuda::ptx::fence_proxy_async(cuda::ptx::space_shared) after flags.cu:9, before the synchronization that orders it before the copy\n  even if an mbarrier or a barrier orders the threads, the PTX ISA orders accesses through different proxies only by a proxy fence: docs/asynchronous_copies.md explains this and says what was measured\n  thread "),
    ("launch empties_early block 2 args data out\n",
     "  the arrival at flags.cu:8 comes before flags.cu:9, so the wait for empty of block 0 at flags.cu:7 does not order flags.cu:9 before flags.cu:5: move the arrival after flags.cu:9\n  thread "),
    # An arrival in an earlier phase is not to blame.
    ("launch wrong_parity block 2 args data out\n",
     "  both threads are in the same warp, and no barrier separates flags.cu:10 and flags.cu:5, which are in different branches, so __syncthreads() cannot be between them: "),
    ("launch one_phase block 2 args data out\n",
     "  both threads are in the same warp, and no barrier separates flags.cu:9 and flags.cu:5, which are in different branches, so __syncthreads() cannot be between them: "),
    # Without an arrival, the note does not suggest a barrier that only some threads reach.
    ("launch other_branch block 2 args out\n",
     "  both threads are in the same warp, and no barrier separates flags.cu:2 and flags.cu:9, which are in different branches, so __syncthreads() cannot be between them: use a cuda::barrier, on which one thread arrives after its access and the other thread waits before its access\n"),
    # A read of memory that was never written: the report shows a write that nothing orders before the read.
    ("launch unfilled block 64 args data\n", """\
s.scenario	uninitialised	0 executions, 0 blocked, 0.00 s; flags.cu:9 and flags.cu:2
  thread 0 may read tile+128 of block 0 before anything is written to it
  flags.cu:2 in thread 32 writes tile+128 of block 0, but nothing orders this write before flags.cu:9
  both threads are in the same block, and no barrier separates flags.cu:2 and flags.cu:9: add __syncthreads() between them
  thread 0 (unfilled, block 0, thread 0)
    0: flags.cu:6: __global__ void receive(float* data, unsigned* flag, float* out) {   // reads 0.0 from data+8, its initial value
  thread 32 (unfilled, block 0, thread 32)
    0: flags.cu:6: __global__ void receive(float* data, unsigned* flag, float* out) {   // reads 0.0 from data+8, its initial value
  thread 0 (unfilled, block 0, thread 0)
  > 2: flags.cu:9: *out = *data;   // reads tile+128 of block 0, to which nothing has been written
  thread 32 (unfilled, block 0, thread 32)
  > 1: flags.cu:2: *data = 1.5f;   // writes 1 to tile+128 of block 0
  --events=all shows all """),
    # A barrier after the read does not help.
    ("launch reads_first block 64 args data\n", "  flags.cu:9 in thread 32 writes tile+128 of block 0, but nothing orders this write before flags.cu:2\n  thread "),
    ("memory late f32 uninitialised\nlaunch removed args late flag out\nlaunch slow args late flag\n", "  flags.cu:2 in thread 1 writes late, but nothing orders this write before flags.cu:9\n"),
    # Nothing writes the memory, or the write does not race with the read: then there is nothing to show.
    ("memory late f32 uninitialised\nlaunch removed args late flag out\n", "written to it\n  thread 0 (removed"),
    ("memory late f32 uninitialised\nlaunch strong args late\nlaunch look args late\n", "written to it\n  --events=all"),
    ("launch fills_late block 2 args out\n",
     "  the arrival at flags.cu:3 comes before flags.cu:2, so the wait for bar of block 0 at flags.cu:7 does not order flags.cu:2 before flags.cu:9: move the arrival after flags.cu:2\n  thread "),
    # The copy that writes the memory has not completed.
    ("launch waits_never args data out\n", "  flags.cu:2 in thread 0 starts a copy to tile of block 0, but the copy has not completed when flags.cu:9 reads this memory: before the read, "
     "wait for it with cp.async.wait_group or cp.async.wait_all (__pipeline_wait_prior() in C++)\n  thread "),
    ("launch waits_too_little block 2 args data out\n", "  flags.cu:2 in thread 1 starts a copy to tile+16 of block 0, but the copy has not completed when flags.cu:9 reads this memory; the wait at flags.cu:4 does not include this copy, because it leaves the last group in flight: "
     "wait for it in thread 1 with cp.async.wait_group or cp.async.wait_all (__pipeline_wait_prior() in C++), and add a barrier, such as __syncthreads(), between this wait and the read\n  thread "),
    ("launch waits_alone block 2 args data out\n", "  flags.cu:2 in thread 1 starts a copy to tile+16 of block 0, but no barrier separates the wait for it at flags.cu:4 and flags.cu:9: add __syncthreads() between them\n  thread "),
    ("launch waits_for_arrival block 2 args data out\n", "reads this memory: before the read, wait for the phase of the mbarrier in which the arrival at flags.cu:5 counts\n  thread "),
    ("launch reads_early block 2 args data out\n", "  flags.cu:2 in thread 0 starts a copy to tile of block 0, but the copy has not completed when flags.cu:9 reads this memory: before the read, wait for the phase of the copy's mbarrier that expects the copy's bytes\n  thread "),
    # The same holds for a race with a copy.
    ("launch copy args data flag out\n", "  flags.cu:2 in thread 0 starts a copy to tile of block 0, but the copy has not completed when flags.cu:9 reads this memory: before the read, "
     "wait for it with cp.async.wait_group or cp.async.wait_all (__pipeline_wait_prior() in C++)\n  thread "),
    ("launch initialises_waits_never args data out\n", "but the copy has not completed when flags.cu:9 reads this memory: before the read, wait for it with cp.async.wait_group"),
    ("launch initialises_waits_too_little block 2 args data out\n", " starts a copy to tile of block 0, but the copy has not completed when flags.cu:9 reads this memory; the wait at flags.cu:4 does not include this copy, because it leaves the last group in flight: "
     "wait for it in thread 0 with cp.async.wait_group or cp.async.wait_all (__pipeline_wait_prior() in C++), and add a barrier, such as __syncthreads(), between this wait and the read\n  thread "),
    ("launch commits_never_waits_too_little block 2 args data out\n", "; the wait at flags.cu:4 does not include this copy, because the copy is not committed to a group before it: wait for it in thread 0 "),
    ("memory tiles u32[4]\nlaunch stores_tile args tiles data\n", "  flags.cu:2 in thread 0 starts a copy from tile of block 0, but the copy has not completed when flags.cu:9 writes this memory: before the write, wait for it with cp.async.bulk.wait_group.read\n"),
    # A flag that is written too early.
    ("launch announces args data flag\nlaunch acquire args data flag out\n",
     "  flags.cu:3 writes flag before flags.cu:2 writes data, so the read of flag at flags.cu:7 does not order flags.cu:2 before flags.cu:9: move the write of flag after flags.cu:2\n  thread "),
    ("launch claims args data flag\nlaunch acquire args data flag out\n",
     "before flags.cu:9: if the access at flags.cu:2 cannot precede the update at flags.cu:3, write another flag with release after flags.cu:2, and wait for that flag with acquire before flags.cu:9\n  thread "),
    # The flag of the first round is not to blame, although its write precedes the data.
    ("memory flags u32[2]\nlaunch overwrites_again args data flags\nlaunch acknowledges args data flags out\n",
     "both are weak\n  flags.cu:8 writes flags+4 before flags.cu:9 reads data, so the read of flags+4 at flags.cu:4 does not order flags.cu:9 before flags.cu:2: move the write of flags+4 after flags.cu:9\n  thread "),
    ("launch takes_number grid 2 args data flag\n", "both are weak\n  threads of different blocks execute flags.cu:2 concurrently: if each thread should write its own element, the index is wrong, possibly because of an earlier race; otherwise, use an atomic operation, or let only one thread perform the access\n"
     "  both stores write the same value; if that is intended, use relaxed atomic stores, or write `assume same-value writes` in the scenario\n  thread "),
    # Reading and writing in two steps.
    ("launch tests_and_sets grid 2 args data\n",
     "  both threads read data at flags.cu:2 and then write it at flags.cu:3, depending on the value that they read, so both may write it: if both threads may execute this, let one thread win with atomicCAS() or atomicExch(); otherwise, the synchronization that should let only one of them through is wrong\n  thread "),
    ("launch increments grid 2 args data\n",
     "  both threads read data and then write it at flags.cu:2, with a value computed from the value that they read, so one of the updates may be lost: if both threads may execute this, use an atomic read-modify-write, such as atomicAdd(); otherwise, the synchronization that should let only one of them through is wrong\n  thread "),
    ("launch leader_sets block 2 args data\n", "  both threads are in the same warp, and no barrier separates flags.cu:3 and flags.cu:2: add __syncthreads() between them, "),
    ("launch adds_neighbour block 2 args data\n", "  both threads are in the same warp, and no barrier separates the read and the write at flags.cu:2: "),
    # A barrier of the block does not order the accesses of other blocks.
    ("launch first_block_sets grid 2 block 2 args data\n", "always in one warp); if other blocks also access data, a barrier of the block does not order these accesses: use a grid barrier, such as cooperative_groups::grid_group::sync(), or a separate kernel\n"),
    # The flag's thread releases its own data, but not the data of the other threads.
    ("launch fence_before_barrier grid 2 block 2 args data flag\n", """\
  flag is written at flags.cu:3 without a release, and there is no fence between it and the barrier at flags.cu:5, which separates it from flags.cu:2 in other threads; the fence at flags.cu:4 comes before this barrier
  flag is read at flags.cu:3 without an acquire, and there is no fence between it and flags.cu:9; the fence at flags.cu:4 comes before flags.cu:3
  release in C++: __threadfence() before the access
  acquire in C++: __threadfence() after the access
"""),
    # This also applies to the data that another thread writes in another block.
    ("launch one_writer grid 2 block 2 args data flag\n", """\
  flag is written at flags.cu:3 without a release, and there is no fence between it and the barrier at flags.cu:5, which separates it from flags.cu:2 in other threads; the fence at flags.cu:4 comes before this barrier
  flag is read at flags.cu:3 without an acquire, and there is no fence between it and flags.cu:9; the fence at flags.cu:4 comes before flags.cu:3
  release in C++: __threadfence() before the access
  acquire in C++: __threadfence() after the access
"""),
    ("launch leader_writes grid 2 block 2 args data flag\n", """ are weak
  flag is read at flags.cu:3 without an acquire, and there is no fence between it and flags.cu:9; the fence at flags.cu:4 comes before flags.cu:3
  acquire in C++: __threadfence() after the access
"""),
    # If both threads wait for each other, an arrival is not meant to release a wait that follows it.
    *((f"launch {name} block 2 args data\n", "  both threads are in the same warp, and no barrier separates flags.cu:10 and flags.cu:7: add __syncthreads() between them, where all threads of the block reach it "
       "(__syncwarp() is enough only if all threads that share this memory are always in one warp); flags.cu:10 invalidates the mbarrier: if this line is the closing brace of a scope, "
       "the destructor of a cuda::pipeline or cuda::barrier does so, and __syncthreads() must precede the brace\n") for name in ("meets", "meets_once", "arrives_then_invalidates")),
    ("launch arrives_then_waits block 2 args data\n", "  the arrival at flags.cu:3 comes before flags.cu:7, so the wait for bar+8 of block 0 at flags.cu:9 does not order flags.cu:7 before flags.cu:10: move the arrival after flags.cu:7\n"),
    # A named barrier is named.
    ("launch named_ring block 64 args out\n",
     "  the arrival at named barrier 2 at flags.cu:7 comes before flags.cu:9, so the wait for named barrier 2 at flags.cu:4 does not order flags.cu:9 before flags.cu:5: move the arrival after flags.cu:9\n  thread "),
    # The flag's first write after the data is the one that should release them.
    ("launch two_writes args data flag\nlaunch both args data flag out\n", """\
  flag is written at flags.cu:3 without a release, and there is no fence between it and flags.cu:2
  release in C++: cuda::atomic_ref<T, cuda::thread_scope_device>(*p).store(v, cuda::memory_order_release), or __threadfence() before the access
  thread 0 (two_writes, block 0, thread 0)
  > 0: flags.cu:2: *data = 1.5f;   // writes 1.5 to data
    1: flags.cu:3: *flag = 1;   // writes 1 to flag
    2: flags.cu:5: }   // writes 2 to flag
"""),
    ("launch first_releases args data flag\nlaunch awaits_second args data flag out\n", "both are weak\n  flag is read at flags.cu:7 without an acquire, and there is no fence between it and flags.cu:9\n  acquire in C++: "),
    # One barrier of a loop separates the copy from the later reads, but not the reads from the next copy.
    ("launch refills block 2 args data out\n", "  both threads are in the same warp, and no barrier separates flags.cu:9 and flags.cu:2: add __syncthreads() between them, before the copy starts (__syncwarp() "),
    ("launch refills_at_mbarrier block 2 args data out\n", "  both threads are in the same warp, and no barrier separates flags.cu:9 and flags.cu:2: add __syncthreads() between them, before the copy starts (__syncwarp() "),
    ("launch one_line block 64 args data\n", "  both threads are in the same block, and no barrier separates the read and the write at flags.cu:2: add __syncthreads() between them\n"),
    # Two writes by one line are not separated by a barrier after that line.
    *((f"launch one_element{name} block 2 args data\n", "  both threads are in the same warp, and both write data at flags.cu:2 without a barrier in between: if each thread should write its own element, "
       "the index is wrong, possibly because of an earlier race; if the writes belong to different iterations of a loop, add __syncthreads() between the iterations\n") for name in ("", "_in_a_loop")),
    ("launch one_element_per_round block 2 args data\n", "  both threads are in the same warp and execute flags.cu:2 concurrently, so no barrier can separate the accesses: if each thread should write its own element, "
     "the index is wrong, possibly because of an earlier race; otherwise, use an atomic operation, or let only one thread perform the access\n"),
    ("launch one_element grid 2 args data\n", "  threads of different blocks execute flags.cu:2 concurrently: if each thread should write its own element, "),
    ("launch invalidates block 2 args data\n", "// invalidates the mbarrier at bar of block 0\n"),
    ("launch blocks grid 2 args data\n", "  the threads are in different blocks, which __syncthreads() does not synchronize: between flags.cu:2 and flags.cu:9, use a grid barrier, such as cooperative_groups::grid_group::sync(), "
     "or a flag that is written with release and read with acquire; or perform the accesses in separate kernels\n"),
    # A race with an access of a different size has the same notes.
    ("launch send args data flag\nlaunch reads_both args data flag out\n", """\
  data race on data: flags.cu:2 writes 4 bytes and flags.cu:9 reads 8 bytes; nothing orders them, and both are weak
  flag is written at flags.cu:3 without a release, and there is no fence between it and flags.cu:2; the fence at flags.cu:4 comes after flags.cu:3
  flag is read at flags.cu:7 without an acquire, and there is no fence between it and flags.cu:9
"""),
    ("launch send args data flag\nlaunch reads_both args data flag out\n", "  > 1: flags.cu:9: *out = *data;   // reads an undetermined value from data\n"),
    ("launch writes_half block 2 args data\n", "  both threads are in the same warp, and no barrier separates flags.cu:2 and flags.cu:9, which are in different branches, so __syncthreads() cannot be between them: "),
    ("memory data32 u32[4]\nlaunch stores_part args data32\n", "  flags.cu:2 in thread 0 starts a copy from tile of block 0, but the copy has not completed when flags.cu:9 writes this memory: before the write, wait for it with cp.async.bulk.wait_group.read\n"),
    ("launch reads_constant block 2 args data\n", "  > 0: flags.cu:9: *out = *data;   // reads an undetermined value from data\n"),
    # Two warps need a barrier of the block.
    ("launch neighbours block 64 args data\n", "  both threads are in the same block, and no barrier separates flags.cu:2 and flags.cu:9: add __syncthreads() between them\n"),
    # The report shows the final values if a condition does not hold.
    ("launch send args data flag\nfinal data[0] == 1.0 /\\ flag == 1\n", "  the final condition does not hold: data[0] == 1.0 /\\ flag == 1; data[0] is 1.5, flag is 1\n"),
    # For an access that must both release and acquire, the report suggests a single spelling.
    ("launch counted grid 2 args data flag\n", """\
  release in C++: cuda::atomic_ref<T, cuda::thread_scope_device>(*p).fetch_add(v, cuda::memory_order_acq_rel), or __threadfence() before the access
  acquire in C++: cuda::atomic_ref<T, cuda::thread_scope_device>(*p).fetch_add(v, cuda::memory_order_acq_rel), or __threadfence() after the access
"""),
    ("launch releasing grid 2 args data flag\n",
     "  acquire in C++: cuda::atomic_ref<T, cuda::thread_scope_device>(*p).fetch_add(v, cuda::memory_order_acq_rel), or __threadfence() after the access\n"),
    # The data pass through a third block.
    ("memory turns u32[2]\nlaunch releases args data turns\nlaunch pass_on args turns\nlaunch acquire args data turns+4 out\n", """\
  data race on data: flags.cu:2 writes 4 bytes and flags.cu:9 reads 4 bytes; nothing orders them, and both are weak
  turns is read at flags.cu:7 without an acquire, and there is no fence between it and flags.cu:8
  acquire in C++: cuda::atomic_ref<T, cuda::thread_scope_device>(*p).load(cuda::memory_order_acquire), or __threadfence() after the load (after the loop if the load polls)
  turns+4 is written at flags.cu:8 without a release, and there is no fence between it and flags.cu:7
  release in C++: cuda::atomic_ref<T, cuda::thread_scope_device>(*p).store(v, cuda::memory_order_release), or __threadfence() before the access
  thread 0 (releases, block 0, thread 0)
  > 0: flags.cu:2: *data = 1.5f;   // writes 1.5 to data
    1: flags.cu:3: *flag = 1;   // writes 1 to turns
  thread 1 (pass_on, block 0, thread 0)
    0: flags.cu:7: while (load(flag) == 0) {   // reads 1 from turns, written by thread 0 event 1
    1: flags.cu:8: }   // writes 1 to turns+4
"""),
    # A relaxed update passes a flag's release on.
    ("launch send args data flag\nlaunch update args flag\nlaunch both args data flag out\n", """\
  flag is written at flags.cu:3 without a release, and there is no fence between it and flags.cu:2; the fence at flags.cu:4 comes after flags.cu:3
  release in C++: cuda::atomic_ref<T, cuda::thread_scope_device>(*p).store(v, cuda::memory_order_release), or __threadfence() before the access
  thread 0 (send, block 0, thread 0)
"""),
    # The racing threads are in one block, but other blocks may access the memory too.
    ("launch looks_first grid 2 block 2 args data\n", "if this race is intended, make the load atomic at device scope: "),
    ("launch looks_first block 2 args data\n", "if this race is intended, make the load atomic at block scope: "),
    # One side of a flag is weak, or its scope is too narrow.
    ("launch plain_flag args data flag\nlaunch receive args data flag out\n",
     "the first is weak\n  if this race is intended, make the store atomic at device scope: cuda::atomic_ref<T, cuda::thread_scope_device>(*p).store(v, cuda::memory_order_release), or with memory_order_relaxed if no other memory depends on this store\n  thread 0 "),
    ("launch narrow_flag args data flag\nlaunch receive args data flag out\n",
     "in different blocks\n  widen the scope of the store at flags.cu:3 to device: cuda::atomic_ref<T, cuda::thread_scope_device>(*p).store(v, cuda::memory_order_release)\n  thread 0 "),
    # Loops that load nothing. The report says what the compiler has done, and how to poll.
    ("launch send args data flag\nlaunch hoisted args data flag out\n", f"""\
  data race on flag: flags.cu:3 writes 4 bytes and flags.cu:7 reads 4 bytes; nothing orders them, and the second is weak
  the loop at flags.cu:7 loads nothing: the compiler has moved its plain load out of it
  {POLL.format(scope="device")}
  volatile also keeps the load in the loop, but it does not order what is read afterwards
  thread 0 (send, block 0, thread 0)
"""),
    ("launch hoisted args data flag out\n", "  thread 0 is in a loop that accesses no memory and never ends\n  the loop at flags.cu:7 loads nothing: the compiler has moved its plain load out of it\n"),
    ("launch exit args flag\n", "  the loop at flags.cu:7 loads nothing: the compiler has moved the plain load at flags.cu:6 out of it\n"),
    ("launch other_line args data flag out\n", "  the loop at flags.cu:8 loads nothing: if it polls memory in the source, the compiler has moved the plain load at flags.cu:7 out of it\n"),
    ("launch endless args flag\n", "  the loop at flags.cu:7 loads nothing: if it polls memory in the source, the compiler has moved a plain load out of it or removed the load\n"),
    ("launch send args data flag\nlaunch read_only args data flag out\n", """\
  flags.cu:3 writes flag, and flags.cu:7 reads it with 'ld.global.nc.u32', which requires that nothing writes the memory while the kernel runs
  the loop at flags.cu:7 loads nothing: the compiler has moved its plain load out of it
"""),
    ("memory answer u32 host\nlaunch hoisted args data answer out\nhost h { store answer = 1 release }\n", "  " + POLL.format(scope="system") + "\n"),
    ("launch send args data flag\nlaunch removed args data flag out\n", f"""\
  removed never accesses flag, one of its arguments: if the source polls it with a plain load, the compiler has removed the loop
  {POLL.format(scope="device")}
"""),
    # The exploration of load buffering also names the reading on which a race depends.
    ("memory turns u32\nlaunch resets grid 2 args flag turns\n", "; this depends on a reading of the PTX ISA: --reading=whole-updates-are-observed selects the other reading\n"),
    # Load buffering: the report says which load is executed late, and which fences prevent it.
    ("memory turns u32[3]\nlaunch buffers args turns turns+4\nlaunch waits args turns+4 turns\n", """\
  load buffering: event 0 of thread 0 reads a value that is written after event 1 of the same thread, because nothing orders flags.cu:2 before flags.cu:3
  to rule out this execution, add __threadfence() between flags.cu:2 and flags.cu:3 and between flags.cu:7 and flags.cu:8
  thread 0 (buffers, block 0, thread 0)
    1: flags.cu:3: *flag = 1;   // writes 1 to turns+4
  thread 1 (waits, block 0, thread 0)
    0: flags.cu:7: while (load(flag) == 0) {   // reads 1 from turns+4, written by thread 0 event 1
    1: flags.cu:8: }   // writes 1 to turns
  thread 0 (buffers, block 0, thread 0)
    0: flags.cu:2: *data = 1.5f;   // reads 1 from turns, written by thread 1 event 1
    2: flags.cu:4: __threadfence();   // writes 1 to turns+8
  thread 1 (waits, block 0, thread 0)
    2: flags.cu:9: *out = *data;   // reads 1 from turns+8, written by thread 0 event 2
  thread 1 (waits, block 0, thread 0) waits at flags.cu:9: *out = *data;
  --repair searches for orders, scopes, fences and barriers that let the scenario pass
"""),
    ("memory turns u32[3]\nlaunch buffers_fenced args turns turns+4\nlaunch waits args turns+4 turns\n", """\
  load buffering: event 0 of thread 1 reads a value that is written after event 1 of the same thread, because nothing orders flags.cu:7 before flags.cu:8
  to rule out this execution, add __threadfence() between flags.cu:7 and flags.cu:8
"""),
    ("memory turns u32[3]\nlaunch buffers_narrow args turns turns+4\nlaunch waits_narrow args turns+4 turns\n", """\
  load buffering: event 0 of thread 0 reads a value that is written after event 2 of the same thread: the order between flags.cu:2 and flags.cu:3 has no effect, because the threads involved do not all acquire what they read and release what they write at scopes that include each other
  thread 0 (buffers_narrow, block 0, thread 0)
"""),
    # The reads that determine the addresses of the racing accesses are shown.
    ("memory slots u32[2]\nlaunch pops grid 2 args data flag slots\n", """\
  flags.cu:9 in thread 1 takes its address from slots+4, which flags.cu:8 reads although no thread has written it: make sure that it is filled before it is read
"""),
    ("memory slots u32[2]\nlaunch pops grid 2 args data flag slots\n", """\
    2: flags.cu:8: }   // reads 0 from slots+4, its initial value
  > 3: flags.cu:9: *out = *data;   // writes 1.5 to data
"""),
    ("launch deep grid 2 args data\n", "  > 0: flags.cu:2: *data = 1.5f;   [called at flags.cu:3 in the call at flags.cu:5]   // writes 1.5 to data\n"),
    ("launch too_many args data\n", "; flags.cu:2\n  thread 0 arrives at an mbarrier more often than the phase expects, or with a count of 0: meeting of block 0\n"),
    # The earlier reads of the location are shown.
    ("memory turns u32[2]\nlaunch resets_last grid 2 args flag turns\n", """\
    3-4: flags.cu:2: *data = 1.5f;   // reads 1 from flag, written by thread 0 event 5; writes 2 to flag
    5: flags.cu:3: *flag = 1;   // reads 1 from turns+4, written by thread 0 event 3
  > 7: flags.cu:3: *flag = 1;   // writes 0 to flag
"""),
    # Blocks that are not involved in the finding are omitted, and so is the number of their barriers.
    ("memory other u32\nlaunch busy args other\nlaunch send args data flag\nlaunch receive args data flag out\n", "  thread 0 (busy"),
]


def progress(check, folder, expect):
    """Simulates a file that takes a long time to read: the scenario is a pipe, and nothing is written to it before the progress
    line appears."""
    waiting = {}
    for name, options in (("json", ["--format=json"]), ("sarif", ["--format=sarif"]), ("quiet", ["--quiet"]), ("text", [])):
        os.mkfifo(folder / f"{name}.scenario")
        waiting[name] = subprocess.Popen([check, *options, f"{name}.scenario"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=folder)
    told, _, _ = select.select([waiting["text"].stderr], [], [], 60)
    line = waiting["text"].stderr.readline() if told else "nothing within a minute"
    expect("progress", line == "membar-check: text.scenario is being read, 2 s so far\n", line)
    for name, process in waiting.items():
        if process.poll() is None:  # otherwise nobody would read the pipe
            (folder / f"{name}.scenario").write_text(MEMORY + "launch strong args data\n", encoding="utf-8")
        output, error = process.communicate()
        expect(name, process.returncode == 0 and (name == "text" or error == ""), output + error)


def sarif(run, expect, folder):
    def documents(launches, *options):
        status, output, error = run(launches, "--format=sarif", *options)
        document = json.loads(output)
        expect(f"the structure of SARIF for {launches}", error == "" and sarif_of.is_valid(document, folder), output)
        return status, document["runs"][0]

    status, race = documents("launch send args data flag\nlaunch receive args data flag out\n")
    result, = race["results"]
    lines = [one["physicalLocation"]["region"]["startLine"] for one in result["locations"] + result["relatedLocations"]]
    expect("a race in SARIF", status == 1 and result["ruleId"] == "race" and lines == [2, 9] and "without a release" in result["message"]["text"]
           and result["locations"][0]["physicalLocation"]["artifactLocation"] == {"uri": "flags.cu", "uriBaseId": "%SRCROOT%"}, str(result))
    status, repaired = documents("launch send args data flag\nlaunch receive args data flag out\n", "--repair")
    expect("repairs in SARIF", status == 1 and repaired["results"][0]["properties"]["repairs"]["found"], str(repaired))
    status, verified = documents("launch strong args data\n")
    expect("no finding in SARIF", status == 0 and verified["results"] == [], str(verified))
    status, cut = documents("launch busy grid 2 args flag\n", "--limit=9")
    expect("what is cut in SARIF", status == 3 and cut["results"][0]["level"] == "warning", str(cut))
    status, refused = documents("lanch strong\n")
    expect("an error in SARIF", status == 2 and refused["results"] == [] and not refused["invocations"][0]["executionSuccessful"]
           and "did you mean" in refused["invocations"][0]["toolExecutionNotifications"][0]["message"]["text"], str(refused))


def main():
    check, wrong = pathlib.Path(sys.argv[1]).resolve(), []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "flags.ptx").write_text(MODULE, encoding="utf-8")
        (folder / "flags.cu").write_text("\n".join(SOURCE) + "\n", encoding="utf-8")

        def run(launches, *options, memory=MEMORY):
            (folder / "s.scenario").write_text(memory + launches, encoding="utf-8")
            done = subprocess.run([check, *options, "s.scenario"], capture_output=True, text=True, cwd=folder)
            return done.returncode, re.sub(r"\d+\.\d\d s", "0.00 s", done.stdout), done.stderr

        def expect(what, condition, output):
            if not condition:
                wrong.append(f"{what}:\n{output}")

        for launches, words in SHOWN[:-1]:
            status, output, error = run(launches)
            expect(launches, status == 1 and words in output, output + error)
        status, output, _ = run(SHOWN[-1][0])
        expect("a block without a part", status == 1 and SHOWN[-1][1] not in output and "--events=all shows all" in output, output)
        _, output, _ = run(SHOWN[-1][0], "--events=all")
        expect("all events", SHOWN[-1][1] in output, output)
        for second in ("send stream 0 dependent", "send device 1", "look"):
            _, output, _ = run(f"launch send stream 0 args data flag\nlaunch {second} args data{' flag' if 'send' in second else ''}\n")
            expect(f"launches that are not meant to be in one stream, {second}", "\trace\t" in output and "run concurrently" not in output, output)
        # Bytes that a copy writes have the type with which a thread reads them, or no type at all.
        words = MEMORY.replace("data f32[8]", "data u32[8] = 1069547520")
        for text, copy in (("{1.5, 0.0, 0.0, 0.0}", "f32"), ("{1069547520, 0, 0, 0}", "u32")):
            (folder / "flags.ptx").write_text(MODULE.replace("ld.shared.f32 %f1, [%r3]", f"ld.shared.{copy} %{'f1' if copy == 'f32' else 'r8'}, [%r3]"), encoding="utf-8")
            _, output, _ = run("launch refill block 2 args data out\n", memory=words)
            expect(f"a copy that a thread reads as {copy}", f"// writes {text} to tile of block 0\n" in output, output)
        (folder / "flags.ptx").write_text(MODULE, encoding="utf-8")
        # Large kernels do not make the notes slow.
        (folder / "flags.ptx").write_text(HEAD + many_branches(6000) + FILES, encoding="utf-8")
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        _, output, _ = run("launch many_branches grid 2 args data\n")
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        expect(f"the notes on a large kernel, {seconds:.1f} s", "both threads read data at flags.cu:2 and then write it at flags.cu:3" in output and seconds < 5, output)
        (folder / "flags.ptx").write_text(MODULE, encoding="utf-8")
        # No order puts a load into a loop.
        _, output, _ = run("launch send args data flag\nlaunch hoisted args data flag out\n", "--quiet", "--repair")
        expect("a repair of a loop that loads nothing", re.search(r"  no repair: .*; the loop at flags.cu:7 loads nothing, and no order changes that\n", output), output)
        _, output, _ = run("memory slots u32[2]\nlaunch cursor grid 2 args data flag slots\n")
        expect("an index with its initial value", "data race on data" in output and "takes its address" not in output, output)
        _, output, _ = run("launch smooth block 2 args data\n", "--quiet", "--repair=1")
        expect("a barrier at the start of a loop", "; verified, 1 execution\n    flags.cu:7: while (load(flag) == 0) {\n         insert at the start of each iteration of the loop to which this line belongs: __syncthreads()" in output, output)
        _, output, _ = run("launch nested block 2 args data\n", "--quiet", "--repair=1")
        expect("barriers inside and outside an inner loop", "  repair 1 of 3: a barrier; verified, 1 execution\n    flags.cu:2: *data = 1.5f;\n"
               "         insert after the statement that contains this line, before flags.cu:7: __syncthreads()" in output, output)
        for name in ("unrolled", "rolled"):
            _, output, _ = run(f"launch {name} block 2 args data\n", "--quiet", "--repair=1")
            expect(f"a barrier after a loop, {name}", re.search(r"  repair 1 of \d: a barrier; verified, 1 execution\n    flags.cu:5: .*\n"
                   "         insert after the statement or loop that contains this line, before flags.cu:8: __syncthreads\\(\\)", output), output)
        _, output, _ = run("launch calls_again block 2 args data\n", "--quiet", "--repair=1")
        expect("a barrier before a call of an earlier function", "    flags.cu:3: *flag = 1;\n         insert after the statement that contains this line, before the call at flags.cu:5: __syncthreads()" in output, output)
        _, output, _ = run("launch backwards block 2 args data\n", "--quiet", "--repair=1")
        expect("an earlier line without a loop", "insert after the statement that contains this line, where its threads reconverge: __syncthreads()" in output, output)
        for name, place in (("repeated_loc", "flags.cu:3"), ("calls_reader", "the call at flags.cu:3")):
            _, output, _ = run(f"launch {name} block 2 args data\n", "--quiet", "--repair=1")
            expect(f"a barrier in an inlined function, {name}", "    flags.cu:2: *data = 1.5f;   [called at flags.cu:5]\n"
                   f"         insert after the statement that contains this line, before {place}: __syncthreads()" in output and "call at flags.cu:5" not in output, output)
        # A barrier in the source is after all accesses of the earlier lines, in whichever order the PTX has them.
        for name, line in (("reordered", "3: *flag = 1;"), ("reordered_first", "3: *flag = 1;"), ("unrolled_lines", "2: *data = 1.5f;"), ("rotated", "3: *flag = 1;")):
            _, output, _ = run(f"launch {name} block 2 args data\n", "--quiet", "--repair=1")
            expect(f"a barrier after lines that the compiler moved, {name}", f"  repair 1 of 1: a barrier; verified, 1 execution\n    flags.cu:{line}\n"
                   "         insert after this line: __syncthreads()" in output, output)
        _, output, _ = run("launch reordered_after block 2 args data\n", "--quiet", "--repair=1")
        expect("a barrier before lines that the compiler moved", "  repair 1 of 1: a barrier; verified, 1 execution\n    flags.cu:2: *data = 1.5f;\n"
               "         insert after the statement that contains this line, before flags.cu:3: __syncthreads()" in output, output)
        # If a search has no result, the report gives the reason; if the search was cut short, the report does not claim that
        # there is no repair.
        both = "launch refill block 2 args data out\nlaunch send args data+16 flag\nlaunch receive args data+16 flag out\n"
        _, output, _ = run(both, "--quiet", "--repair=1")
        expect("no single repair", "  no repair: no single change to orders, scopes, fences or barriers lets the scenario pass (" in output and
               "; --repair searches for sets of up to 3\n" in output, output)
        _, output, _ = run("launch busy args data\nfinal data[0] == 1.0\n", "--quiet", "--repair")
        expect("no repair at all", "; the kernel needs a different change, or has more than one fault\n" in output, output)
        _, output, _ = run("launch increments grid 2 args flag\nfinal flag == 2\n", "--quiet", "--repair")
        expect("no repair between blocks", "; the kernel needs a different change, such as a grid barrier, or has more than one fault\n" in output, output)
        _, output, _ = run(both, "--quiet", "--repair", "--limit=30")
        expect("a search that was cut short", re.search(r"  no repair was found, but not all sets of changes were examined completely \(\d+ explorations\): try a smaller launch; some faults can be fixed only by moving a line, which the search does not try\n", output), output)
        # The search first tries changes at the flag, and finishes a repair before it looks for others. If it tried the barriers or
        # all other sets first, it would need more than 1000 events before the first repair.
        _, output, _ = run("launch raises block 2 args data flag\nlaunch many_reads block 2 args data flag\n", "--quiet", "--repair", "--limit=600")
        expect("a repair in a search that is cut short", "  repair 1 of " in output and "ld.relaxed.gpu.global.u32 becomes ld.acquire.gpu" in output
               and output.endswith("  not all sets of changes were examined completely, so there may be other repairs\n"), output)
        # Of the programs with dependent launches, executions with load buffering cannot be explored.
        unexplored = ("memory next u32\nlaunch buffered args next out\nlaunch buffered args out next\nlaunch strong stream s args data+28\n"
                      "launch look stream s dependent args data+24\nlaunch send args data flag\nlaunch acquire args data flag data+4\n")
        _, output, _ = run(unexplored, "--quiet", "--repair=1")
        expect("a repair whose executions with load buffering are unexplored", re.search(
            r"  repair 1 of 2: .*; verified, 3 executions, but not all executions with load buffering could be explored\n", output), output)
        _, output, _ = run(unexplored, "--quiet", "--repair=1", "--without-load-buffering")
        expect("a repair without load buffering", "  repair 1 of 2: " in output and "; verified, 3 executions\n" in output, output)
        # A block of a single warp does not show whether larger blocks need __syncthreads() instead of __syncwarp(), so each
        # repair offers both.
        _, output, _ = run("launch branches block 2 args data flag\nlaunch last args data flag out\n", "--quiet", "--repair=1")
        expect("the barriers of a small block", all(words in output for words in (
            "  repair 1 of 2: a barrier;",
            "    flags.cu:2: *data = 1.5f;\n         insert after this line: __syncthreads(), or __syncwarp() if the blocks never have more than one warp\n",
            "  repair 2 of 2: a barrier;",
            "    flags.cu:2: *data = 1.5f;\n         insert after the statement that contains this line, before flags.cu:3: __syncthreads(), or __syncwarp() if the blocks never have more than one warp\n")), output)
        _, output, _ = run("accept race data\nlaunch pair block 64 args data\n", "--quiet", "--repair=1")
        expect("a warp barrier in a block of several warps", "insert after this line: __syncwarp(), which is enough only if the threads that share this memory are always in one warp; otherwise __syncthreads()\n" in output, output)
        _, output, _ = run("launch receive block 4 args data flag out\n")
        expect("threads that wait together", output.count("reads 0 from flag") == 1 and "and 3 others wait at" in output, output)
        _, output, _ = run("memory turns u32[3]\nlaunch resets_later grid 2 args flag turns\n", "--limit=1000")
        expect("a reading whose load buffering is not explored", "depends on a reading of the PTX ISA: --reading=whole-updates-are-observed" in output, output)
        status, output, _ = run("memory turns u32\nlaunch resets grid 2 args flag turns\n", "--reading=whole-updates-are-observed")
        expect("a reading in load buffering", status == 0 and "\tverified\t" in output, output)
        status, output, _ = run("memory turns u32[3]\nlaunch buffers_fenced args turns turns+4\nlaunch waits_fenced args turns+4 turns\n")
        expect("fences that prevent load buffering", status == 0 and "\tverified\t" in output, output)
        # A value is printed as a float if the access has a floating-point type, and otherwise in the memory's type.
        _, output, _ = run("launch signed args data\n", memory=MEMORY.replace("f32[8]", "s32[8] = -5"))
        expect("a negative number", "reads -5 from data" in output, output)
        # Messages suggest the nearest name, and what to do next.
        for text, words in (("launch sned args data flag\n", "did you mean 'send'?"), ("launch send args dta flag\n", "did you mean 'data'?"),
                            ("launch send args data flag\nfinal flga == 1\n", "did you mean 'flag'?"), ("lanch send\n", "did you mean 'launch'?"),
                            ("launch send args data flag\nhost h after sned { load flag }\n", "did you mean 'send'?"),
                            ("launch send args data flag\nhost h { load flga }\n", "did you mean 'flag'?"),
                            ("launch send args data flag\naccept race otu\n", "did you mean 'out'?"),
                            ("launch send blok 2 args data flag\n", "did you mean 'block'?"), ("launch send cluser 2 args data flag\n", "did you mean 'cluster'?"),
                            ("memory m u32 unknwon\nlaunch send args data flag\n", "did you mean 'unknown'?"),
                            ("memory m u32 = 1 uninitialized\nlaunch send args data flag\n", "did you mean 'uninitialised'?"),
                            ("tensor_map m of data tpye f32\n", "did you mean 'type'?"), ("tensor_map m of data fill zeroes\n", "did you mean 'zeros'?"),
                            ("launch send args data flag\nassume vector 8\n", "did you mean 'vectors'?"), ("launch send args data flag\naccept rcae out\n", "did you mean 'race'?"),
                            ("launch send args data flag\nhost h afer send { load flag }\n", "did you mean 'after'?"),
                            ("launch send args data flag\nhost h { wate flag == 1 }\n", "did you mean 'wait'?"),
                            ("launch send args data flag\nhost h { load flag acquier }\n", "did you mean 'acquire'?"),
                            ("launch send args xylophone flag\n", "the scenario has data, flag, out"),
                            ("launch send args data flag\nfinal data+2:u32 == 0\n", "which has 32 bytes: give an offset that is a multiple of 4, up to 28"),
                            ("launch send args data flag\nfinal data+2 == 0\n", "expected its offset in bytes and its type, as in +8:u32")):
            status, output, _ = run(text)
            expect(text, status == 2 and words in output, output)
        for options, words in ((("--limit=9",), "use fewer threads, rounds or bins, or try --random=N or a larger --limit=N"),
                               (("--random=1",), "try a larger --random=N or another --seed")):
            status, output, _ = run("launch busy grid 2 args flag\n", *options)
            expect(options, status == 3 and words in output, output)
        status, output, _ = run("launch many grid 4 args data\n", "--time=1")
        expect("the time limit", status == 3 and "the exploration took more than 1 second of processor time: use fewer threads, rounds or bins, or try --random=N or "
               "a larger --time=SECONDS" in output, output)
        for launch, limit, branches in (("competing grid 3", 200, r"the value read at flags\.cu:7 \(\d\d %\) and in the order of the writes at flags\.cu:3 \(\d\d %\)"),
                                        ("exchanging grid 8", 20000, r"the order of the updates at flags\.cu:2 \(100 %\)")):
            status, output, _ = run(f"launch {launch} args data flag\n", f"--limit={limit}")
            expect(f"where executions differ, {launch}", status == 3 and re.search(f"a larger --limit=N\\. So far, executions differ most often in {branches}\n", output), output)
        # fields by offset and type
        status, output, _ = run("launch strong args data\nfinal data+0:f32 == 1.5 /\\ data+0:u32 == 1069547520 /\\ data+2:u16 == 16320\n"
                                "host h after strong { expect data+2:u16 == 16320 }\n")
        expect("fields of memory", status == 0, output)
        status, output, _ = run("launch structure args {data +8:u32=7 +12:f32=1.5}\nfinal data+0:u32 == 7 /\\ data+4:f32 == 1.5\n")
        expect("fields of a struct", status == 0, output)
        status, output, _ = run("launch structure args {data +8:u32=7 +16:u32=1}\n")
        expect("a field after a struct", status == 2 and "which has 16 bytes" in output, output)
        progress(check, folder, expect)
        sarif(run, expect, folder)
    print(f"{len(SHOWN) + 1} reports, {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
