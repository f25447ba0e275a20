#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests the output of membar-check sanitize: text, JSON, SARIF, suppressions, statuses.

usage: command_test.py <membar-check>
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

PTX = """.version 9.0
.target sm_90
.address_size 64
.visible .entry racy(.param .u64 p)
{
.reg .b64 %rd<4>;
.reg .b32 %r<4>;
.loc 1 3 0
ld.param.u64 %rd1, [p];
mov.u32 %r1, %ctaid.x;
.loc 1 7 0
st.global.u32 [%rd1], %r1;
ret;
}
.visible .entry fine(.param .u64 p)
{
.reg .b64 %rd<4>;
.reg .b32 %r<4>;
ld.param.u64 %rd1, [p];
atom.global.add.u32 %r1, [%rd1], 1;
ret;
}
.visible .entry polls(.param .u64 p)
{
.reg .b64 %rd<4>;
.reg .b32 %r<4>;
.reg .pred %p<4>;
ld.param.u64 %rd1, [p];
atom.global.add.u32 %r1, [%rd1+4], 1;
again:
ld.relaxed.gpu.global.u32 %r1, [%rd1];
bar.sync 0;
setp.eq.u32 %p0, %r1, 0;
vote.sync.any.pred %p1, %p0, 3;
@%p1 bra again;
ret;
}
.file 1 "here.cu"
"""

HOISTED = """.version 9.0
.target sm_90
.address_size 64
.visible .entry hoisted(.param .u64 p)
{
.reg .b64 %rd<2>;
.reg .b32 %r<4>;
.reg .pred %p<2>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %ctaid.x;
setp.ne.u32 %p0, %r1, 0;
@%p0 bra wait;
.loc 1 3 0
st.release.gpu.global.u32 [%rd1], 1;
ret;
wait:
.loc 1 5 0
ld.global.u32 %r2, [%rd1];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra loop;
ret;
loop:
bra.uni loop;
}
.file 1 "poll.cu"
"""

OBSERVED = """.version 9.0
.target sm_90
.address_size 64
.visible .entry observed(.param .u64 p)
{
.reg .b64 %rd<2>;
.reg .b32 %r<4>;
.reg .pred %p;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %ctaid.x;
setp.ne.u32 %p, %r1, 0;
@%p bra wait;
WRITE [%rd1], 1;
ret;
wait:
ld.relaxed.gpu.global.u32 %r2, [%rd1];
setp.eq.u32 %p, %r2, 0;
@%p bra wait;
st.global.u32 [%rd1], 7;
ret;
}
"""

COUNTS = """.version 9.0
.target sm_90
.address_size 64
.visible .entry counts(.param .u64 p)
{
.reg .b64 %rd<2>;
.reg .b32 %r<4>;
.reg .pred %p;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %ctaid.x;
setp.ne.u32 %p, %r1, 0;
@%p bra other;
mov.u32 %r2, 0;
again:
add.u32 %r2, %r2, 1;
st.global.u32 [%rd1+4], %r2;
ld.relaxed.gpu.global.u32 %r3, [%rd1];
setp.eq.u32 %p, %r3, 0;
@%p bra again;
ret;
other:
st.relaxed.gpu.global.u32 [%rd1], 1;
ret;
}
"""

FOLLOWS = """.version 9.0
.target sm_90
.address_size 64
.visible .entry follows(.param .u64 p)
{
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [p];
ld.global.u64 %rd2, [%rd1];
st.global.u32 [%rd2], 1;
ret;
}
"""

# Line 7 stores to two words of x and to y. Lines 9 and 10 call the same inlined function.
COPIES = """.version 9.0
.target sm_90
.address_size 64
.visible .entry copies(.param .u64 p, .param .u64 q)
{
.reg .b64 %rd<4>;
.reg .b32 %r<4>;
.loc 1 3 0
ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [q];
mov.u32 %r1, %ctaid.x;
.loc 1 7 0
st.global.u32 [%rd1], %r1;
st.global.u32 [%rd1+4], %r1;
st.global.u32 [%rd2], %r1;
.loc 2 12 3, function_name f, inlined_at 1 9 5
st.global.u32 [%rd1+8], %r1;
st.global.u32 [%rd1+12], %r1;
.loc 2 12 3, function_name f, inlined_at 1 10 5
st.global.u32 [%rd1+16], %r1;
ret;
}
.visible .entry tile()
{
.shared .align 4 .b8 s[128];
.reg .b32 %r<8>;
.reg .pred %p<2>;
.loc 1 3 0
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 2;
mov.u32 %r3, s;
add.u32 %r3, %r3, %r2;
.loc 1 7 0
st.shared.u32 [%r3], %r1;
st.shared.u32 [%r3+4], %r1;
.loc 1 11 0
ld.shared.u32 %r4, [%r3+64];
setp.eq.u32 %p1, %r4, 9;
@%p1 trap;
ld.shared.u32 %r4, [%r3+68];
setp.eq.u32 %p1, %r4, 9;
@%p1 trap;
ret;
}
.file 1 "copies.cu"
.file 2 "f.h"
"""
UNKNOWN = COPIES[:COPIES.index(".visible .entry tile")].replace("copies(", "unknown(")
UNKNOWN = "\n".join(line for line in UNKNOWN.splitlines() if not line.startswith(".loc")) + "\n"


