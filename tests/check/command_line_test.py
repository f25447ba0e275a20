#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks membar-check's output and exit status for valid and invalid command lines, scenarios and sources.

usage: command_line_test.py <membar-check>
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

KERNEL = """.version 9.0
.target sm_90
.address_size 64
.visible .entry _Z6workerILi2EEvPjj(.param .u64 p, .param .u32 n)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
ld.param.u64 %rd1, [p];
ld.param.u32 %r1, [n];
atom.relaxed.gpu.add.u32 %r2, [%rd1], %r1;
ret;
}
.visible .entry two(.param .align 8 .b8 s[24], .param .u64 t)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [s];
ld.param.u32 %r1, [s+8];
red.relaxed.gpu.add.u32 [%rd1], %r1;
ld.param.u64 %rd2, [t];
ld.u64 %rd3, [%rd2+8];
red.relaxed.gpu.add.u32 [%rd3], %r1;
ret;
}
.visible .entry cached(.param .u64 t, .param .u64 p)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [t];
ld.param.u64 %rd2, [p];
ld.global.nc.u32 %r1, [%rd1+4];
red.relaxed.gpu.add.u32 [%rd2], %r1;
ret;
}
.visible .entry branches(.param .u32 from)
{
.reg .b32 %r<4>; .reg .pred %p<2>;
ld.param.u32 %r1, [from];
mov.u32 %r2, %tid.x;
setp.ge.u32 %p1, %r2, %r1;
@%p1 bra E;
bar.sync 0;
ret;
E:
bar.sync 0;
ret;
}
.visible .entry unknown()
{
sin.approx.f32 %f1, %f1;
}
.extern .func __assertfail (.param .b64 a, .param .b64 b, .param .b32 c, .param .b64 d, .param .b64 e);
.global .align 4 .u32 limit = 3;
.visible .entry variable(.param .u64 p)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
ld.param.u64 %rd1, [p];
ld.global.u32 %r1, [limit];
setp.lt.u32 %p1, %r1, 3;
@%p1 bra FAIL;
st.u32 [%rd1], %r1;
st.global.u32 [limit], 7;
ret;
FAIL:
{ .param .b64 a; .param .b64 b; .param .b32 c; .param .b64 d; .param .b64 e; call.uni __assertfail, (a, b, c, d, e); }
trap;
}
.visible .entry floats(.param .u64 p, .param .f32 x, .param .f64 y)
{
.reg .b64 %rd<4>; .reg .f32 %f<4>; .reg .f64 %fd<4>;
ld.param.u64 %rd1, [p];
ld.param.f32 %f1, [x];
ld.param.f64 %fd1, [y];
ld.f32 %f2, [%rd1];
cvt.f64.f32 %fd2, %f1;
add.f64 %fd2, %fd2, %fd1;
cvt.rn.f32.f64 %f3, %fd2;
add.f32 %f2, %f2, %f3;
st.f32 [%rd1+4], %f2;
ret;
}
"""
# This kernel takes a struct and an array that contains an address. The kernel adds the struct's second word to the words at the two
# addresses that the struct and the array contain.
STRUCT = "source k.ptx\nmemory table u64[2] = 1 x+4\nmemory x u32[2]\n# a struct\nlaunch two args {x+4 2} table\nfinal x[1] == 4 /\\ x[0] == 0\n"
CACHED = "source k.ptx\nmemory table u32[2] = 1 3 constant\nmemory x u32\nlaunch cached grid 2 args table x\nfinal x == 6\n"
GOOD = "source k.ptx\nmemory count u32[2] = 1\nlaunch worker<2> grid 3 args count 2\n"
VARIABLE = "source k.ptx\nmemory x u32\nlaunch variable args x\nfinal limit == 7 /\\ x == 3\n"
FLOATS = "source k.ptx\nmemory x f32[2] = 1.5\nlaunch floats args x -0.25 10.0\nfinal x[1] == 11.25 /\\ x[1] > 11 /\\ x < 2.0\n"
HOST = "source k.ptx\nmemory count u32 host\nlaunch worker<2> args count 2\n"
BRANCHES = "source k.ptx\nlaunch branches block 3 args 1\n"
# ring<2u, 2u>, flag<true>, paint<(color)2>, of<unsigned int>, one<1> and one<true>, and outer::mine::scan<64>. Their threads race on a shared variable of
# ring<2u, 2u>, whose name has a suffix from nvcc.
NAMES = ".version 9.0\n.target sm_90\n.address_size 64\n" + "".join(
    f".visible .entry {name}()\n{{\n.reg .b32 %r<2>;\n.shared .u32 _ZZ4ringILj2ELj2EEvP4RingIXT_EEE3job_$_0;\n"
    "mov.u32 %r1, %tid.x;\nst.shared.u32 [_ZZ4ringILj2ELj2EEvP4RingIXT_EEE3job_$_0], %r1;\nret;\n}\n"
    for name in ("_Z4ringILj2ELj2EEvv", "_Z4flagILb1EEvv", "_Z5paintIL5color2EEvv", "_Z2ofIjEvv", "_Z3oneILi1EEvv", "_Z3oneILb1EEvv", "_ZN5outer4mine4scanILi64EEEvv"))
