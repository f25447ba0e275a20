#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests what membar-check witness reports about a program whose kernels it delays, with a fake driver: the program fails with delays of
5,000 cycles or more.

usage: program_test.py <membar-check> <folder of the fake driver> <program> [<nvcc>]
"""

import json
import os
import pathlib
import re
import select
import signal
import subprocess
import sys
import tempfile

from witness_test import HEAD, LOSES, SMALLEST

CHECK, DRIVER, PROGRAM = (str(pathlib.Path(p).resolve()) for p in sys.argv[1:4])
OTHER = ".visible .entry other()\n{\nret;\n}\n"

wrong = []


def expect(what, condition, got):
    if not condition:
        wrong.append(f"{what}: {got}")


def cycles_of(smallest):
    return sum(int(re.match(r"(\d+) cycles", place)[1]) for place in smallest)


def assembles(folder, nvcc, environment):
    """Checks that ptxas accepts the PTX that the program loads, which a wrapper around the program saves."""
    ptxas = pathlib.Path(nvcc).resolve().parent / "ptxas"
    request = folder / "request.json"
    request.write_text(json.dumps({"limit": 1000, "report": str(folder / "report"), "kernels": [
        {"name": "wrong", "actors": [0, 1 << 32], "cycles": [[0, 7000], [0, 0, 9]], "preferred": [8], "split_warp": False}]}))
    preload = pathlib.Path(CHECK).with_name("libmembar_record.so")
    ran = subprocess.run([PROGRAM, "k.ptx"], cwd=folder, capture_output=True, text=True,
                         env={**environment, "LD_PRELOAD": str(preload), "MEMBAR_WITNESS_DELAYS": str(request), "FAKE_MODULE": str(folder / "loaded.ptx")})
    expect("the delays are in the module", ran.returncode == 7, (ran.returncode, ran.stderr))
    sites = json.loads((folder / "report").read_text())["sites"]
    expect("its sites", [opcode for _, opcode in sites] == ["begin", "ld.relaxed.gpu.global.u32", "st.relaxed.gpu.global.u32"], sites)
    assembled = subprocess.run([str(ptxas), "-arch=sm_90", "loaded.ptx", "-o", "x.cubin"], cwd=folder, capture_output=True, text=True)
    expect("it assembles", assembled.returncode == 0, assembled.stderr[:1000])


def ends(pipe):
    """Waits up to 20 s for all processes that hold the pipe open to end. Returns whether they have ended."""
    while select.select([pipe], [], [], 20)[0]:
        if os.read(pipe, 4096) == b"":
            return True
    return False


def processes(folder, environment, run):
    """Tests that all of the program's processes are terminated, and what they inherit."""
    pipe = folder / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    writer = os.open(pipe, os.O_WRONLY)  # Until the program opens the pipe, a pipe without a writer would look like an end of file.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        temporary = folder / f"temporary{number}"
        temporary.mkdir()
        command = [CHECK, "witness", "k.scenario", "--", "sh", "-c", "exec 3>pipe; sleep 1000 & echo started >&3; wait"]
        started = subprocess.Popen(command, cwd=folder, env={**environment, "TMPDIR": str(temporary)}, start_new_session=True)
        expect("it starts", bool(select.select([reader], [], [], 60)[0]) and os.read(reader, 7) == b"started", number)
        os.close(writer)
        started.send_signal(number)
        expect("the signal ends the group", ends(reader), number)
        expect("the signal ends the command", started.wait() == -number, (number, started.returncode))
        expect("its files are removed", not list(temporary.iterdir()), number)
        writer = os.open(pipe, os.O_WRONLY)
    code, out, err = run("exec 3>pipe; sleep 1000 & exec \"$0\" k.ptx", options=("--runs=1", "--seed=6"))
    os.close(writer)
    expect("processes that the program left running are ended", code == 3 and ends(reader), (code, out, err))
    os.close(reader)
    code, out, err = run('for f in 3 4 5 6 7 8 9; do [ ! -e /proc/$$/fd/$f ] || exit 9; done; exec "$0" k.ptx', options=("--runs=1", "--seed=6"))
    expect("no descriptors are inherited", code == 3, (code, out, err))
    code, out, err = run('"$0" k.ptx; s=$?; [ -z "$MEMBAR_WITNESS_DELAYS" ] || printf \'{"kern\' >>"${MEMBAR_WITNESS_DELAYS%/*}/report"; exit $s',
                         options=("--runs=1", "--seed=6"))
    expect("a line that was cut off is skipped", code == 3, (code, out, err))