def check_merging(folder, run, expect):
    """Findings with the same status, source lines and memory object are reported as a single finding."""
    (folder / "copies.ptx").write_text(COPIES)
    (folder / "unknown.ptx").write_text(UNKNOWN)
    for name in ("copies", "unknown"):
        (folder / f"{name}.scenario").write_text(f"source {name}.ptx\nmemory x u32[8]\nmemory y u32\nlaunch {name} grid 8 block 32 args x y\n")
    code, out, _ = run("--schedules=1", "--format=json", "copies.scenario")
    found = json.loads(out)["files"][0]["findings"]
    lines = [[(a["line"], a.get("caller_line"), a["does"].split()[1].split("+")[0]) for a in f["accesses"]] for f in found]
    expect("one finding for each pair of lines and object", lines == [2 * [(7, None, "x")], 2 * [(7, None, "y")], 2 * [(12, 9, "x")], 2 * [(12, 10, "x")]], out)
    counts = [f["count"] for f in found]
    expect("the count includes all copies of a line", code == 1 and counts[0] == 2 * counts[1] == counts[2] == 2 * counts[3], counts)
    _, out, _ = run("--schedules=1", "copies.scenario")
    expect("the text", "\t4 findings, 1 schedule" in out and out.count("  race, seed 1") == 4, out)
    _, out, _ = run("--schedules=1", "--format=sarif", "copies.scenario")
    expect("SARIF", len(json.loads(out)["runs"][0]["results"]) == 4, out)
    (folder / "seven").write_text("race copies.cu:7\n")
    code, out, _ = run("--schedules=1", "--suppressions=seven", "copies.scenario")
    expect("suppressed findings are counted as they would be shown", code == 1 and "\t2 findings, 1 schedule" in out and "; 2 suppressed" in out, out)
    (folder / "all").write_text("race copies.cu\n")
    code, out, _ = run("--schedules=1", "--suppressions=all", "copies.scenario")
    expect("all are suppressed", code == 0 and "\tclean in 1 schedule\t" in out and "; 4 suppressed" in out, out)
    (folder / "one").write_text("race x+4\n")
    code, out, _ = run("--schedules=1", "--suppressions=one", "copies.scenario")
    expect("a suppression of one copy leaves the other", code == 1 and "\t4 findings" in out and "; 1 suppressed" in out and "data race on x:" in out, out)
    (folder / "digits").write_text("race copies.cu:1  # not line 10\nrace f.h:12 copies.cu:9\nrace f.h:12 copies.cu:7\n")
    code, out, err = run("--schedules=1", "--suppressions=digits", "copies.scenario")
    expect("a line number does not match a longer one, and all parts must match", code == 1 and "\t3 findings" in out and "; 1 suppressed" in out, out)
    unused = ("digits:1 suppresses nothing", "digits:3 suppresses nothing")
    expect("lines that suppress nothing are named", err.count("suppresses nothing") == 2 and all(u in err for u in unused), err)
    code, out, _ = run("--schedules=1", "unknown.scenario")
    expect("PTX lines without line information", "\t6 findings" in out, out)
    (folder / "copies.cu").write_text("\n".join(6 * [""] + ["\tx[0] = x[1] = *y = block;  ", "", "f(x + 2);", "f(x + 4);"]) + "\n")
    (folder / "f.h").write_text(11 * "\n" + "  *p = block;\n")
    _, out, _ = run("--schedules=1", "copies.scenario")
    expect("source lines", out.count("    > copies.cu:7: x[0] = x[1] = *y = block;   // writes x\n") == 2, out)
    expect("the line of a call", out.count("    > f.h:12: *p = block;   [called at copies.cu:9]   // writes x+8\n") == 2, out)
    _, out, _ = run("--schedules=1", "unknown.scenario")
    expect("PTX where the source line is unknown", "    > PTX line 11: st.global.u32   // writes x\n" in out, out)
    (folder / "tile.scenario").write_text("source copies.ptx\nlaunch tile grid 4 block 8\n")
    code, out, _ = run("--schedules=1", "--format=json", "tile.scenario")
    found = json.loads(out)["files"][0]["findings"]
    _, out, _ = run("--schedules=1", "tile.scenario")
    expect("PTX where the source file has no such line", "(tile, block 0, thread 0) is at copies.cu:11: ld.shared.u32\n" in out, out)
    expect("the blocks' instances of a shared object", [f["status"] for f in found] == ["race", "uninitialised"], out)


