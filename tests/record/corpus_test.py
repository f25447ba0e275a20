#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Launches the bug corpus from a program and records it. The recorded scenarios must lead to the same findings as the
handwritten scenarios.

usage: corpus_test.py <membar-check> <nvcc> [<folder of the fake driver>]

Without the folder, the program runs on the GPU, and kernels that hang are killed.
"""

import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile

CHECK, NVCC = sys.argv[1:3]
DRIVER = sys.argv[3] if len(sys.argv) > 3 else None
ROOT = pathlib.Path(__file__).resolve().parents[2]
BUGS = ROOT / "examples" / "bugs"
# Bugs that only a final condition reveals; programs do not contain such conditions.
BY_CONDITION = {"shared_semaphore", "warp_in_step"}


def statuses(paths):
    done = subprocess.run([CHECK, "--quiet", *paths], capture_output=True, text=True, timeout=300, env=dict(os.environ, CUDACXX=NVCC))
    return [line.split("\t")[1] for line in done.stdout.splitlines()]


def compiled(scenario, to):
    words = next(line.split() for line in scenario.read_text().splitlines() if line.startswith("source"))
    subprocess.run([NVCC, "-std=c++20", "-ptx", "-arch=sm_90", "-lineinfo", "-o", to, *words[1:]], check=True, cwd=BUGS, timeout=300)


def compare(scenario, folder):
    """Returns the statuses of the handwritten and the recorded scenarios."""
    name = scenario.name.removesuffix(".wrong.scenario")
    ptx, recording = folder / f"{name}.ptx", folder / name
    compiled(scenario, ptx)
    with_ptx = folder / f"{name}.scenario"
    with_ptx.write_text("\n".join(f"source {ptx.name}" if line.startswith("source") else line for line in scenario.read_text().splitlines()))
    by_hand = statuses([with_ptx])[0]
    environment = dict(os.environ, TMPDIR=str(folder))
    if DRIVER:
        environment |= {"LD_LIBRARY_PATH": DRIVER, "FAKE_DRIVER_PARAMETERS": str(folder / f"{name}.parameters")}
    try:
        subprocess.run([CHECK, "record", "--all", f"--output={recording}", "--", sys.executable, "-S", ROOT / "tests/record/replay.py", with_ptx, ptx],
                       capture_output=True, timeout=60, env=environment)
    except subprocess.TimeoutExpired:
        pass
    recorded = sorted(recording.glob("*.scenario")) if recording.exists() else []
    return name, by_hand, statuses(recorded) if recorded else ["nothing was recorded"]


def main():
    scenarios = sorted(BUGS.glob("*.wrong.scenario"))
    wrong, same = [], 0
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for bug, by_hand, recorded in pool.map(lambda each: compare(each, pathlib.Path(name)), scenarios):
            is_same = by_hand in recorded
            same += is_same
            if not is_same and bug not in BY_CONDITION:
                wrong.append(bug)
            print(f"{bug}: {by_hand} with the handwritten scenario, {', '.join(recorded)} with the recorded one")
    print(f"{same} of {len(scenarios)} bugs are found with the recorded scenarios; wrong: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
