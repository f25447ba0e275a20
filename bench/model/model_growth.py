#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws how the model's time and its number of candidates grow with the numbers of events and threads.

    model_growth.py <result.json> <picture.png>

The result is written by `model_throughput --benchmark_out=<result.json>`. The script needs matplotlib.
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import report_page  # noqa: E402
import results  # noqa: E402

NAME = re.compile(r"every_candidate/threads:(\d+)/accesses:(\d+)/locations:(\d+)$")
SECONDS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    try:
        cases = results.load(sys.argv[1], "model_throughput").measured
    except results.ResultError as failure:
        sys.exit(str(failure))
    series = {}
    for name, case in cases.items():
        match = NAME.match(name)
        if match:
            threads, accesses, _ = map(int, match.groups())
            seconds = case.figures["cpu_time"] * SECONDS[case.entries[0]["time_unit"]]
            tests = case.figures["tests/s"] * seconds
            series.setdefault(threads, []).append((threads * accesses, seconds / tests, case.figures["candidates/s"] * seconds / tests))

    pyplot = report_page.pyplot
    figure, axes = pyplot.subplots(1, 2, figsize=(10, 4))
    for axis, which, label in zip(axes, (1, 2), ("seconds per program, one core", "candidate executions per program")):
        for threads, points in sorted(series.items()):
            points.sort()
            axis.plot([point[0] for point in points], [point[which] for point in points], marker="o", label=f"{threads} threads")
        axis.set(ylabel=label, yscale="log", xlabel="accesses in the program")
        axis.grid(True, which="major", alpha=0.3)
        axis.legend()
    figure.suptitle("All executions of random programs of loads and stores on three locations (mean of 24)")
    figure.tight_layout()
    figure.savefig(sys.argv[2], dpi=110)


if __name__ == "__main__":
    main()