COPIED = """.version 9.0
.target sm_90
.address_size 64
.visible .entry copied(.param .u64 p)
{
.shared .align 16 .b8 s[32];
.reg .b64 %rd<4>;
.reg .b32 %r<8>;
.reg .pred %p<2>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 4;
mov.u32 %r3, s;
add.u32 %r4, %r3, %r2;
st.shared.u32 [%r4], %r1;
st.shared.u32 [%r4+4], %r1;
bar.sync 0;
cp.async.ca.shared.global [%r4], [%rd1], 16;
OTHER
ld.shared.u32 %r5, [%r4];
setp.eq.u32 %p1, %r5, 9;
@%p1 trap;
cp.async.wait_all;
ret;
}
"""
# Each thread reads the tile, and thread 0 fills it again with a bulk copy after a barrier, but without a proxy fence.
REFILLED = """.version 9.0
.target sm_90
.address_size 64
.visible .entry refilled(.param .u64 p)
{
.shared .align 8 .b64 full;
.shared .align 16 .b8 s[32];
.reg .b64 %rd<4>;
.reg .b32 %r<8>;
.reg .pred %p<3>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
mov.u32 %r3, s;
setp.ne.u32 %p1, %r1, 0;
shl.b32 %r2, %r1, 2;
add.u32 %r4, %r3, %r2;
st.shared.u32 [%r4], %r1;
@%p1 bra B;
mbarrier.init.shared.b64 [full], 1;
fence.proxy.async;
B: bar.sync 0;
@%p1 bra E;
mbarrier.arrive.expect_tx.shared.b64 _, [full], 16;
cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 16, [full];
W: mbarrier.try_wait.parity.shared.b64 %p2, [full], 0;
@!%p2 bra W;
E: ret;
}
"""
# Thread 0 passes a value on through a flag. Neither the flag's write nor its read orders anything.
PASSED = """.version 9.0
.target sm_90
.address_size 64
.visible .entry passed(.param .u64 p)
{
.reg .b64 %rd<4>;
.reg .b32 %r<8>;
.reg .pred %p<2>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
setp.ne.u32 %p1, %r1, 0;
@%p1 bra L;
st.global.u32 [%rd1], 7;
st.relaxed.gpu.global.u32 [%rd1+4], 1;
bra.uni E;
L: ld.relaxed.gpu.global.u32 %r2, [%rd1+4];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra L;
ld.global.u32 %r3, [%rd1];
st.relaxed.gpu.global.u32 [%rd1+8], %r3;
E: ret;
}
"""
# The second warp releases the tile at a barrier before it reads it, and the first warp then fills it again.
RELEASED = """.version 9.0
.target sm_90
.address_size 64
.visible .entry released()
{
.shared .align 8 .b64 bar;
.shared .align 16 .b8 tile[256];
.reg .b32 %r<8>;
.reg .pred %p<3>;
mov.u32 %r1, %tid.x;
and.b32 %r2, %r1, 31;
shl.b32 %r2, %r2, 2;
mov.u32 %r3, tile;
add.u32 %r3, %r3, %r2;
setp.gt.u32 %p1, %r1, 31;
setp.ne.u32 %p2, %r1, 0;
@!%p2 mbarrier.init.shared.b64 [bar], 32;
@!%p1 st.shared.u32 [%r3], 1;
bar.sync 0;
@%p1 bra R;
WAIT
st.shared.u32 [%r3], 2;
bra.uni E;
R: ARRIVE
ld.shared.u32 %r4, [%r3];
st.shared.u32 [%r3+128], %r4;
E: ret;
}
"""
BY_NAMED = RELEASED.replace("WAIT", "bar.sync 2, 64;").replace("ARRIVE", "bar.arrive 2, 64;")
BY_MBARRIER = RELEASED.replace("WAIT", "L: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra L;").replace("ARRIVE", "mbarrier.arrive.shared.b64 _, [bar];")
# One thread of the second warp releases the tile for its warp, with or without a barrier of the warp before it.
BY_WARP = RELEASED.replace("WAIT", "L: mbarrier.try_wait.parity.shared.b64 %p2, [bar], 0;\n@!%p2 bra L;").replace("ARRIVE", "").replace("[bar], 32", "[bar], 1").replace(
    "E: ret;", "SYNC\nsetp.ne.u32 %p2, %r1, 32;\n@%p2 bra E;\nmbarrier.arrive.shared.b64 _, [bar];\nE: ret;")
