#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws how the exploration of a ticket lock grows with the numbers of threads and rounds, from a result of check_throughput.

usage: growth_picture.py <check_throughput.json> <picture.svg>
"""

import re
import sys

import growth_chart

THREADS = (2, 3, 4, 5, 6)
COLOURS = {1: "#1f77b4", 2: "#d62728", 3: "#2ca02c"}


def picture(file):
    lines = {}  # By (rounds, symmetry): threads, milliseconds of CPU time, executions.
    for name, case in file.measured.items():
        if found := re.fullmatch(r"growth/threads:(\d+)/rounds:(\d+)/symmetry:([01])", name):
            threads, rounds, symmetry = map(int, found.groups())
            executions = int(case.figures["executions"])
            lines.setdefault((rounds, symmetry), []).append((threads, case.figures["cpu_time"], f"{executions:,}" if executions > 1 else ""))
    if not lines:
        raise growth_chart.results.ResultError(f"{file.path} has no case of 'growth': run check_throughput --benchmark_filter=growth")
    across = {threads: (threads - THREADS[0]) / (THREADS[-1] - THREADS[0]) for threads in THREADS}
    return growth_chart.chart(
        "Milliseconds of a core to verify a ticket lock; beside the points: executions", "threads", across, (190, 32),
        [growth_chart.Line(f"{rounds} round{'s' if rounds > 1 else ''}" + (", symmetry" if symmetry else ""), COLOURS.get(rounds, "#555555"), line, bool(symmetry))
         for (rounds, symmetry), line in sorted(lines.items())])


if __name__ == "__main__":
    sys.exit(growth_chart.main(__doc__, "check_throughput", picture))
