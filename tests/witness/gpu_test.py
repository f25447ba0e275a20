#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks on a GPU that witness and its reproducers show the bug-corpus faults that do not depend on the caches' state, and no
fault in the fixed versions.

usage: gpu_test.py <membar-check>

`shared_semaphore` has two launches, `table_before_wait` has a dependent launch that follows a pointer in memory, and `counted_chunks` has
blocks that wait for each other. All of them fail in a thread order that delays can force. The test does not require the other bugs to show,
because the model allows their outcomes but hardware need not show them. `dependent_kernels` are the kernels from the PyTorch program in the
test of membar-check record: the second kernel reads before it waits for the first kernel, which takes a long time. A launch has many copies
of each grid, each in its own memory; in the fixed version, the copies do not interfere with each other. `late_block` is a program with its
own test, whose kernel is delayed where it runs. Reproducers are compiled with the command that they name, in an otherwise empty folder.
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUGS = ROOT / "examples" / "bugs"
ENTRIES = {"shared_semaphore": BUGS, "table_before_wait": BUGS, "counted_chunks": BUGS, "dependent_kernels": ROOT / "tests" / "record"}
RUNS = 20_000


REPRODUCED = ("shared_semaphore", "dependent_kernels")


def shows(checker, entry, reproducer):
    done = subprocess.run([checker, "witness", f"{entry}.wrong.scenario", "--fixed", f"{entry}.fixed.scenario", "--format=json", f"--runs={RUNS}",
                           "--reproducer", str(reproducer)], cwd=ENTRIES[entry], capture_output=True, text=True)
    print(done.stdout, done.stderr)
    if done.returncode == 4:
        return None
    result = json.loads(done.stdout)
    fixed = result["fixed"]["runs"]
    return (done.returncode == 1 and result["status"] == "observed" and all(result[form]["copies"] > 100 for form in ("wrong", "fixed"))
            and any(a["kind"] == "delays" and a["wrong"] > 0 for a in result["wrong"]["runs"])
            and all(a["runs"] == 10 * RUNS and a["wrong"] + a["hangs"] == 0 and not a["fault"] for a in fixed))


def reproduces(folder):
    """Checks that the reproducer compiles with the single command that its file names, and that it shows the fault."""
    command = re.search(r"^// (nvcc .*) && ", (folder / "witness.cu").read_text(), re.M)[1]
    words = [os.environ.get("CUDACXX", "nvcc"), *command.split()[1:]]
    built = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    print(command, built.stdout, built.stderr)
    if built.returncode != 0:
        return False
    done = subprocess.run(["./witness"], cwd=folder, capture_output=True, text=True, timeout=100)
    print(done.stdout, done.stderr)
    bad = [sum(map(int, numbers)) for numbers in re.findall(r"with(?:out)? delays: (\d+) wrong and (\d+) hangs in \d+ runs", done.stdout)]
    return done.returncode == 0 and len(bad) == 4 and bad[0] + bad[1] > 0 and bad[2] + bad[3] == 0


def shows_in_program(checker):
    here = pathlib.Path(__file__).resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder) / "late_block"
        subprocess.run([os.environ.get("CUDACXX", "nvcc"), "-std=c++17", "-arch=sm_90", str(here / "late_block.cu"), "-o", str(program)], check=True)
        done = subprocess.run([checker, "witness", "late_block.scenario", "--runs=30", "--format=json", "--", str(program)], cwd=here, capture_output=True, text=True)
    print(done.stdout, done.stderr)
    control, delayed = json.loads(done.stdout)["runs"]
    return done.returncode == 1 and control["failed"] < delayed["failed"]


def main():
    checker = str(pathlib.Path(sys.argv[1]).resolve())
    with tempfile.TemporaryDirectory() as folder:
        reproducers = {entry: pathlib.Path(folder) / entry for entry in ENTRIES}
        shown = {entry: shows(checker, entry, reproducers[entry]) for entry in ENTRIES}
        if None in shown.values():
            return 77
        shown.update({f"reproducer of {entry}": reproduces(reproducers[entry]) for entry in REPRODUCED})
    shown["late_block"] = shows_in_program(checker)
    print(shown)
    return 0 if all(shown.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