# Each thread takes a count that another thread may have changed too early, and writes the element of this number.
RANKED = """.version 9.0
.target sm_90
.address_size 64
.visible .entry ranked(.param .u64 p)
{
.reg .b64 %rd<4>;
.reg .b32 %r<8>;
ld.param.u64 %rd1, [p];
.loc 1 3 0
ld.global.u32 %r1, [%rd1];
add.u32 %r2, %r1, 1;
.loc 1 4 0
st.global.u32 [%rd1], %r2;
mul.wide.u32 %rd2, %r1, 4;
add.u64 %rd2, %rd1, %rd2;
.loc 1 5 0
st.global.u32 [%rd2+16], 1;
ret;
}
.file 1 "ranked.cu"
"""
# Two warps write two words, in opposite orders.
CROSSED = """.version 9.0
.target sm_90
.address_size 64
.visible .entry crossed(.param .u64 p)
{
.reg .b64 %rd<2>;
.reg .b32 %r<2>;
.reg .pred %p<2>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
setp.eq.u32 %p0, %r1, 0;
setp.eq.u32 %p1, %r1, 63;
@%p0 st.global.u32 [%rd1], 1;
@%p0 st.global.u32 [%rd1+4], 1;
@%p1 st.global.u32 [%rd1+4], 2;
@%p1 st.global.u32 [%rd1], 2;
ret;
}
"""
NEXT_STEP = "  to find the missing order or barrier, run membar-check --repair on a small launch of the same kernel\n"
# (launches of a kernel, the synchronization that is missing between two of their accesses)
MISSING = [
    ("source k.ptx\nmemory x u32\nlaunch racy block 64 args x\n", "both threads are in the same (block|warp) and execute here.cu:7 concurrently, so no barrier can separate "),
    ("source k.ptx\nmemory x u32\nlaunch racy grid 8 args x\n", "the threads are in different blocks, and no combination of release-acquire pairs and block barriers orders the accesses\n"),
    ("source k.ptx\nmemory x u32\nlaunch racy cluster 2 grid 2 args x\n",
     "the threads are in different blocks of a cluster, and no combination of cluster barriers, release-acquire pairs and block barriers orders the accesses\n"),
    ("source k.ptx\nmemory x u32\nlaunch racy stream 1 args x\nlaunch racy stream 2 args x\n",
     "the threads are in different launches, and neither the order of the launches nor any combination of release-acquire pairs and block barriers orders the accesses\n"),
    ("source own.ptx\nmemory x u32[4]\nlaunch copied args x\n", "one thread starts an asynchronous operation, and no wait for it orders the accesses\n"),
    ("source passed.ptx\nmemory x u32[4]\nlaunch passed block 2 args x\n",
     "both threads are in the same warp, and no barrier or release-acquire pair orders PTX line 13 and PTX line 19, which are in different branches, "
     r"so __syncthreads\(\) cannot be between them: if one thread passes the data to the other through a flag, write the flag with release and read it with acquire; otherwise, use a cuda::barrier, "),
    ("source named.ptx\nlaunch released block 64\n", r"both threads are in the same block, and no barrier separates PTX line \d+ and PTX line \d+, which are in different branches, so __syncthreads\(\) cannot be between them: "
     r"one thread must arrive at a named barrier after its access, and the other thread must wait for this arrival before its access; the arrival at PTX line \d+ comes before PTX line \d+" "\n"),
    ("source mbarrier.ptx\nlaunch released block 64\n", r"both threads are in the same block, and no barrier separates PTX line \d+ and PTX line \d+, which are in different branches, so __syncthreads\(\) cannot be between them: "
     r"one thread must arrive at an mbarrier \(cuda::barrier\) after its access, and the other thread must wait for this arrival before its access; "
     r"if one thread arrives for its warp, __syncwarp\(\) must precede the arrival; the arrival at PTX line \d+ comes before PTX line \d+" "\n"),
    ("source by_warp.ptx\nlaunch released block 64\n", r"both threads are in the same block, and no barrier separates PTX line 26 and PTX line 23, which are in different branches, so __syncthreads\(\) cannot be between them: "
     r"if the arrival at PTX line 31 is performed on behalf of its warp, add __syncwarp\(\) between PTX line 26 and this arrival; otherwise, one thread must arrive at an mbarrier \(cuda::barrier\) after its access, "
     "and the other thread must wait for this arrival before its access\n"),
    ("source other.ptx\nmemory x u32[4]\nlaunch copied block 2 args x\n",
     r"both threads are in the same warp, and no barrier separates PTX line 21 and PTX line 18: add __syncthreads\(\) between them, "
     "after the thread that started the copy has waited for its completion .__syncwarp.. is enough only if all threads that share this memory are always in one warp.\n"),
]


