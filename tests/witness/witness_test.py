#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests what membar-check witness reports with a fake driver, whose kernels fail with delays of 5,000 cycles or more; that the PTX it
writes assembles; and that its reproducers compile and run.

usage: witness_test.py <membar-check> <folder of the fake driver> <C++ compiler> [<nvcc> <nvcc beside ptxas>]
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

SMALLEST = 5000
ROOT = pathlib.Path(__file__).resolve().parents[2]
BUGS = ROOT / "examples" / "bugs"

# `fine` adds atomically; the other kernels add with a load and a store, and `racy` may read its data too early.
HEAD = ".version 8.0\n.target sm_90\n.address_size 64\n"
LOSES = """.visible .entry NAME(.param .u64 x)
{
.reg .b64 %rd<2>;
.reg .b32 %r<3>;
ld.param.u64 %rd1, [x];
ld.relaxed.gpu.global.u32 %r1, [%rd1];
add.u32 %r2, %r1, 1;
st.relaxed.gpu.global.u32 [%rd1], %r2;
ret;
}
"""
FINE = """.visible .entry fine(.param .u64 x)
{
.reg .b64 %rd<2>;
ld.param.u64 %rd1, [x];
red.relaxed.gpu.global.add.u32 [%rd1], 1;
ret;
}
"""
RACY = """.visible .entry racy(.param .u64 x)
{
.reg .pred %p<2>;
.reg .b64 %rd<2>;
.reg .b32 %r<3>;
ld.param.u64 %rd1, [x];
mov.u32 %r1, %ctaid.x;
setp.eq.u32 %p1, %r1, 0;
@!%p1 bra READ;
st.global.u32 [%rd1], 7;
fence.acq_rel.gpu;
st.relaxed.gpu.global.u32 [%rd1+4], 1;
ret;
READ:
ld.relaxed.gpu.global.u32 %r1, [%rd1+4];
setp.eq.u32 %p1, %r1, 0;
@%p1 bra READ;
ld.global.u32 %r2, [%rd1];
st.global.u32 [%rd1+8], %r2;
ret;
}
"""
FOLLOWS = """.visible .entry follows(.param .u64 table)
{
.reg .b64 %rd<3>;
.reg .b32 %r<3>;
ld.param.u64 %rd1, [table];
ld.global.u64 %rd2, [%rd1];
ld.relaxed.gpu.global.u32 %r1, [%rd2];
add.u32 %r2, %r1, 1;
st.relaxed.gpu.global.u32 [%rd2], %r2;
ret;
}
"""
# The kernel's static shared memory plus the memory that its launch adds exceeds the usual limit per block.
STAGES = LOSES.replace("NAME", "stages").replace("{\n", "{\n.shared .align 4 .b8 stage[40960];\n", 1)
KERNELS = ["wrong", "hangs", "faults", "stuck", "calm"]
COPIES = 8  # Four multiprocessors hold four blocks each, and a grid has two blocks.

wrong = []


def expect(what, condition, got):
    if not condition:
        wrong.append(f"{what}: {got}")


def reproducer_runs(folder, compiler, environment, checker):
    """Checks that a C++ compiler compiles the reproducer, which is a single file, and that the reproducer's counts equal the
    command's."""
    subprocess.run([checker, "witness", "wrong.scenario", "--fixed", "fine.scenario", "--runs=2000", "--reproducer", "repro"], cwd=folder,
                   env=environment, capture_output=True)
    source = folder / "repro" / "witness.cu"
    expect("a reproducer", source.exists(), "no file")
    built = subprocess.run([compiler, "-x", "c++", "-std=c++17", str(source), "-o", str(folder / "repro" / "run"), "-ldl"], capture_output=True, text=True)
    expect("the reproducer compiles", built.returncode == 0, built.stderr[:2000])
    ran = subprocess.run([str(folder / "repro" / "run"), "500"], env=environment, capture_output=True, text=True)
    text = ran.stdout
    expect("the reproducer's wrong form", re.search(r"without delays: 0 wrong and 0 hangs in 500 runs", text), text + ran.stderr)
    found = re.search(r"with delays: (\d+) wrong and 0 hangs in 500 runs the final condition does not hold", text)
    expect("the reproducer shows the fault", found and int(found[1]) > 100, text)
    expect("the reproducer's fixed form", text.count(": 0 wrong and 0 hangs in 5000 runs") == 2, text)


