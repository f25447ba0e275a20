#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures how much time membar-check record adds to a launch that is not selected, using a driver that does nothing.

usage: record_cost.py <membar-check> <record_program> <folder of the fake driver> [TIMES]

The program in tests/record launches a kernel without synchronization. It runs alternately with and without the recorder's
library, TIMES times each (default 11).
"""

import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

CHECK, PROGRAM, DRIVER = (pathlib.Path(word).resolve() for word in sys.argv[1:4])
TIMES = int(sys.argv[4]) if len(sys.argv) > 4 else 11
MODULE = pathlib.Path(__file__).resolve().parents[2] / "tests" / "record" / "module.ptx"


def nanoseconds(folder, preloaded):
    environment = dict(os.environ, LD_LIBRARY_PATH=str(DRIVER), FAKE_DRIVER_BARE="1")
    if preloaded:
        environment.update(LD_PRELOAD=str(CHECK.with_name("libmembar_record.so")), MEMBAR_RECORD_FOLDER=folder)
    said = subprocess.run([PROGRAM, MODULE, "cost"], env=environment, capture_output=True, text=True, check=True, timeout=120).stdout
    return float(said.split()[0])


def main():
    times = {False: [], True: []}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(TIMES):
            for preloaded in times:
                times[preloaded].append(nanoseconds(folder, preloaded))
    without, with_it = (statistics.median(times[preloaded]) for preloaded in (False, True))
    more = [b - a for a, b in zip(times[False], times[True])]
    print(f"a launch without the library: {without:.1f} ns; with it: {with_it:.1f} ns; difference: {statistics.median(more):.1f} ns (from "
          f"{min(more):.1f} to {max(more):.1f})")


if __name__ == "__main__":
    main()