# Thread 0 starts a copy, and thread 1 stores to a word that the copy accesses, concurrently.
SIZED = """.version 9.0
.target sm_90
.address_size 64
.visible .entry sized(.param .u64 p)
{
.shared .align 8 .b64 full;
.shared .align 16 .b8 s[64];
.reg .b64 %rd<4>;
.reg .b32 %r<8>;
.reg .pred %p<4>;
ld.param.u64 %rd1, [p];
mov.u32 %r1, %tid.x;
mov.u32 %r3, s;
setp.ne.u32 %p1, %r1, 0;
setp.eq.u32 %p2, %r1, 0;
@%p1 bra B;
mbarrier.init.shared.b64 [full], 1;
mbarrier.arrive.expect_tx.shared.b64 _, [full], 64;
COPY
B: @%p2 bra W;
st.STORED, 1;
W: cp.async.wait_all;
ret;
}
"""
# (the copy, what thread 1 stores to, what the report says about the copy; empty if there is no race)
SIZES = [
    *((f"cp.async.ca.shared.global [%r3], [%rd1], {n};", place, f"{verb} {n} bytes")
      for n in (4, 8, 16) for place, verb in (("shared.u32 [%r3]", "writes"), ("global.u32 [%rd1]", "reads"))),
    ("cp.async.ca.shared.global [%r3], [%rd1], 16, 8;", "shared.u32 [%r3+12]", "writes 16 bytes"),
    ("cp.async.ca.shared.global [%r3], [%rd1], 16, 8;", "global.u32 [%rd1+4]", "reads 8 bytes"),
    ("cp.async.ca.shared.global [%r3], [%rd1], 16, 8;", "global.u32 [%rd1+8]", ""),
    ("cp.async.ca.shared.global [%r3], [%rd1], 16, %p1;", "global.u32 [%rd1+8]", "reads 16 bytes"),
    ("cp.async.ca.shared.global [%r3], [%rd1], 16, %p2;", "shared.u32 [%r3]", "writes 16 bytes"),
    ("cp.async.ca.shared.global [%r3], [%rd1], 16, %p2;", "global.u32 [%rd1]", ""),
    ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 64, [full];", "shared.u32 [%r3+20]", "writes 64 bytes"),
    ("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r3], [%rd1], 64, [full];", "global.u32 [%rd1+20]", "reads 64 bytes"),
    ("cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u64 [%rd1], [%r3], 48;", "global.u32 [%rd1+24]", "writes 48 bytes"),
]


def check_sizes(folder, run, expect):
    """The report of a race gives the number of bytes that a copy accesses."""
    (folder / "sized.scenario").write_text("source sized.ptx\nmemory x u32[16] = 1\nlaunch sized block 2 args x\n")
    for copy, place, size in SIZES:
        (folder / "sized.ptx").write_text(SIZED.replace("COPY", copy).replace("STORED", place))
        _, out, err = run("sized.scenario")
        told = re.findall(r"PTX line 19 (\w+ \d+ bytes)", out)
        expect(f"{copy} and a store to {place}", told == ([size] if size else []) and (size or "clean" in out), out + err)


