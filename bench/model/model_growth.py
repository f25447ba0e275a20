#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws how the model's time and candidates grow with events and threads.

usage: model_growth.py RESULT.json FOLDER

RESULT.json is what `model_throughput --benchmark_out=RESULT.json` has written. FOLDER gets growth.json (the numbers, without
what identifies the machine) and growth.png. Needs matplotlib.
"""

import json
import pathlib
import re
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402

NAME = re.compile(r"every_candidate/threads:(\d+)/accesses:(\d+)/locations:(\d+)$")
UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
KEPT_CONTEXT = ("date", "num_cpus", "mhz_per_cpu", "library_build_type")


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    result = json.loads(pathlib.Path(sys.argv[1]).read_text())
    folder = pathlib.Path(sys.argv[2])
    result["context"] = {key: result["context"][key] for key in KEPT_CONTEXT if key in result["context"]}
    (folder / "growth.json").write_text(json.dumps(result, indent=2) + "\n")

    series = {}
    for one in result["benchmarks"]:
        match = NAME.match(one["name"])
        if not match:
            continue
        threads, accesses, _ = map(int, match.groups())
        seconds = one["cpu_time"] * UNITS[one["time_unit"]]
        tests = one["tests/s"] * seconds
        series.setdefault(threads, []).append((threads * accesses, seconds / tests, one["candidates/s"] * seconds / tests))

    figure, (time, candidates) = plt.subplots(1, 2, figsize=(10, 4))
    for threads, points in sorted(series.items()):
        points.sort()
        events = [p[0] for p in points]
        time.plot(events, [p[1] for p in points], marker="o", label=f"{threads} threads")
        candidates.plot(events, [p[2] for p in points], marker="o", label=f"{threads} threads")
    time.set_ylabel("seconds per program, one core")
    candidates.set_ylabel("candidate executions per program")
    for axis in (time, candidates):
        axis.set_yscale("log")
        axis.set_xlabel("accesses in the program")
        axis.grid(True, which="major", alpha=0.3)
        axis.legend()
    figure.suptitle("All executions of random programs of loads and stores on three locations (mean of 24)")
    figure.tight_layout()
    figure.savefig(folder / "growth.png", dpi=110)


if __name__ == "__main__":
    main()