def main():
    environment = {**os.environ, "LD_LIBRARY_PATH": DRIVER + ":" + os.environ.get("LD_LIBRARY_PATH", "")}
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "k.ptx").write_text(HEAD + OTHER + LOSES.replace("NAME", "wrong"))
        (folder / "alone.ptx").write_text(HEAD + LOSES.replace("NAME", "wrong"))
        for source in ("k", "alone"):
            (folder / f"{source}.scenario").write_text(f"source {source}.ptx\nmemory x u32\nlaunch wrong grid 2 args x\nfinal x == 2\n")

        def run(*words, scenario="k.scenario", options=("--runs=20",), program=(PROGRAM, "k.ptx"), before=None, more=None):
            done = subprocess.run([CHECK, "witness", scenario, *options, "--", *program, *words], cwd=folder, env={**environment, **(more or {})},
                                  capture_output=True, text=True, preexec_fn=before)
            return done.returncode, done.stdout, done.stderr

        for words, scenario in (((), "k.scenario"), (("file",), "k.scenario"), ((), "alone.scenario")):
            code, out, err = run(*words, scenario=scenario, options=("--runs=20", "--format=json"))
            expect("observed", code == 1, (words, code, out, err))
            result = json.loads(out)
            control, delays = result["runs"]
            expect("status", (result["status"], result["program"]) == ("observed", [PROGRAM, "k.ptx", *words]), out)
            expect("without delays", (control["kind"], control["runs"], control["failed"]) == ("no delays", 20, 0), control)
            expect("with delays", delays["runs"] == 20 and 0 < delays["failed"] < 20, delays)
            expect("the program's message", delays["example"] == "exit status 7: the sum is 1, and not 2", delays)
            expect("the smallest delays are reported", cycles_of(delays["smallest"]) >= SMALLEST, delays)
            expect("the places of the delays", all(re.search(r" cycles in wrong, block [01], thread 0, (at the beginning of the kernel$|before (ld|st)\.relaxed\.gpu\.global\.u32 in line (7|9) )",
                                                 place) for place in delays["smallest"]), delays)
            expect("the delays are repeated", delays["repeated"] == delays["repeated_failed"] == 5, delays)
            expect("a second run reports the same", run(*words, scenario=scenario, options=("--runs=20", "--format=json"))[1] == out, "another result")

        code, out, err = run()
        for words in ("k.scenario\tobserved\tviolated: ", "no delays: 0 of 20 runs failed", "runs failed; exit status 7: the sum is 1, and not 2", "5 of 5 runs with"):
            expect("the text", words in out, out)
        code, out, err = run("fails", options=("--runs=1",))
        expect("a program that fails without delays", code == 2 and "the program fails in all 3 runs without delays and without the preloaded library: "
               "exit status 7: the sum is 2, and not 2; witness needs a program" in err, (code, out, err))
        last_passes = 'echo run >>runs; [ $(grep -c . runs) -ge 3 ] || exit 5; exec "$0" k.ptx'
        code, out, err = run(options=("--runs=1", "--seed=6"), program=("sh", "-c", last_passes, PROGRAM))
        expect("a program that passes in one of three runs without delays", code == 3, (code, out, err))
        preloaded_fails = ("sh", "-c", '"$0" k.ptx; [ -z "$MEMBAR_WITNESS_DELAYS" ]', PROGRAM)
        code, out, err = run(options=("--runs=1",), program=preloaded_fails)
        expect("a program that fails with and without delays", code == 3 and "k.scenario\tnot observed\t" in out and
               "note: the program also fails without delays, at least as often, so the delays do not cause its failures" in out and
               "note: the program passed without the preloaded library, but each run with delays of zero failed" in out, (code, out, err))
        again = run(options=("--runs=1",), program=preloaded_fails, before=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
        expect("the same report if SIGCHLD is ignored", again == (code, out, err), again)
        code, out, err = run("sleeps", options=("--runs=8", "--patience=0.15"))
        expect("a program that does not end", code == 1 and "it did not end within 0.15 s" in out, (code, out, err))
        code, out, err = run(options=("--runs=1", "--seed=6"))
        expect("not observed", code == 3 and "k.scenario\tnot observed\t" in out and "the program did not fail in 1 runs with delays" in out, (code, out, err))
        code, out, err = run("other")
        expect("a module without the kernel", code == 2 and "the program loaded no PTX that defines wrong: build it so that it keeps PTX" in err, (code, out, err))
        code, out, err = run(program=("/no/such/program",))
        expect("a program that does not exist", code == 2 and "'/no/such/program' could not be started: give its path after --" in err, (code, out, err))
        code, out, err = run(program=())
        expect("no program after --", code == 2 and "there is no program after --" in err, (code, out, err))
        code, out, err = run(options=("--fixed", "k.scenario"))
        expect("--fixed with a program", code == 2 and "--fixed and --reproducer cannot be used with a program" in err, (code, out, err))
        loaded = folder / "loaded"
        for words in ((), ("file",)):
            code, out, err = run(*words, more={"FAKE_NO_DELAYS": "1", "FAKE_MODULE": str(loaded)})
            expect("the driver could not load the delays", code == 2 and "no kernel can be delayed: the driver could not load wrong with delays added (CUDA error 218), so the program's own code ran" in err, (words, code, out, err))
            expect("the program's own code", loaded.read_text() == (folder / "k.ptx").read_text(), loaded.read_text())
            loaded.unlink()
        processes(folder, environment, lambda script, **how: run(program=("sh", "-c", script, PROGRAM), **how))
        if len(sys.argv) > 4:
            assembles(folder, sys.argv[4], environment)
    for w in wrong:
        print(w)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