def check_advice(folder, run, expect):
    """The report of a race names the missing synchronization, and the report on its file suggests the next step."""
    (folder / "own.ptx").write_text(COPIED.replace("OTHER", ""))
    (folder / "passed.ptx").write_text(PASSED)
    (folder / "refilled.ptx").write_text(REFILLED)
    (folder / "named.ptx").write_text(BY_NAMED)
    (folder / "mbarrier.ptx").write_text(BY_MBARRIER)
    (folder / "by_warp.ptx").write_text(BY_WARP.replace("SYNC", ""))
    (folder / "other.ptx").write_text(COPIED.replace("OTHER", "xor.b32 %r2, %r2, 16;\nadd.u32 %r4, %r3, %r2;"))
    for text, missing in MISSING:
        (folder / "missing.scenario").write_text(text)
        code, out, err = run("missing.scenario")
        expect(f"{text} says what is missing", code == 1 and re.search("\n    " + missing, out), out + err)
        expect(f"{text} says what to do next", out.endswith(NEXT_STEP) and out.count(NEXT_STEP) == 1, out)
        _, out, _ = run("--format=json", "missing.scenario")
        notes = json.loads(out)["files"][0]["findings"][0].get("notes", [""])
        expect(f"{text} in JSON", re.match(missing.rstrip(), notes[0]), out)
        barrier = [n for n in notes if re.search("no barrier (separates|can separate|or release-acquire pair orders)", n)]
        expect(f"{text} misses a barrier only between two threads of a block", bool(barrier) == ("block " in text), out)
    (folder / "refilled.scenario").write_text("source refilled.ptx\nmemory x u32[4]\nlaunch refilled block 8 args x\n")
    code, refilled, err = run("refilled.scenario")
    expect("only a proxy fence is missing", code == 1 and "a proxy fence is missing between them\n    add cuda::ptx::fence_proxy_async(cuda::ptx::space_shared) after PTX line 17, before the synchronization that orders it before the copy\n    even if an mbarrier or a barrier orders the threads, the PTX ISA orders accesses through different proxies only by a proxy fence: docs/asynchronous_copies.md explains this and says what was measured\n    thread " in refilled, refilled + err)
    expect("the thread that starts a copy", out.count("an asynchronous operation of thread ") == 1, out)
    _, out, _ = run("racy.scenario", "fine.scenario", "racy.scenario")
    expect("once for each file with a race", out.count(NEXT_STEP) == 2, out)
    _, out, _ = run("--quiet", "racy.scenario")
    expect("not with --quiet", out.count("\n") == 1, out)
    (folder / "poll.scenario").write_text("source k.ptx\nmemory x u32[2]\nlaunch polls block 2 args x\n")
    _, out, _ = run("--schedules=1", "poll.scenario")
    expect("not without a race", NEXT_STEP not in out, out)


def check_consequences(folder, run, expect):
    """A finding that occurs only after another finding of its schedule may be a consequence, and the report says so."""
    later = "another finding precedes this one in every schedule that shows it, and may be its cause"
    (folder / "ranked.ptx").write_text(RANKED)
    (folder / "ranked.scenario").write_text("source ranked.ptx\nmemory x u32[16]\nlaunch ranked block 2 args x\nfinal x == 2\n")
    _, out, err = run("--schedules=40", "ranked.scenario")
    blocks = re.split(r"\n  (?=\w)", out)[1:-1]
    expect("what follows from a race is marked", [(re.findall(r"ranked.cu:\d+(?= (?:writes|reads) )|violated", b), f"\n    {later}" in b) for b in blocks] ==
           [(["ranked.cu:4", "ranked.cu:3"], False), (["ranked.cu:4", "ranked.cu:4"], True), (["ranked.cu:5", "ranked.cu:5"], True), (["violated"], True)], out + err)
    _, text, _ = run("--schedules=40", "--format=json", "ranked.scenario")
    findings = json.loads(text)["files"][0]["findings"]
    expect("in JSON", [f["after_another"] for f in findings] == [False, True, True, True], text)
    _, text, _ = run("--schedules=40", "--format=sarif", "ranked.scenario")
    expect("in SARIF", [later in r["message"]["text"] for r in json.loads(text)["runs"][0]["results"]] == [False, True, True, True], text)
    (folder / "crossed.ptx").write_text(CROSSED)
    (folder / "crossed.scenario").write_text("source crossed.ptx\nmemory x u32[2]\nlaunch crossed block 64 args x\n")
    _, out, err = run("--schedules=40", "crossed.scenario")
    expect("each of two races comes first in some schedule", "\trace\t2 findings" in out and later not in out, out + err)


def check_options(checker, expect):
    """The page describes the options that --help lists."""
    page = (pathlib.Path(__file__).resolve().parents[2] / "docs/sanitize.md").read_text(encoding="utf-8")
    described = {name for row in re.findall(r"^\| (`--.*?) \|", page, re.MULTILINE) for name in re.findall(r"--[a-z]+", row)}
    text = subprocess.run([checker, "sanitize", "--help"], capture_output=True, text=True).stdout
    listed = set(re.findall(r"^  (?:-\w,)?(--[a-z]+)", text, re.MULTILINE)) - {"--help"}
    expect("the page and --help have the same options", described == listed, described ^ listed)