# A kernel that writes data and then raises a flag in host memory.
ANNOUNCE = """.version 9.0
.target sm_90
.address_size 64
.visible .entry announce(.param .u64 p, .param .u64 q)
{
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [p];
ld.param.u64 %rd2, [q];
st.global.u32 [%rd1], 7;
st.release.sys.global.u32 [%rd2], 1;
ret;
}
"""
# Two kernels that use cluster launch control: one waits for the response, and the other reads it without waiting. A third kernel copies in
# im2col mode.
ASYNCHRONOUS = """.version 9.0
.target sm_100
.address_size 64
.shared .align 16 .b8 answer[16];
.shared .align 8 .b8 bar[8];
.visible .entry asks()
{
.reg .pred %p<2>;
mbarrier.init.shared.b64 [bar], 1;
fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [bar];
W: mbarrier.try_wait.parity.shared::cta.b64 %p0, [bar], 0;
@!%p0 bra W;
ret;
}
.visible .entry hurries()
{
.reg .b32 %r<2>;
mbarrier.init.shared.b64 [bar], 1;
fence.mbarrier_init.release.cluster;
mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [answer], [bar];
ld.shared.u32 %r1, [answer];
ret;
}
.visible .entry patches(.param .u64 m)
{
.reg .b16 %rs<2>; .reg .b32 %r<2>; .reg .b64 %rd<2>;
ld.param.u64 %rd1, [m];
cp.async.bulk.tensor.3d.shared::cta.global.im2col.mbarrier::complete_tx::bytes [answer], [%rd1, {%r1, %r1, %r1}], [bar], {%rs1};
ret;
}
.visible .entry none(.param .u64 p)
{
ret;
}
.visible .entry times()
{
.reg .b64 %rd<2>;
mov.u64 %rd1, %globaltimer;
ret;
}
"""
NOT_CANCELLED = "; assuming that every clusterlaunchcontrol.try_cancel reports that nothing was cancelled\n"
ANNOUNCED = "source announce.ptx\nmemory data u32 host\nmemory flag u32 host\nlaunch announce args data flag\n"
# Kernels that are correct only under assumptions that a scenario can state.
ASSUMES = """.version 9.0
.target sm_90
.address_size 64
.visible .entry put(.param .u64 d)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [d];
st.relaxed.gpu.global.v2.u32 [%rd1], {7, 1};
ret;
}
.visible .entry get(.param .u64 d, .param .u64 out)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
ld.param.u64 %rd1, [d];
ld.param.u64 %rd2, [out];
L: ld.relaxed.gpu.global.v2.u32 {%r1, %r2}, [%rd1];
setp.eq.u32 %p1, %r2, 0;
@%p1 bra L;
st.global.u32 [%rd2], %r1;
ret;
}
.visible .entry get_four(.param .u64 d, .param .u64 out)
{
.reg .b32 %r<6>; .reg .b64 %rd<4>; .reg .pred %p<2>;
ld.param.u64 %rd1, [d];
ld.param.u64 %rd2, [out];
L: ld.relaxed.gpu.global.v4.u32 {%r1, %r2, %r3, %r4}, [%rd1];
setp.eq.u32 %p1, %r4, 0;
@%p1 bra L;
st.global.u32 [%rd2], %r1;
ret;
}
.visible .entry put_four(.param .u64 d)
{
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [d];
st.relaxed.gpu.global.v4.u32 [%rd1], {7, 2, 3, 1};
ret;
}
.visible .entry reader(.param .u64 buffer, .param .u64 flag, .param .u64 out)
{
.reg .b32 %r<6>; .reg .b64 %rd<6>; .reg .pred %p<2>;
ld.param.u64 %rd1, [buffer];
ld.param.u64 %rd2, [flag];
ld.param.u64 %rd3, [out];
mov.u32 %r1, %tid.x;
mul.wide.u32 %rd4, %r1, 4;
add.u64 %rd1, %rd1, %rd4;
add.u64 %rd3, %rd3, %rd4;
ld.global.u32 %r2, [%rd1];
shfl.sync.bfly.b32 %r3, %r2, 1, 31, 3;
setp.eq.u32 %p1, %r1, 0;
@%p1 red.release.gpu.global.add.u32 [%rd2], 1;
add.u32 %r3, %r3, %r2;
st.global.u32 [%rd3], %r3;
ret;
}
.visible .entry writer(.param .u64 buffer, .param .u64 flag)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
ld.param.u64 %rd1, [buffer];
ld.param.u64 %rd2, [flag];
L: ld.acquire.gpu.global.u32 %r1, [%rd2];
setp.eq.u32 %p1, %r1, 0;
@%p1 bra L;
st.global.u32 [%rd1+4], 5;
ret;
}
.visible .entry announce(.param .u64 d, .param .u64 f)
{
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [d];
ld.param.u64 %rd2, [f];
st.global.u32 [%rd1], 7;
st.release.sys.global.u32 [%rd2], 1;
ret;
}
.visible .entry wait(.param .u64 f)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>; .reg .pred %p<2>;
ld.param.u64 %rd1, [f];
L: ld.volatile.global.u32 %r1, [%rd1];
setp.eq.u32 %p1, %r1, 0;
@%p1 bra L;
ret;
}
.visible .entry copy(.param .u64 d, .param .u64 out)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [d];
ld.param.u64 %rd2, [out];
ld.global.u32 %r1, [%rd1];
st.global.u32 [%rd2], %r1;
ret;
}
.visible .entry set(.param .u64 d, .param .u32 v)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [d];
ld.param.u32 %r1, [v];
st.global.u32 [%rd1], %r1;
ret;
}
.visible .entry increment(.param .u64 d)
{
.reg .b32 %r<4>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [d];
ld.global.u32 %r1, [%rd1];
add.u32 %r1, %r1, 1;
st.global.u32 [%rd1], %r1;
ret;
}
.visible .entry wide(.param .u64 d, .param .u64 out)
{
.reg .b64 %rd<4>;
ld.param.u64 %rd1, [d];
ld.param.u64 %rd2, [out];
st.global.u32 [%rd1], 5;
ld.global.u64 %rd3, [%rd1];
st.global.u64 [%rd2], %rd3;
ret;
}
.visible .entry product(.param .u64 d)
{
.reg .b32 %r<12>; .reg .b64 %rd<4>;
ld.param.u64 %rd1, [d];
mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%r1, %r2, %r3, %r4}, {%r5, %r6}, {%r7}, {%r8, %r9, %r10, %r11};
st.global.u32 [%rd1], %r1;
ret;
}
"""
VECTORS = "source a.ptx\nmemory d u32[2]\nmemory out u32\nlaunch put args d\nlaunch get args d out\nfinal out == 7\n"
FOURS = "source a.ptx\nmemory d u64[2]\nmemory out u32\nlaunch put_four args d\nlaunch get_four args d out\nfinal out == 7\n"
SHUFFLES = ("source a.ptx\nmemory buffer u32[2] = 1 2\nmemory flag u32\nmemory out u32[2]\nlaunch reader block 2 args buffer flag out\n"
            "launch writer args buffer flag\nfinal out == 3\n")
BOUNDARY = ("source a.ptx\nmemory d u32\nmemory f u32\nmemory o u32\nlaunch announce args d f\nlaunch wait device 1 stream s args f\n"
            "launch copy device 1 stream s args d o\nfinal o == 7\n")
RACY = "source a.ptx\nmemory d u32[2]\nlaunch set args d 1\nlaunch set args d 1\nfinal d == 1\n"
# Both blocks write the first word. Then block 0 writes the two words that block 1 reads.
SEVERAL_RACES = """.version 9.0
.target sm_90
.address_size 64
.visible .entry several(.param .u64 d)
{
.reg .b64 %rd<3>; .reg .b32 %r<4>; .reg .pred %p<3>;
ld.param.u64 %rd1, [d];
mov.u32 %r1, %ctaid.x;
mov.u32 %r2, 2;
setp.ne.u32 %p1, %r1, 0;
.loc 1 5 0
st.global.u32 [%rd1], 1;
@%p1 bra READ;
WRITE: add.u64 %rd1, %rd1, 4;
.loc 1 7 0
st.global.u32 [%rd1], 1;
sub.u32 %r2, %r2, 1;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra WRITE;
ret;
READ: add.u64 %rd1, %rd1, 4;
.loc 1 9 0
ld.global.u32 %r3, [%rd1];
sub.u32 %r2, %r2, 1;
setp.ne.u32 %p2, %r2, 0;
@%p2 bra READ;
ret;
}
.file 1 "several.cu"
"""
SEVERAL = "source several.ptx\nmemory d u32[3]\nlaunch several grid 2 args d\n"
# The threads of each block write both words in shared memory.
SHARED_RACES = """.version 9.0
.target sm_90
.address_size 64
.visible .entry shared_races()
{
.reg .b32 %r<2>;
.shared .align 4 .b8 stage[8];
mov.u32 %r1, %tid.x;
.loc 1 5 0
st.shared.u32 [stage], %r1;
.loc 1 6 0
st.shared.u32 [stage+4], %r1;
ret;
}
.file 1 "stage.cu"
"""
SHARED = "source shared.ptx\nlaunch shared_races grid 2 block 2\n"
REPEATED = "source a.ptx\nmemory d u32\nrepeat 3 {\nlaunch increment stream s args d\n}\nfinal d == 3\n"
COPIED = "source a.ptx\nmemory d u32[2] = 9 9\nmemory out u64\nlaunch copy args d out\nfinal out == 9\n"
LITMUS = """PTX MP
{ x=0; y=0; }
 P0@cta 0,gpu 0        | P1@cta 1,gpu 0 ;
 st.weak x, 1          | ld.acquire.gpu r0, y ;
 st.release.gpu y, 1   | bne r0, 1, DONE ;
                       | ld.weak r1, x ;
                       | DONE: ;
exists (P1:r0 == 1 /\\ P1:r1 == 0)
"""
BUFFERING = """PTX LB
{ x=0; y=0; }
 P0@cta 0,gpu 0         | P1@cta 1,gpu 0 ;
 ld.relaxed.gpu r0, x   | ld.relaxed.gpu r0, y ;
 st.relaxed.gpu y, 1    | st.relaxed.gpu x, 1 ;
exists (P0:r0 == 1 /\\ P1:r0 == 1)
"""
COSTS = "device a test\n" + "".join(f"fence {order} {scope} {cost}\n" for scope, costs in
                                     {"block": (1, 5), "device": (2, 20), "system": (3, 30)}.items()
                                     for order, cost in zip(("acquire", "release", "acq_rel", "seq_cst"), (*costs, costs[1], costs[1])))
