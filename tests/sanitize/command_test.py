#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests what membar-check sanitize writes: text, JSON, SARIF, suppressions, statuses.

usage: command_test.py <membar-check>
"""

import json
import pathlib
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
        expect("confirmed", code == 1 and "    confirmed: membar-check also finds it in this schedule" in out, out)
        (folder / "large.scenario").write_text("source k.ptx\nmemory x u32\nlaunch racy grid 256 block 256 args x\n")
        code, out, _ = run("--confirm", "--schedules=1", "large.scenario")
        expect("too large to be confirmed", code == 1 and "    not confirmed: the launches have 65536 threads, and the checker replays at most 4096: make the grid or the block smaller\n" in out, out)
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
        (folder / "stuck.scenario").write_text("source k.ptx\nmemory x u32[2]\nlaunch polls block 2 args x\n")
        code, out, _ = run("--schedules=1", "--confirm", "stuck.scenario")
        expect("threads that poll together forever", code == 1 and "stuck.scenario\thang\t" in out and "waits at" in out and "    confirmed" in out, out)
        code, out, _ = run("--limit=10", "fine.scenario")
        expect("a schedule that is cut off is not clean", code == 3 and "gave up" in out, out)
        for words in ([], ["--schedules=0", "fine.scenario"], ["--format=xml", "fine.scenario"], ["--wrong", "fine.scenario"]):
            code, _, err = run(*words)
            expect(f"{words} is an error", code == 2 and err.startswith("membar-check:"), err)
    print("\n".join(wrong) if wrong else "as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