def main():
    checker = str(pathlib.Path(sys.argv[1]).resolve())
    wrong = []
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "k.ptx").write_text(PTX)
        for name in ("racy", "fine"):
            (folder / f"{name}.scenario").write_text(f"source k.ptx\nmemory x u32\nlaunch {name} grid 8 block 64 args x\n")
        (folder / "big.scenario").write_text("source k.ptx\nmemory x u32\nlaunch fine grid 512 block 256 args x\nfinal x == 131072\n")
        (folder / "allow").write_text("# known\nrace here.cu:7 racy\n")
        (folder / "bad").write_text("rase here.cu:7\n")

        def run(*words):
            done = subprocess.run([checker, "sanitize", *words], cwd=folder, capture_output=True, text=True)
            return done.returncode, done.stdout, done.stderr

        def expect(what, condition, got):
            if not condition:
                wrong.append(f"{what}: {got}")

        code, out, err = run("racy.scenario", "fine.scenario")
        expect("a race is found", code == 1 and "racy.scenario\trace\t1 finding, 10 schedules" in out, out + err)
        expect("both threads and lines are shown", out.count("> here.cu:7: st.global.u32") == 2 and "block 0, thread 1" in out, out)
        expect("the other file is clean", "fine.scenario\tclean in 10 schedules\t" in out, out)
        expect("no file is reported as verified", "verified" not in out, out)
        code, out, _ = run("--schedules=1", "fine.scenario")
        expect("one schedule", code == 0 and "clean in 1 schedule\t" in out, out)
        (folder / "unknown.scenario").write_text("source k.ptx\nmemory x u32[4] unknown 1-3\nlaunch fine grid 1 block 1 args x\nfinal x == 1\n")
        code, out, _ = run("--schedules=1", "unknown.scenario")
        expect("known memory next to unknown memory", code == 0 and "clean in 1 schedule" in out, out)
        (folder / "unknown.scenario").write_text("source k.ptx\nmemory x u32[4] unknown\nlaunch fine grid 1 block 1 args x\nfinal x == 1\n")
        code, out, _ = run("--schedules=1", "unknown.scenario")
        expect("unknown memory", code == 2 and "whose value is unknown" in out, out)
        for argument, status in (("x", 0), ("x+4", 1)):
            (folder / "first.scenario").write_text(f"source k.ptx\nmemory x u32[4] uninitialised = 1\nlaunch fine grid 1 block 1 args {argument}\nfinal x[0] >= 1\n")
            code, out, _ = run("--schedules=1", "first.scenario")
            expect(f"memory of which only the first element is set, {argument}", code == status and ("uninitialised" in out) == (status == 1), out)
        code, out, _ = run("--schedules=2", "big.scenario")
        expect("more threads than exploration supports", code == 0 and "clean in 2 schedules" in out, out)
        code, out, _ = run("--format=json", "--seed=5", "racy.scenario")
        one = json.loads(out)
        f = one["files"][0]["findings"][0]
        expect("JSON", one["format_version"] == 1 and f["status"] == "race" and f["seed"] == 5 and f["count"] > 10, out)
        expect("JSON places", [a["line"] for a in f["accesses"]] == [7, 7] and f["accesses"][0]["file"].endswith("here.cu"), out)
        code, out, _ = run("--format=sarif", "racy.scenario", "none.scenario")
        sarif = json.loads(out)["runs"][0]
        result = sarif["results"][0]
        expect("SARIF", code == 2 and result["ruleId"] == "race" and len(result["relatedLocations"]) == 1, out)
        expect("SARIF line", result["locations"][0]["physicalLocation"]["region"]["startLine"] == 7, out)
        expect("SARIF error", not sarif["invocations"][0]["executionSuccessful"], out)
        code, out, _ = run("--suppressions=allow", "racy.scenario")
        expect("suppressed", code == 0 and "clean in 10 schedules" in out and "1 suppressed" in out, out)
        code, _, err = run("--suppressions=bad", "racy.scenario")
        expect("a wrong suppression is an error", code == 2 and "bad:1" in err, err)
        code, out, _ = run("--confirm", "--schedules=3", "racy.scenario")
        expect("confirmed", code == 1 and "    confirmed: membar-check finds the same error when it replays the schedule (" in out, out)
        (folder / "large.scenario").write_text("source k.ptx\nmemory x u32\nlaunch racy grid 256 block 256 args x\n")
        code, out, _ = run("--confirm", "--schedules=1", "large.scenario")
        expect("too large to be confirmed", code == 1 and "    not confirmed: the launches have 65536 threads, but the checker replays at most 4096: make the grid or the block smaller\n" in out, out)
        for write, found in (("red.relaxed.gpu.global.add.u32", "race"), ("st.relaxed.gpu.global.u32", "clean in 20 schedules")):
            (folder / "observed.ptx").write_text(OBSERVED.replace("WRITE", write))
            (folder / "observed.scenario").write_text("source observed.ptx\nmemory x u32\nlaunch observed grid 2 args x\n")
            _, out, _ = run("--schedules=20", "--confirm", "observed.scenario")
            expect(f"a weak write after a read of what {write} has written", f"observed.scenario\t{found}\t" in out and "not confirmed" not in out, out)
            depends = "depends on a reading of the PTX ISA: --reading=whole-updates-are-observed" in out
            expect(f"the reading on which that depends for {write}", depends == (found == "race"), out)
            code, out, _ = run("--schedules=20", "--reading=whole-updates-are-observed", "observed.scenario")
            expect(f"that reading for {write}", code == 0, out)
            for reading, status in (("cluster-scope-of-mbarriers", "race" if found == "race" else "verified"), ("whole-updates-are-observed", "verified")):
                explored = subprocess.run([checker, f"--reading={reading}", "observed.scenario"], cwd=folder, capture_output=True, text=True).stdout
                expect(f"exploration with {reading} for {write}", explored.startswith(f"observed.scenario\t{status}\t"), explored)
        (folder / "hoisted.ptx").write_text(HOISTED)
        (folder / "hoisted.scenario").write_text("source hoisted.ptx\nmemory x u32\nlaunch hoisted grid 2 args x\n")
        note = "the loop at poll.cu:5 loads nothing: the compiler has moved its plain load out of it"
        _, out, _ = run("hoisted.scenario")
        expect("a loop that loads nothing is explained once", out.count(note) == 1 and "race, " in out and "hang, " in out and "    poll with cuda::atomic_ref<" in out, out)
        _, out, _ = run("--format=json", "hoisted.scenario")
        expect("and in JSON with each finding", [note in f.get("notes", []) for f in json.loads(out)["files"][0]["findings"]] == [True, True], out)
        (folder / "counts.ptx").write_text(COUNTS)
        (folder / "counts.scenario").write_text("source counts.ptx\nmemory x u32[2]\nlaunch counts grid 2 args x\n")
        _, out, _ = run("--schedules=20", "--limit=10000000", "counts.scenario")
        expect("a thread that counts its polls lets others run", "clean in 20 schedules" in out, out)
        (folder / "counts.scenario").write_text("source counts.ptx\nmemory x u32[2]\nlaunch counts grid 2 args x\nfinal x[1] == 0\nfinal x == 0\n")
        _, out, _ = run("--schedules=20", "counts.scenario")
        expect("a final condition is listed once, whatever the values are",
               "violated\t1 finding, 20 schedules" in out and out.count("  violated, seed 1, 20 times: the final condition does not hold: x[1] == 0; x[1] is ") == 1, out)
        (folder / "follows.ptx").write_text(FOLLOWS)
        for unknown, origin in (("pointers u64[2] unknown", "memory that the scenario declares as unknown (pointers), or on an instruction whose result membar-check does not compute"),
                                ("pointers u64[2] unknown 1", None)):
            (folder / "follows.scenario").write_text(f"source follows.ptx\nmemory x u32\nmemory {unknown}{'' if origin else ' = x'}\nlaunch follows args pointers\n")
            explored = subprocess.run([checker, "follows.scenario"], cwd=folder, capture_output=True, text=True).stdout
            _, out, _ = run("--schedules=1", "follows.scenario")
            for text in (explored, out):
                expect(f"where an unknown value comes from, {unknown}", f" does: the value depends on {origin}" in text if origin else "unknown value" not in text, text)
        (folder / "stuck.scenario").write_text("source k.ptx\nmemory x u32[2]\nlaunch polls block 2 args x\n")
        code, out, _ = run("--schedules=1", "--confirm", "stuck.scenario")
        expect("threads that poll together forever", code == 1 and "stuck.scenario\thang\t" in out and "waits at" in out and "    confirmed" in out, out)
        code, out, _ = run("--limit=10", "fine.scenario")
        expect("a schedule that is cut off is not clean", code == 3 and "gave up" in out, out)
        check_merging(folder, run, expect)
        check_advice(folder, run, expect)
        check_sizes(folder, run, expect)
        check_consequences(folder, run, expect)
        check_options(checker, expect)
        for words in ([], ["--schedules=0", "fine.scenario"], ["--format=xml", "fine.scenario"], ["--wrong", "fine.scenario"]):
            code, _, err = run(*words)
            expect(f"{words} is an error", code == 2 and err.startswith("membar-check:"), err)
    print("\n".join(wrong) if wrong else "as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