# (scenario text, exit status, words that the output must contain)
SCENARIOS = [
    (GOOD + "final count[0] == 7 /\\ count[1] == 0\n", 0, ["verified\t1 execution, 0 blocked", "s; equal threads exchanged\n"]),
    (BRANCHES, 1, ["undefined", "threads wait at different barriers, PTX lines 39 and 42, which CUDA and PTX leave undefined\n"]),
    (BRANCHES.replace("block 3 args 1", "block 64 args 32"), 1, ["PTX lines 39 and 42, which CUDA leaves undefined\n"]),
    (BRANCHES.replace("args 1", "args 0"), 0, ["verified\t1 execution, 0 blocked", " s\n"]),
    (GOOD.replace("worker<2>", "_Z6workerILi2EEvPjj") + "final (count == 7)\n", 0, ["verified"]),
    (GOOD + "final count = 7 && !(count != 7)\n", 0, ["verified"]),
    (GOOD + "final ~(count[0] == 7) \\/ count[1] > 0\n", 1, ["violated", "the final condition does not hold: ~(count[0] == 7)"]),
    (GOOD + "final count[2] == 7\n", 2, ["error\t4:", "index 2 is outside of 'count', which has 2 elements\n"]),
    (GOOD + "final count = = 7\n", 2, ["error\t4:", "expected a number or the name of a memory object"]),
    (GOOD.replace("worker<2>", "worker<3>"), 2, ["error\t3:1: the source has no kernel 'worker<3>': it defines worker<2>, two, cached, branches, unknown, variable, floats"]),
    (GOOD.replace("worker<2>", "worker<3>"), 2, ["; if it is a template, instantiate it in the source: 'template __global__ void worker<3>(PARAMETERS);'\n"]),
    (GOOD.replace("worker<2>", "worked"), 2, ["floats\n"]),
    *((f"source names.ptx\nlaunch {name}\n", 0, ["verified"]) for name in (
        "ring<2u,2u>", "ring<2,2>", "ring<2, 2>", "ring<2ul, 2LL>", "flag<true>", "flag<1>", "paint<2>", "paint<(color)2>", "of<unsigned>", "one<true>", "one<1>",
        "outer::mine::scan<64>", "mine::scan<64>", "scan<64>", "outer::mine::scan", "mine::scan", "scan")),
    ("source names.ptx\nlaunch other::scan<64>\n", 2, ["the source has no kernel 'other::scan<64>': it defines ring<2u,2u>, flag<true>, paint<(color)2>, of<unsigned>, one<1>"]),
    ("source names.ptx\nlaunch one<1u>\n", 2, ["the source has several kernels 'one<1u>': it defines ring<2u,2u>, flag<true>,", "one<1>, one<true>, outer::mine::scan<64>\n"]),
    ("source names.ptx\nlaunch rnig<2,2>\n", 2, ["; did you mean 'ring<2u,2u>'?\n"]),
    ("source names.ptx\nlaunch ring<2,2> block 2\n", 1, ["data race on job of block 0:"]),
    (GOOD.replace("k.ptx", "none.ptx"), 2, ["the source has no kernel 'worker<2>': it defines none; if it is a template, instantiate it in the source: 'template __global__ void worker<2>(PARAMETERS);'\n"]),
    (GOOD.replace("k.ptx", "none.ptx").replace("worker<2>", "worker"), 2, ["instantiate it in the source: 'template __global__ void worker<ARGUMENTS>(PARAMETERS);'\n"]),
    (GOOD.replace("count 2\n", "count\n"), 2, ["error\t3:1: 'worker<2>' has 2 parameters, but 1 argument is given: a struct is one argument"]),
    (GOOD.replace("count 2\n", "other 2\n"), 2, ["error\t3:1: the argument 'other' is neither a number nor the name of a memory object"]),
    (GOOD.replace("count 2\n", "count 4294967296\n"), 2, ["does not fit into the 4 bytes of parameter 1"]),
    (GOOD.replace("count 2\n", "count+1 2\n"), 1, ["out of bounds", "is not aligned: 4 bytes at count+1"]),
    (GOOD.replace("count 2\n", "count+8 2\n"), 1, ["out of bounds", "is outside of every object: 4 bytes at the first byte past the end of count\n", "block 0, thread 0) is at PTX line 9: atom.relaxed.gpu.add.u32\n"]),
    (GOOD.replace("grid 3", "grid 1024,5"), 2, ["error\t3:1: the launch of", "would bring the total to 5120 threads; the number must be from 1 to 4096: make the grid or the block smaller; 'membar-check sanitize' accepts full-size launches"]),
    (GOOD.replace("grid 3", "grid 1 block 32,33"), 2, ["error\t3:1: the launch of", "has blocks of 1056 threads; CUDA allows at most 1024: make the block smaller"]),
    ("source k.ptx\nmemory limit u32 unknown\nmemory d u32\nlaunch variable args d\n", 1, ["violated", "this holds only if the unknown values"]),
    (GOOD.replace("u32[2]", "u31[2]"), 2, ["error\t2:1: 'u31' is not a memory type"]),
    (GOOD.replace("= 1", "= 1 2 3"), 2, ["error\t2:1: 'count' has 2 elements, but 3 values are given"]),
    (GOOD.replace("launch", "lunch"), 2, ["error\t3:1: 'lunch' is not a directive: expected source, memory, tensor_map, launch, host, final, assume, accept, note, repeat or use"]),
    (GOOD.replace("k.ptx", "missing.ptx"), 2, ["error\t1:1: missing.ptx: cannot open the file: check that it exists and can be read; the path in the 'source' line is relative to the scenario"]),
    (GOOD.replace("k.ptx", "k.ptx -O3"), 2, ["error\t1:1: the source is PTX, which takes no compiler options: leave out '-O3'"]),
    (GOOD.replace("launch worker<2> grid 3 args count 2", "launch unknown"), 2, ["error\tk.ptx:47:", "'sin.approx.f32"]),
    (STRUCT, 0, ["verified"]),
    (STRUCT.replace("{x+4 2}", "{x+4 2 0 0}"), 2, ["error\t5:1: parameter 0 of 'two' has 24 bytes, but 4 words of 8 bytes are given"]),
    (STRUCT.replace("{x+4 2}", "x"), 2, ["has 24 bytes: give its words of 8 bytes in braces, for example {data 1}"]),
    (STRUCT.replace("{x+4 2}", "{y 2}"), 2, ["error\t5:1: the argument 'y' is neither a number nor the name of a memory object"]),
    (STRUCT.replace("1 x+4", "1 y"), 2, ["error\t2:1: the value 'y' of 'table' is neither a number nor the name of a memory object"]),
    (STRUCT.replace("table u64", "table u32"), 2, ["error\t2:1: expected a value, found 'x+4'"]),
    (STRUCT.replace("{x+4 2}", "{x+4 8:u32}"), 2, ["error\t5:1: the argument '8:u32' is neither a number nor the name of a memory object; "
                                                   "a field of a struct with a type is written '+OFFSET:TYPE=VALUE', for example '+8:u32=1'\n"]),
    (STRUCT.replace("1 x+4", "1 2:u32"), 2, ["error\t2:1: expected a value, found '2:u32'; "
                                             "a value has the type of its memory line: declare a struct as an array of its words, such as u32[4]\n"]),
    (GOOD.replace("= 1", "= 1:u32"), 2, ["error\t2:1: expected a value, found '1:u32'; a value has the type of its memory line"]),
    (GOOD.replace("u32[2]", "u32").replace("= 1", "= 1 2"), 2, ["error\t2:1: 'count' has 1 element, but 2 values are given"]),
    (CACHED, 0, ["verified"]),
    (CACHED.replace("= 1 3 constant", "constant = 1 3"), 0, ["verified"]),
    (CACHED.replace("constant", "= 1 3"), 2, ["error\t2:1: the values of 'table' are given twice: give them once, with '= VALUES' or 'from FILE'"]),
    (CACHED.replace("constant", "const"), 2, ["error\t2:1: expected a value, found 'const'"]),
    (CACHED.replace("= 1 3 constant", "const"), 2, ["error\t2:1: 'const' is not expected here: after the type, a memory line can contain '= VALUES' or 'from FILE', "
                                                    "and the options unknown, uninitialised, constant, host, device and at; did you mean 'constant'?\n"]),
    *((GOOD.replace("= 1", begins).replace("count 2\n", "count+4 2\n") + "final count[0] == 1\n", 1, ["uninitialised", " count+4"])
      for begins in ("= 1 uninitialised", "uninitialised = 1")),
    (GOOD.replace("= 1", "uninitialised = 1"), 0, ["verified"]),
    (GOOD.replace("= 1", "uninitialised"), 1, ["uninitialised"]),
    (CACHED.replace(" constant", ""), 0, ["verified"]),
    (CACHED.replace("table x", "table table"), 1, ["out of bounds", "writes to constant memory"]),
    ("memory x u32\n", 2, ["error\tthe scenario does not name a source"]),
    *((GOOD.replace("k.ptx", f"k.cu {option}"), 2, ["error\t1:1: ", "is not an nvcc option that a scenario may use"]) for option in (
        "-ccbin=touch", "--compiler-bindir touch", "-Xcompiler=-fplugin=./x.so", "-run", "--run", "-optf words", "--options-file=words", "-o x",
        "-MD", "-keep", "other.cu", "-DX=$(touch${IFS}here)", "-D X=`here`", "-std=c++20;touch", "-I", "-I -run", '-DX="1', "-time=x")),
    (GOOD.replace("k.ptx", '"k 2.ptx"'), 0, ["verified"]),
    (GOOD.replace("k.ptx", '"k 2.ptx'), 2, ["error\t1:1: "]),
    (GOOD.replace("k.ptx", "$(touch).cu"), 2, ["cannot be passed to nvcc"]),
    (GOOD.replace("k.ptx", "-run"), 2, ["cannot be passed to nvcc"]),
    (GOOD.replace("k.ptx", "k.cu -I. -I here -DX=1 -D Y --std=c++17 -O3 -maxrregcount 32 --use_fast_math -include a.hpp"), 2, ["k.cu"]),
    (VARIABLE, 0, ["verified"]),
    (VARIABLE.replace("launch", "memory limit u32 = 4\nlaunch").replace("x == 3", "x == 4"), 0, ["verified"]),
    (VARIABLE.replace("launch", "memory limit u32\nlaunch"), 0, ["verified"]),
    (VARIABLE.replace("launch", "memory limit u64 = 4\nlaunch"), 2, ["error\t3:1: 'limit' is a variable of the source, and has 4 bytes, not 8"]),
    (VARIABLE.replace("launch", "memory limit u32 = 2\nlaunch"), 1, ["violated", "thread 0: an assertion fails", "block 0, thread 0) is at PTX line 62: assertion that fails\n"]),
    (FLOATS, 0, ["verified"]),
    (FLOATS.replace("11.25", "11.5"), 1, ["violated"]),
    (FLOATS.replace("10.0", "10"), 0, ["verified"]),
    (FLOATS.replace("10.0", "0x4024000000000000"), 0, ["verified"]),
    (FLOATS.replace("1.5", "0x3fc00000"), 0, ["verified"]),
    (FLOATS.replace("1.5", "one"), 2, ["error\t2:1: expected a value, found 'one'"]),
    (FLOATS.replace("f32[2]", "f64[1]"), 2, ["error\t4:11: index 1 is outside of 'x', which has 1 element\n"]),
    (FLOATS.replace("f32[2]", "float[2]"), 2, ["error\t2:1: 'float' is not a memory type: expected f32\n"]),
    (FLOATS.replace("f32[2]", "f32[2]={1}"), 2, ["error\t2:1: 'f32[2]={1}' is not a type with a count of 1 to 67108864 elements, as in 'memory x f32[10] = 1, 2.5'"]),
    (FLOATS.replace("f32[2]", "f16[2]"), 2, ["error\t2:1: 'f16' is not a memory type: expected u8, u16, u32, u64, s8, s16, s32, s64, b8 to b64, f32 or f64"]),
    (GOOD + GOOD.split("\n")[2] + " after other\n", 2, ["error\t4:1: 'after other': no kernel, stream or host thread above has that name"]),
    (HOST, 0, ["s; host memory 'count' is written, but no host thread of the scenario reads it\n"]),
    (HOST + "host reader after worker<2> { expect count == 2 }\n", 0, ["verified\t1 execution, 0 blocked", " s\n"]),
    (HOST + "host reader {\n  load count # too early\n}\n", 1,
     ["race", "PTX line 9 writes 4 bytes and s.scenario:5 reads 4 bytes; nothing orders them", "  thread 1 (host thread reader)\n  > 0: s.scenario:5: load count   // reads 0 from count"]),
    *((HOST + f"host reader after {name} {{ expect count == 2 }}\n", 0, ["verified\t1 execution"]) for name in ("worker", "worker<2u>", "worker<(int)2>", "_Z6workerILi2EEvPjj")),
    (HOST + HOST.split("\n")[2].replace("<2>", "") + " after worker<2u>\nhost reader after worker<2> { expect count == 4 }\n", 0, ["verified\t"]),
    (HOST + HOST.split("\n")[2].replace("worker<2>", "worker<2l>") + "\nhost reader after worker<2> { expect count == 4 }\n", 0, ["verified\t"]),
    ("source names.ptx\nlaunch one<1>\nlaunch paint<2> after one\n", 0, ["verified"]),
    ("source names.ptx\nlaunch one<1>\nlaunch one<true>\nlaunch paint<2> after one\n", 2,
     ["error\t4:1: 'after one': several kernels launched above have that name: add the template arguments or the namespace (one<1>, one<true>)\n"]),
    ("source names.ptx\nlaunch one<1> stream one\nlaunch one<true>\nlaunch paint<2> after one\n", 0, ["verified"]),
    ("source names.ptx\nlaunch ring<2,2>\nlaunch paint<2> after rnig\n", 2, ["no kernel, stream or host thread above has that name; did you mean 'ring'?\n"]),
    ("source names.ptx\nlaunch one<1>\nhost one<1> { fence }\n", 2, ["error\t3:1: 'one<1>' names both a host thread and something else"]),
    (HOST + "host reader after worker<2> { expect count == 3; }\n", 1,
     ["violated", "  thread 1 (host thread reader): 'expect count == 3' does not hold\n", "is at s.scenario:4: expect count == 3\n"]),
    (HOST + "host reader { wait count == 3 }\n", 1, ["race", "their scopes do not include each other's thread"]),
    (HOST + "host reader { wait missing == 3 }\n", 2, ["error\t4:20: there is no memory 'missing'"]),
    (HOST + "host reader { load count release }\n", 2, ["error\t4:26: 'release' is not an order for 'load'"]),
    (HOST + "host reader { load count\n", 2, ["error\t4:1: the host thread 'reader' has no '}' after its statements"]),
    ("# a comment\nscenario 1\n" + GOOD, 0, ["verified"]),
    ("scenario 2\n" + GOOD, 2, ["error\t1:1: the scenario has format version 2, but this membar-check reads version 1: use "]),
    ("scenario one\n" + GOOD, 2, ["error\t1:1: expected the version of the format, found 'one'"]),
    ("scenario 1 2\n" + GOOD, 2, ["error\t1:1: '2' is not expected here"]),
    (GOOD + "scenario 1\n", 2, ["error\t4:1: 'scenario' gives the format's version and must come before all other lines"]),
    (GOOD + GOOD.split("\n")[2] + " after worker<2>\nfinal count == 13\n", 0, ["verified\t1 execution"]),
]


