#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sanitizes the recordings of tests/record/recordings: what they launch has no fault, but for the kernel that is named for it.

usage: recordings_test.py <membar-check>
"""

import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "record/recordings"
FOUND = {"flag_without_fence_1": ["race"]}


def main():
    files = sorted(FOLDER.glob("*.scenario"))
    done = subprocess.run([sys.argv[1], "sanitize", "--schedules=4", "--confirm", "--format=json", *map(str, files)], capture_output=True, text=True)
    wrong = [] if files else [f"no recordings in {FOLDER}"]
    for f in json.loads(done.stdout)["files"]:
        name = pathlib.Path(f["file"]).stem
        findings = f.get("findings", [{"status": f["status"], "confirmed": f.get("message", "")}])
        if [x["status"] for x in findings] != FOUND.get(name, []) or not all(x["confirmed"].startswith("confirmed") for x in findings):
            wrong.append(f"{name}: {f['status']}: {findings}")
    print("\n".join(wrong) if wrong else f"{len(files)} recordings are as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
