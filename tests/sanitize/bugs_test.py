#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the sanitizer finds at least 30 of the 32 wrong kernels in examples/bugs within ten schedules, and that it reports nothing
for the fixed kernels or for the verified scenarios in CLEAN.

usage: bugs_test.py <membar-check>
"""

import pathlib
import subprocess
import sys

BUGS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "bugs"
SCENARIOS = BUGS.parents[1] / "tests" / "check" / "scenarios"
LEAST, SCHEDULES = 30, 10
# Verified scenarios in SCENARIOS with matrix operations, with barriers for only some of the warps, and with copies.
CLEAN = ["tensor_pipeline", "named_barriers", "bulk_pipeline"]


def statuses(checker, files, folder=BUGS):
    done = subprocess.run([checker, "sanitize", "--quiet", f"--schedules={SCHEDULES}", *files], cwd=folder, capture_output=True, text=True)
    return {line.split("\t")[0]: line.split("\t")[1] for line in done.stdout.splitlines() if "\t" in line}


def main():
    checker = str(pathlib.Path(sys.argv[1]).resolve())
    wrong, fixed = (statuses(checker, sorted(p.name for p in BUGS.glob(f"*.{kind}.scenario"))) for kind in ("wrong", "fixed"))
    verified = statuses(checker, [f"{name}.scenario" for name in CLEAN], SCENARIOS)
    found = [f for f, s in wrong.items() if s in ("race", "hang", "violated", "undefined", "out of bounds", "uninitialised")]
    alarms = {f: s for f, s in {**fixed, **verified}.items() if s != f"clean in {SCHEDULES} schedules"}
    print(f"{len(found)} of {len(wrong)} wrong kernels found; not found: {sorted(set(wrong) - set(found))}")
    print(f"{len(alarms)} of {len(fixed) + len(verified)} correct kernels reported: {alarms}")
    return 0 if len(wrong) == len(fixed) == 32 and len(verified) == len(CLEAN) and len(found) >= LEAST and not alarms else 1


if __name__ == "__main__":
    sys.exit(main())