def corpus_assembles(checker, nvcc, toolkit, environment, folder):
    """Checks that ptxas accepts the rewritten PTX of entries in the corpus and of a PyTorch program's kernels, and that the
    verdicts on the rewritten PTX are unchanged."""
    ptxas = pathlib.Path(toolkit).resolve().parent / "ptxas"
    entries = [*((BUGS, name) for name in ("look_back", "leader_scalar", "table_before_wait")), (ROOT / "tests" / "record", "dependent_kernels")]
    for where, name in entries:
        done = subprocess.run([checker, "witness", f"{name}.wrong.scenario", "--fixed", f"{name}.fixed.scenario", "--runs=1", "--format=json",
                               "--reproducer", str(folder / name)], cwd=where, env={**environment, "FAKE_DEVICES": "0", "CUDACXX": nvcc},
                              capture_output=True, text=True)
        result = json.loads(done.stdout)
        for form, status in (("wrong", "race"), ("fixed", "verified")):
            expect(f"{name} {form} without delays", result[form]["rewritten_without_delays"] == result[form]["status"] == status, result[form])
        texts = re.findall(r'R"membar_ptx\((.*?)\)membar_ptx"', (folder / name / "witness.cu").read_text(), re.S)
        expect(f"{name} has two forms", len(texts) == 2, len(texts))
        for text in texts:
            (folder / "x.ptx").write_text(text)
            assembled = subprocess.run([str(ptxas), "-arch=sm_90", "x.ptx", "-o", "x.cubin"], cwd=folder, capture_output=True, text=True)
            expect(f"{name} assembles", assembled.returncode == 0, assembled.stderr[:1000])


