#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""On a GPU, witness shows a fault of the bug corpus that needs no luck of the caches, and nothing in the fixed form.

usage: gpu_test.py <membar-check>

`shared_semaphore` goes wrong in an order of its threads that the machine takes by itself, so that delays have to show it. No other entry is expected to
be seen: the model allows it, and a machine need not show it.
"""

import json
import pathlib
import subprocess
import sys

BUGS = pathlib.Path(__file__).resolve().parents[2] / "examples" / "bugs"
ENTRY = "shared_semaphore"


def main():
    checker = str(pathlib.Path(sys.argv[1]).resolve())
    done = subprocess.run([checker, "witness", f"{ENTRY}.wrong.scenario", "--fixed", f"{ENTRY}.fixed.scenario", "--format=json", "--runs=20000"],
                          cwd=BUGS, capture_output=True, text=True)
    print(done.stdout, done.stderr)
    if done.returncode == 4:
        return 77
    result = json.loads(done.stdout)
    fixed = [a for a in result["fixed"]["runs"]]
    right = done.returncode == 1 and result["status"] == "observed" and fixed and all(
        a["runs"] > 0 and a["wrong"] + a["hangs"] == 0 and not a["fault"] for a in fixed)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
