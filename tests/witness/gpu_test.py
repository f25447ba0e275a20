#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On a GPU, witness shows faults of the bug corpus that need no luck of the caches, and nothing in the fixed forms.

usage: gpu_test.py <membar-check>

`shared_semaphore` has two launches, `table_before_wait` a dependent launch that follows a pointer in memory, and `counted_chunks` blocks that wait for each
other: all go wrong in an order of their threads that delays make the machine take. No other entry is expected to be seen: the model allows it, and a machine
need not show it. A launch has many copies of each grid, in memory of their own, and in the fixed form the copies do not disturb each other. `late_block` is a
program with its own test, whose kernel is delayed where it runs.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

BUGS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "bugs"
ENTRIES = ("shared_semaphore", "table_before_wait", "counted_chunks")
RUNS = 20_000


def shows(checker, entry):
    done = subprocess.run([checker, "witness", f"{entry}.wrong.scenario", "--fixed", f"{entry}.fixed.scenario", "--format=json", f"--runs={RUNS}"],
                          cwd=BUGS, capture_output=True, text=True)
    print(done.stdout, done.stderr)
    if done.returncode == 4:
        return None
    result = json.loads(done.stdout)
    fixed = result["fixed"]["runs"]
    return (done.returncode == 1 and result["status"] == "observed" and all(result[form]["copies"] > 100 for form in ("wrong", "fixed"))
            and any(a["kind"] == "delays" and a["wrong"] > 0 for a in result["wrong"]["runs"])
            and all(a["runs"] == 10 * RUNS and a["wrong"] + a["hangs"] == 0 and not a["fault"] for a in fixed))


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
    shown = [shows(checker, entry) for entry in ENTRIES]
    if None in shown:
        return 77
    shown.append(shows_in_program(checker))
    print(dict(zip((*ENTRIES, "late_block"), shown)))
    return 0 if all(shown) else 1


if __name__ == "__main__":
    sys.exit(main())