def main():
    checker, driver, compiler = (str(pathlib.Path(p).resolve()) if "/" in p else p for p in sys.argv[1:4])
    environment = {**os.environ, "LD_LIBRARY_PATH": driver + ":" + os.environ.get("LD_LIBRARY_PATH", "")}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "k.ptx").write_text(HEAD + "".join(LOSES.replace("NAME", n) for n in KERNELS) + FINE + RACY + FOLLOWS + STAGES)
        (folder / "v.ptx").write_text(HEAD + ".global .u32 count;\n" + LOSES.replace("NAME", "calm").replace("ret;", "st.global.u32 [count], 0;\nret;"))
        for name in [*KERNELS, "fine"]:
            (folder / f"{name}.scenario").write_text(f"source k.ptx\nmemory x u32\nlaunch {name} grid 2 args x\nfinal x == 2\n")
        (folder / "stages.scenario").write_text("source k.ptx\nmemory x u32\nlaunch stages grid 2 shared 16384 args x\nfinal x == 2\n")
        (folder / "racy.scenario").write_text("source k.ptx\nmemory x u32[3]\nlaunch racy grid 2 args x\n")
        (folder / "follows.scenario").write_text("source k.ptx\nmemory x u32\nmemory table u64 = x\nlaunch follows grid 2 args table\nfinal x == 2\n")
        (folder / "variable.scenario").write_text("source v.ptx\nmemory x u32\nlaunch calm grid 2 args x\nfinal x == 2\n")
        first, dependent = "launch wrong grid 2 stream s args x\n", "launch hangs stream s dependent args x\n"
        for name, launches in (("late", first + "launch calm stream t after s args x\n" + dependent),
                               ("behind", first + dependent + "launch calm stream t after s args x\n"),
                               ("both", first + "launch calm stream t args x\n" + dependent.replace("dependent", "after t dependent")),
                               ("chain", "launch calm stream t args x\n" + first.replace(" args", " after t args") + dependent.replace("dependent", "after t dependent"))):
            (folder / f"{name}.scenario").write_text("source k.ptx\nmemory x u32\n" + launches + "final x == 1\n")
        (folder / "host.scenario").write_text("source k.ptx\nmemory x u32\nlaunch wrong grid 2 args x\nhost h { load x }\nfinal x == 2\n")

        def run(*words, **more):
            done = subprocess.run([checker, "witness", *words], cwd=folder, env={**environment, **more}, capture_output=True, text=True)
            return done.returncode, done.stdout, done.stderr

        code, out, err = run("wrong.scenario", "--fixed", "fine.scenario", "--runs=2000", "--format=json")
        expect("observed", code == 1, (code, out, err))
        result = json.loads(out)
        expect("status", (result["status"], result["device"], result["driver"]) == ("observed", "Fake GPU", 13000), out)
        control, delays = result["wrong"]["runs"]
        expect("no delays, no fault", (control["kind"], control["runs"], control["wrong"]) == ("no delays", 2000, 0), control)
        expect("delays show the fault", delays["kind"] == "delays" and delays["runs"] == 2000 and 0 < delays["wrong"] < 2000, delays)
        expect("the smallest delay", SMALLEST <= sum(d[3] for d in delays["smallest"]) < 1.2 * SMALLEST, delays)
        expect("in nanoseconds", abs(delays["smallest_ns"] - sum(d[3] for d in delays["smallest"])) < 1, delays)
        expect("the fault is repeated", delays["repeated"] == delays["repeated_wrong"] == 1000, delays)
        expect("copies", [result[f]["copies"] for f in ("wrong", "fixed")] == [COPIES, COPIES], out)
        expect("no run is left out", [a["stopped"] for a in result["wrong"]["runs"]] == ["", ""], out)
        expect("the fixed form", [a["runs"] for a in result["fixed"]["runs"]] == [20000, 20000] and not any(a["wrong"] for a in result["fixed"]["runs"]), out)
        expect("the rewritten PTX without delays has the same verdict", result["wrong"]["rewritten_without_delays"] == "violated", out)
        expect("a second run reports the same", run("wrong.scenario", "--fixed", "fine.scenario", "--runs=2000", "--format=json")[1] == out, "another result")

        code, out, err = run("wrong.scenario", "--runs=300", "--seed=2")
        for words in ("wrong.scenario\tobserved\tviolated: ", "Fake GPU, driver 13.0", "no delays: 0 wrong in 300 runs", "the smallest delays that reproduced the finding"):
            expect("the text", words in out, out)
        expect("a delay's place is reported", re.search(r"\d+ ns in launch 0, block [01], thread 0, (before (ld|st)\.relaxed|at the beginning)", out), out)

        code, out, err = run("hangs.scenario", "--runs=3000", "--format=json")
        arm = json.loads(out)["wrong"]["runs"][1]
        expect("hangs are counted", code == 1 and 50 <= arm["hangs"] < arm["runs"] < 3000, (code, out, err))
        expect("too many hangs end the runs", re.fullmatch("threads hung in 5[01] launches", arm["stopped"]), arm)
        code, out, err = run("follows.scenario", "--runs=300", "--format=json")
        control, delays = json.loads(out)["wrong"]["runs"]
        expect("addresses in memory are those of the copy", control["wrong"] == 0 and 0 < delays["wrong"] < 300, (code, out, err))
        code, out, err = run("stages.scenario", "--runs=300")
        expect("static and dynamic shared memory", code == 3 and "not observed in 600 runs" in out, (code, out, err))
        code, out, err = run("variable.scenario", "--runs=300")
        expect("variables are in one copy", code == 3 and "not observed in 600 runs" in out
               and "each launch performs only one run, which is slow, because all copies would use the variable count" in out, (code, out, err))
        code, out, err = run("calm.scenario", "--runs=1000000000", "--seconds=0.2")
        expect("time ends the runs", code == 3 and "runs, stopped early: the time limit was reached" in out, (code, out, err))
        code, out, err = run("faults.scenario", "--runs=300")
        expect("a fault ends the runs", code == 1 and "terminated by a launch: CUDA_ERROR_ILLEGAL_ADDRESS" in out, (code, out, err))
        code, out, err = run("faults.scenario", "--runs=300", FAKE_NO_LAUNCH="1")
        expect("a launch that does not start is no fault of the kernel", code == 2 and "faults.scenario\terror\t" in out and
               "the driver did not start a launch of faults: CUDA_ERROR_INVALID_VALUE" in out, (code, out, err))
        code, out, err = run("stuck.scenario", "--runs=300", "--seconds=0.5", "--patience=0.5")
        expect("a kernel that does not end", code == 1 and "stuck.scenario\tobserved" in out and "did not end within 1 s, so their process was terminated" in out, (code, out, err))
        code, out, err = run("racy.scenario", "--runs=2000")
        expect("the early load is reported", code == 1 and "read 0 instead of 7" in out and "early load" in out, (code, out, err))

        code, out, err = run("calm.scenario", "--runs=200")
        expect("not observed", code == 3 and "not observed in 400 runs, but the model allows it" in out, (code, out, err))
        code, out, err = run("fine.scenario")
        expect("nothing to witness", code == 0 and "fine.scenario\tverified\tthere is nothing to witness" in out, (code, out, err))
        code, out, err = run("wrong.scenario", FAKE_DEVICES="0")
        expect("no GPU", code == 4 and "no GPU: the CUDA driver finds no device" in out, (code, out, err))
        code, out, err = run("host.scenario")
        expect("host threads", code == 2 and "host.scenario: 4:1: witness launches kernels on one GPU, and does not support host threads" in err, (code, out, err))
        code, out, err = run("late.scenario")
        expect("a dependent launch below", code == 2 and "witness: the launch of 'calm' comes after the launch of 'wrong', whose dependent launch of 'hangs' is below both: move" in err,
               (code, out, err))
        code, out, err = run("both.scenario")
        expect("a dependent launch after another launch", code == 2 and "witness: the launch of 'hangs' comes after the launch of 'calm' and depends on a third launch" in err,
               (code, out, err))
        for name in ("behind", "chain"):
            code, out, err = run(f"{name}.scenario", "--runs=300")
            expect("dependent launches in order", code in (1, 3), (name, code, out, err))
        code, out, err = run()
        expect("no file", code == 2 and "witness needs a scenario" in err, (code, out, err))

        reproducer_runs(folder, compiler, environment, checker)
        if len(sys.argv) > 5:
            corpus_assembles(checker, sys.argv[4], sys.argv[5], environment, folder)
    for w in wrong:
        print(w)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
