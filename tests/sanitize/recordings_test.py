#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Sanitizes the recordings in tests/record/recordings. The launches have no fault, except for the launches of the kernel that is named
after its fault.

usage: recordings_test.py <membar-check>
"""

import json
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "record/recordings"
FOUND = {"flag_without_fence_1": ["race"]}
LARGE = {"next_round_1"}  # Launches with 262,144 threads or more, executed in one schedule.


def sanitized(files, *options):
    done = subprocess.run([sys.argv[1], "sanitize", *options, "--format=json", *map(str, files)], capture_output=True, text=True)
    return json.loads(done.stdout)["files"]


def main():
    files = sorted(FOLDER.glob("*.scenario"))
    small = [f for f in files if f.stem not in LARGE]
    wrong = [] if len(small) == len(files) - len(LARGE) > 0 else [f"not all recordings are in {FOLDER}"]
    for f in sanitized(small, "--schedules=4", "--confirm") + sanitized([f for f in files if f not in small], "--schedules=1"):
        name = pathlib.Path(f["file"]).stem
        findings = f.get("findings", [{"status": f["status"], "confirmed": f.get("message", "")}])
        if [x["status"] for x in findings] != FOUND.get(name, []) or not all(x["confirmed"].startswith("confirmed") for x in findings):
            wrong.append(f"{name}: {f['status']}: {findings}")
    print("\n".join(wrong) if wrong else f"{len(files)} recordings are as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