def main():
    check, wrong = str(pathlib.Path(sys.argv[1]).resolve()), []

    def expect(words, status, *arguments, cwd=None):
        done = subprocess.run([check, *arguments], capture_output=True, text=True, cwd=cwd)
        output = done.stdout + done.stderr
        if done.returncode != status or any(word not in output for word in words):
            wrong.append(f"{arguments}: exit status {done.returncode}, expected {status} and {words}: {output}")

    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        (folder / "k.ptx").write_text(KERNEL, encoding="utf-8")
        (folder / "k 2.ptx").write_text(KERNEL, encoding="utf-8")
        (folder / "names.ptx").write_text(NAMES, encoding="utf-8")
        (folder / "none.ptx").write_text(KERNEL.split(".visible .entry")[0], encoding="utf-8")
        for text, status, words in SCENARIOS:
            (folder / "s.scenario").write_text(text, encoding="utf-8")
            expect(words, status, folder / "s.scenario")
        (folder / "good.scenario").write_text(GOOD, encoding="utf-8")
        (folder / "bad.scenario").write_text(GOOD + "final count == 6", encoding="utf-8")
        (folder / "mp.litmus").write_text(LITMUS, encoding="utf-8")
        (folder / "weak.litmus").write_text(LITMUS.replace("ld.acquire", "ld.relaxed").replace("st.release", "st.relaxed"), encoding="utf-8")
        (folder / "announce.ptx").write_text(ANNOUNCE, encoding="utf-8")
        (folder / "race.litmus").write_text(LITMUS.replace("ld.acquire", "ld.relaxed"), encoding="utf-8")
        expect(["membar-check: --readings must be lenient or default, but 'strict' was given; only membar-litmus has strict\nmembar-check --help lists the options\n"], 2, "--readings=strict", "good.scenario", cwd=folder)
        expect(["--reading needs fence-of-another-block, copies-of-two-blocks, whole-updates-are-observed or cluster-scope-of-mbarriers: 'x' was given"], 2, "--reading=x", "good.scenario", cwd=folder)
        expect(["s; equal threads exchanged; with the other interpretation of the readings fence-of-another-block, copies-of-two-blocks, whole-updates-are-observed, cluster-scope-of-mbarriers\n"], 0, "--readings=lenient", "--reading=copies-of-two-blocks", "good.scenario", cwd=folder)
        expect(["membar-check: no file given\nusage: membar-check"], 2)
        if "usage" in (shown := subprocess.run([check, "--fast", "x"], capture_output=True, text=True).stderr):
            wrong.append(f"the help hides the error: {shown}")
        expect(["usage: membar-check"], 0, "--help")
        main_program = pathlib.Path(__file__).resolve().parents[2] / "tools/membar-check/main.cpp"
        for command in re.findall(r'arguments\[1\]\) == "(\w+)"', main_program.read_text(encoding="utf-8")):
            expect([f"       membar-check {command} "], 0, "--help")
        header = (pathlib.Path(__file__).resolve().parents[2] / "include/membar/base/config.hpp").read_text(encoding="utf-8")
        number = int(re.search(r"^#define MEMBAR_VERSION (\d+)$", header, re.MULTILINE).group(1))
        version = f"{number // 10000}.{number // 100 % 100}.{number % 100}"
        expect([f"membar-check {version}\n"], 0, "--version")
        expect(["--limit needs a value: give it as --limit=VALUE"], 2, "--limit")
        expect(["--limit needs a number of events, at least 1: '-1' was given"], 2, "--limit=-1", "good.scenario")
        expect(["--format needs text, json or sarif: 'xml' was given"], 2, "--format=xml", "good.scenario")
        expect(["good.scenario\tverified"], 0, "--format=text", "good.scenario", cwd=folder)
        expect(["unknown option '--fast'"], 2, "--fast", "good.scenario")
        expect(["--limit needs a number of events"], 2, "--limit=0", "good.scenario")
        expect(["gave up", "more than 3 events"], 3, "--limit=3", "good.scenario", cwd=folder)
        for seconds in ("0", "-1", "1000001", "1.5"):
            expect([f"--time needs a number of seconds, 1 to 1000000: '{seconds}' was given"], 2, f"--time={seconds}", "good.scenario")
        expect(["good.scenario\tverified"], 0, "--time=1000000", "good.scenario", cwd=folder)
        expect(["good.scenario\tverified"], 0, "good.scenario", cwd=folder)
        (folder / "lb.litmus").write_text(BUFFERING, encoding="utf-8")
        expect(["lb.litmus\tverified\t4 executions", " s\n"], 0, "lb.litmus", cwd=folder)
        expect(["verified\t3 executions", "s; without load buffering"], 0, "--without-load-buffering", "lb.litmus",
               cwd=folder)
        expect(["race.litmus\trace", "data race on x", "--repair searches for orders, scopes, fences and barriers"], 1, "race.litmus", cwd=folder)
        expect(["--events=all shows all 4 events\n", "  > 0: ", "  > 1: "], 1, "--events=1", "race.litmus", cwd=folder)
        expect(["--events=all shows all 4 events\n", "    0: "], 1, "--events=3", "race.litmus", cwd=folder)
        for command in ([], ["sanitize"]):
            expect(["k.ptx\terror\tthis is a source, not a scenario: write a scenario, for example a file with the three lines 'source k.ptx', "
                    "'memory data u32[64]' and 'launch KERNEL grid 2 block 32 args data', and check that file; 'membar-check lint k.ptx' "
                    "needs no scenario"], 2, *command, "k.ptx", cwd=folder)
        # A scenario's assumptions: each is off by default, and the report repeats those that are on.
        (folder / "a.ptx").write_text(ASSUMES, encoding="utf-8")
        (folder / "several.ptx").write_text(SEVERAL_RACES, encoding="utf-8")

        def assumes(status, exit_status, text, *further):
            (folder / "a.scenario").write_text(text, encoding="utf-8")
            expect([f"a.scenario\t{status}", *further], exit_status, "a.scenario", cwd=folder)

        assumes("violated", 1, VECTORS)
        assumes("verified", 0, VECTORS + "assume vectors 8\n", "; assume vectors 8\n")
        assumes("violated", 1, FOURS + "assume vectors 8\n", "; assume vectors 8; PTX line 30\n")
        assumes("verified", 0, FOURS + "assume vectors 16 # packets\n", "; assume vectors 16\n")
        assumes("race", 1, SHUFFLES)
        assumes("verified", 0, SHUFFLES + "assume shuffle orders\n", "; assume shuffle orders\n")
        assumes("race", 1, BOUNDARY)
        assumes("verified", 0, BOUNDARY + "assume kernel boundary acquires\n", "; assume kernel boundary acquires\n")
        assumes("race", 1, RACY)
        assumes("verified", 0, RACY + "assume same-value writes\n", "; assume same-value writes\n")
        assumes("race", 1, RACY.replace("d 1\nfinal", "d 2\nfinal") + "assume same-value writes\n")
        assumes("verified", 0, RACY + "accept race d[0]\n", "; accept race d[0]\n")
        assumes("verified", 0, RACY + "accept race d\n", "; accept race d\n")
        assumes("race", 1, RACY + "accept race d[1]\n")
        # The result line names the accepted races, so that no race is hidden if the scenario accepts races on a whole object. A scenario
        # can also accept races on a single field.
        assumes("verified", 0, SEVERAL + "accept race d\n", "; accepted race between several.cu:5 and several.cu:5 on d+0:u32; accepted race between several.cu:7 and several.cu:9 on d+4:u32, d+8:u32; accept race d\n")
        assumes("race", 1, SEVERAL + "accept race d+0:u32\n", "data race on d+4")
        assumes("race", 1, SEVERAL + "accept race d+4:u32\naccept race d+8:u32\n", "data race on d: ")
        (folder / "shared.ptx").write_text(SHARED_RACES, encoding="utf-8")
        assumes("race", 1, SHARED, "data race on stage of block 0")
        assumes("verified", 0, SHARED + "accept race stage\n", "; accepted race between stage.cu:5 and stage.cu:5 on stage+0:u32; accepted race between stage.cu:6 and stage.cu:6 on stage+4:u32; accept race stage\n")
        assumes("race", 1, SHARED + "accept race stage+0:u32\n", "data race on stage+4 of block 0")
        assumes("verified", 0, SHARED + "accept race stage+0:u32\naccept race stage+4:u32\n")
        for accepted, status, found in (("stage", 0, "clean in 10 schedules"), ("stage+0:u32", 1, "data race on stage+4 of block ")):
            (folder / "a.scenario").write_text(SHARED + f"launch shared_races grid 300 block 2\naccept race {accepted}\n", encoding="utf-8")
            expect([found], status, "sanitize", "a.scenario", cwd=folder)
        assumes("error", 2, SHARED + "accept race stage[1]\n", "3:1: 'stage[1]' is in shared memory: name the element by its offset in bytes and its type, as in stage+4:u32")
        assumes("error", 2, SHARED + "accept race stage+8:u32\n", "which has 8 bytes")
        assumes("error", 2, SHARED + "accept race stag\n", "3:1: 'stag' is not a memory object or a __shared__ variable: accept race expects")
        assumes("error", 2, RACY + "accept race e\n", "6:1: 'e' is not a memory object or a __shared__ variable: accept race expects NAME, NAME[ELEMENT] or NAME+BYTES:TYPE; the scenario has d")
        assumes("error", 2, RACY + "accept race d[2]\n", "6:1: 'd[2]' is not an element of 'd', which has 2 elements")
        assumes("error", 2, RACY + "assume vectors 4\n", "6:1: vectors of 4 bytes cannot be assumed: give 8 or 16")
        assumes("error", 2, RACY + "assume luck\n", "6:1: expected 'assume vectors 8'")
        files = [line for line in (RACY + "assume same-value writes\n").splitlines()]
        (folder / "shared.part").write_text("\n".join(files[:2]), encoding="utf-8")
        assumes("verified", 0, "\n".join(["use shared.part"] + files[2:]) + "\n")
        (folder / "shared.part").write_text("source a.ptx\nmemory\n", encoding="utf-8")
        assumes("error", 2, "# a comment\nuse shared.part\n", "2:1: in 'shared.part': 2:1: expected a name")
        assumes("error", 2, "use missing\n", "1:1: 'missing': cannot open the file: check that it exists and can be read")
        assumes("error", 2, "use .\n", "1:1: '.': cannot open the file: this is a directory; give a file instead")
        # An error in a source file names that file.
        for ptx, error in (("garbage\n", "1:1: expected a module-level directive, found 'garbage'"), (".version 9.0\n.target sm_90\n.address_size 64\n.visible .entry k() {\n", "")):
            (folder / "wrong.ptx").write_text(ptx, encoding="utf-8")
            assumes("error\twrong.ptx:" + error, 2, "source wrong.ptx\nlaunch k\n")
        # asynchronous operations
        (folder / "async.ptx").write_text(ASYNCHRONOUS, encoding="utf-8")
        assumes("verified", 0, "source async.ptx\nlaunch asks\n", NOT_CANCELLED)
        assumes("verified", 0, "source async.ptx\nmemory m u64\nlaunch none args m\n", " s\n")
        assumes("verified", 0, "source async.ptx\nlaunch times\n", " s; clocks stand still\n")
        assumes("race", 1, "source async.ptx\nlaunch hurries\n", "(an asynchronous store of 16 bytes to answer of block 0) writes this memory",
                "thread 1, an asynchronous operation of thread 0 (hurries, block 0, thread 0)\n")
        assumes("gave up", 3, "source async.ptx\nmemory m u64\nlaunch patches args m\n",
                ": tensor copies in im2col mode are not modelled: check the kernel with copies of tiles")
        assumes("error", 2, "source async.ptx\nmemory m u16[64]\ntensor_map t of m type f16 dims 8 8 strides 16 box 8 8 im2col\nlaunch none args t\n",
                "3:1: the tensor map 't' uses im2col mode, which is not modelled: give a box of tiles, such as 'box 8 8'")
        (folder / "shared.part").write_text("use shared.part\n", encoding="utf-8")
        assumes("error", 2, "use shared.part\n", "'use' lines are nested more than 8 levels deep")
        assumes("verified", 0, REPEATED)
        assumes("violated", 1, REPEATED.replace("repeat 3", "repeat 2"))
        assumes("race", 1, REPEATED.replace(" stream s", ""))
        assumes("error", 2, REPEATED.replace("}\n", ""), "3:1: 'repeat' has no '}' after its launches")
        assumes("error", 2, REPEATED.replace("repeat 3", "repeat 0"), "3:1: expected 'repeat N {'")
        (folder / "values.bin").write_bytes((41).to_bytes(4, "little"))
        assumes("verified", 0, "source a.ptx\nmemory d u32[2] from values.bin\nlaunch increment args d\nfinal d == 42 /\\ d[1] == 0\n")
        assumes("error", 2, "source a.ptx\nmemory d u16 from values.bin\nlaunch increment args d\n", "2:1: 'values.bin' has 4 bytes, but 'd' has 2")
        assumes("verified", 0, "source a.ptx\nmemory d u32 at 0x200000000\nmemory e u32 at 0x300000000\n"
                               "launch increment args 0x200000000\nlaunch increment args e\nfinal d == 1 /\\ e == 1\n")
        assumes("error", 2, "source a.ptx\nmemory d u32 at 12\nlaunch increment args d\n", "2:1: the address of 'd' must be a multiple of 256")
        assumes("error", 2, "source a.ptx\nmemory d u32[99] at 0x200000000\nmemory e u32 at 0x200000100\nlaunch increment args e\n",
                "3:1: the memory 'e' overlaps 'd'")
        assumes("verified", 0, COPIED.replace("= 9 9", "= 9 9 unknown 1"))
        wide = COPIED.replace("copy", "wide").replace("out == 9", "out == 5")
        assumes("verified", 0, wide.replace("= 9 9", "unknown 0"))
        for text in (COPIED.replace("= 9 9", "= 9 9 unknown 0-1"), COPIED.replace("= 9 9", "unknown"), wide.replace("= 9 9", "unknown 1")):
            assumes("error", 2, text, "whose value is unknown")
        for elements in ("2", "1-0", "0-1 1", "0-", "1-2"):
            assumes("error", 2, COPIED.replace("= 9 9", f"= 9 unknown {elements}"),
                    f"2:1: '{elements.split()[-1]}' is not a range of elements of 'd', which has 2 elements: after 'unknown'")
        assumes("verified", 0, "source a.ptx\nmemory d u32\nlaunch product args d\n")
        assumes("error", 2, "source a.ptx\nmemory d u32\nlaunch product args d\nfinal d == 0\n",
                "4:1: the condition uses 'd', whose value is unknown: it depends on memory that the scenario declares as unknown, or on an instruction whose result membar-check does not compute, such as a matrix instruction")
        # sources that --read only reads, without exploring them
        expect(["k.ptx\t_Z6workerILi2EEvPjj\tread\n", "k.ptx\tunknown\trefused\t", "'%f1'", "k.ptx\tfloats\tread\n"], 2, "--read", "k.ptx", cwd=folder)
        expect(["announce.ptx\tannounce\tread\n"], 0, "--read", "announce.ptx", cwd=folder)
        expect(["race.litmus\terror\t8:20: "], 2, "--read", "race.litmus", cwd=folder)
        for text, advice in (("fence.seq_cst.gpu", "PTX spells this order 'sc'"), ("fence.sc.device", "PTX spells this scope 'gpu'"),
                             ("ld.seq_cst.gpu r2, y", "PTX has this order only for fences: put 'fence.sc.SCOPE' before a load with acquire or a relaxed store")):
            (folder / "spelling.litmus").write_text(LITMUS.replace("| DONE: ;", f"| DONE: {text} ;"), encoding="utf-8")
            expect([f"' is not supported; {advice}\n"], 2, "spelling.litmus", cwd=folder)
        expect(["--read explores nothing"], 2, "--read", "--random=2", "k.ptx", cwd=folder)
        expect(["'-Dx' is an option for compiling CUDA C++, but no .cu file was given: leave the option out"], 2, "--read", "-Dx", "k.ptx", cwd=folder)
        expect(["'-Ix' is an option for compiling CUDA C++, which only --read does: write the option on the scenario's source line"], 2, "-Ix", "good.scenario", cwd=folder)
        expect(["--events needs a number of events"], 2, "--events=0", "race.litmus", cwd=folder)
        # A finding that cannot be written as a litmus test is written as a graph.
        (folder / "sizes.scenario").write_text(STRUCT.replace("x+4", "x").replace("launch two args {x 2}", "launch two grid 2 args {table+8 0}"), encoding="utf-8")
        expect(["\trace\t", "error\tthe ", "different sizes"], 2, "--litmus=found.litmus", "--dot=sizes.dot", "sizes.scenario", cwd=folder)
        if not (folder / "sizes.dot").exists():
            wrong.append("no graph was written for a finding that cannot be written as a litmus test")
        # Random mode verifies nothing; the seed reproduces a finding.
        expect(["gave up\t100 executions", "random executions found no fault"], 3, "--random=100", "good.scenario", cwd=folder)
        expect(["--random needs a number"], 2, "--random=0", "good.scenario", cwd=folder)
        expect(["--seed needs a number"], 2, "--random=1", "--seed=x", "good.scenario", cwd=folder)
        done = subprocess.run([check, "--random=1000", "race.litmus"], capture_output=True, text=True, cwd=folder)
        seed = done.stdout.split("\n")[0].rpartition("; seed ")[2]
        again = subprocess.run([check, "--random=1", f"--seed={seed}", "race.litmus"], capture_output=True, text=True, cwd=folder)
        if done.returncode != 1 or "data race on x" not in done.stdout or done.stdout.split("\n")[1:] != again.stdout.split("\n")[1:]:
            wrong.append(f"rerunning the seed of a race found at random reports a different race: {done.stdout}{again.stdout}")
        expect(["verified\t1 execution, 0 blocked", " s\n"], 0, "--no-symmetry", "good.scenario", cwd=folder)
        expect(["mp.litmus\tverified", " s\n"], 0, "mp.litmus", cwd=folder)
        # Tests repairs, and the report on orders that are stronger than needed.
        (folder / "costs").write_text(COSTS, encoding="utf-8")
        (folder / "excess.litmus").write_text(LITMUS.replace("st.release.gpu", "st.release.sys"), encoding="utf-8")
        expect(["race.litmus\trace", "repair 1 of 3: +14.8 ns on NVIDIA H200; verified, 2 executions", "becomes ld.acquire.gpu   +14.8 ns"],
               1, "--repair", "race.litmus", cwd=folder)
        expect(["repair 1 of 3: +2.0 ns on a test; verified"], 1, "--repair=1", "--costs=costs", "race.litmus", cwd=folder)
        expect(["no repair: no single change to orders, scopes, fences or barriers lets the scenario pass (", "; --repair searches for sets of up to 3\n"], 1, "--repair=1", "weak.litmus", cwd=folder)
        expect(["verified", "1 of 2 orders are stronger than this scenario needs", "becomes st.release.gpu   -10.0 ns",
                "another launch may need an order that this one does not"], 0, "--repair", "--costs=costs",
               "excess.litmus", cwd=folder)
        expect(["0 of 2 orders are stronger than this scenario needs"], 0, "--repair", "mp.litmus", cwd=folder)
        # Orders share a line if weakening them saves nothing.
        (folder / "free.litmus").write_text(LITMUS.replace("st.release.gpu", "st.release.sys").replace("ld.acquire.gpu", "ld.acquire.sys"), encoding="utf-8")
        expect(["2 of 2 orders are stronger than this scenario needs\n    PTX line 8: st.release.sys", "becomes st.release.gpu   -290.8 ns\n",
                "\n    no measurable saving on NVIDIA H200: ld.acquire.sys.s32 becomes ld.acquire.gpu (PTX line 19)\n  each can be weakened separately, and all of them can be weakened together\n"],
               0, "--repair", "free.litmus", cwd=folder)
        (folder / "announce.scenario").write_text(ANNOUNCED, encoding="utf-8")
        expect(["verified", "0 of 0 orders are stronger than this scenario needs"], 0, "--repair", "announce.scenario", cwd=folder)
        (folder / "announce.scenario").write_text(ANNOUNCED + "host reader { wait flag == 1; load data }\n", encoding="utf-8")
        expect(["repair 1 of", ": cost not measured; verified", "    announce.scenario:5: wait flag == 1\n         wait becomes acquire   cost not measured\n"], 1, "--repair",
               "announce.scenario", cwd=folder)
        expect(["--repair needs a number of changes, 1 to 6"], 2, "--repair=7", "mp.litmus", cwd=folder)
        expect(["--repair explores all executions, and --random does not"], 2, "--repair", "--random=9", "mp.litmus", cwd=folder)
        expect(["--costs gives the cost of the changes that --repair tries, but --repair was not given: add --repair, or leave --costs out"], 2, "--costs=costs", "mp.litmus", cwd=folder)
        expect(["error\tmissing: cannot open the file: check"], 2, "--repair", "--costs=missing", "race.litmus", cwd=folder)
        (folder / "costs").write_text(COSTS + "fence weak block 1\n", encoding="utf-8")
        expect(["error\tcosts: 14:1: 'weak' is not an order"], 2, "--repair", "--costs=costs", "race.litmus", cwd=folder)
        expect(["race"], 1, "--litmus=found.litmus", "--dot=found.dot", "race.litmus", cwd=folder)
        found, dot = (folder / "found.litmus").read_text(encoding="utf-8"), (folder / "found.dot").read_text(encoding="utf-8")
        for word in ("PTX race", "st.weak x, 1", "ld.relaxed.gpu r0, y", "ld.weak r1, x", "P1:r0 == 1"):
            if word not in found:
                wrong.append(f"the litmus test of a race lacks '{word}': {found}")
        if not dot.startswith('digraph "race" {') or "color=red" not in dot or "label=rf" not in dot:
            wrong.append(f"the graph of a race: {dot}")
        expect(["found.litmus\trace", "data race on x"], 1, "found.litmus", cwd=folder)
        expect(["--litmus and --dot write the finding of one file, but 2 files are given"], 2, "--dot=d", "race.litmus", "mp.litmus", cwd=folder)
        expect(["error\tcannot write"], 2, "--dot=missing/d", "race.litmus", cwd=folder)
        # The JSON report is a single document for the whole run.
        def report(status, *arguments):
            done = subprocess.run([check, "--format=json", *arguments], capture_output=True, text=True, cwd=folder)
            if done.returncode != status:
                wrong.append(f"--format=json {arguments}: exit status {done.returncode}, expected {status}")
            document = json.loads(done.stdout)
            if [document[key] for key in ("format", "format_version", "version")] != ["membar-check-report", 1, version]:
                wrong.append(f"the head of a report: {document}")
            return document["files"]

        def holds(what, condition):
            if not condition:
                wrong.append(f"the report on {what} is not as expected")

        (folder / "costs").write_text(COSTS, encoding="utf-8")
        files = report(2, "good.scenario", "race.litmus", "missing.scenario")
        holds("three files", [(f["file"], f["status"]) for f in files]
              == [("good.scenario", "verified"), ("race.litmus", "race"), ("missing.scenario", "error")])
        holds("a verified file", files[0]["executions"] == 1 and files[0]["blocked"] == 0 and files[0]["equal_threads_exchanged"]
              and files[0]["events"] > 0 and "finding" not in files[0])
        finding = files[1]["finding"]
        holds("a race", "data race on x" in finding["message"] and [t["number"] for t in finding["threads"]] == [0, 1]
              and [e["thread"] for e in finding["events"] if e["blamed"]] == [0, 1])
        holds("an event", any(e["instruction"] == "ld.relaxed.gpu.s32" and e["reads_from"] == {"thread": 0, "number": 1}
                              and e["what"] == "reads 1 from y, written by thread 0 event 1" for e in finding["events"]))
        holds("a missing file", files[2]["error"] == "cannot open the file: check that it exists and can be read")
        repairs = report(1, "--repair", "race.litmus")[0]["repairs"]
        holds("repairs", repairs["device"] == "NVIDIA H200" and repairs["complete"] and len(repairs["found"]) == 3
              and repairs["found"][0]["cost_ns"] == 14.8
              and repairs["found"][0]["changes"][0]["change"] == "ld.relaxed.gpu.s32 becomes ld.acquire.gpu")
        excess = report(0, "--repair", "--costs=costs", "excess.litmus")[0]["excess_orders"]
        holds("excess orders", excess["orders"] == 2 and excess["each"] == excess["together"] and excess["each"][0]["cost_ns"] == -10)
        (folder / "host.scenario").write_text(HOST, encoding="utf-8")
        (folder / "reader.scenario").write_text(HOST + "host reader { load count }\n", encoding="utf-8")
        unread, early = report(1, "host.scenario", "reader.scenario")
        holds("a warning", unread["warnings"] == ["host memory 'count' is written, but no host thread of the scenario reads it"])
        holds("a host thread", early["finding"]["threads"][1]["name"] == "thread 1 (host thread reader)" and "warnings" not in early
              and any(e["instruction"] == "load count" and e["source"] == {"file": "reader.scenario", "line": 4} and "ptx_line" not in e
                      for e in early["finding"]["events"]))
        failed = report(2, "--dot=missing/d", "race.litmus")
        holds("what cannot be written", len(failed) == 1 and failed[0]["status"] == "race" and failed[0]["error"].startswith("cannot write 'missing/d': check that its folder exists"))
        # With several files, the worst status determines the exit code. An error is the worst, then a finding, then an analysis that gave
        # up.
        expect(["verified", "violated"], 1, "good.scenario", "bad.scenario", cwd=folder)
        expect(["violated", "error"], 2, "bad.scenario", "missing.scenario", "good.scenario", cwd=folder)
    print(f"{len(SCENARIOS) + 89} command lines, {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
