#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws how the sanitizer's time per schedule grows with the number of blocks, on one host thread and on two, from a result of
sanitize_throughput.

usage: sanitize_picture.py <sanitize_throughput.json> <picture.svg>
"""

import math
import re
import sys

import growth_chart

COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#8c564b", "#9467bd", "#ff7f0e", "#555555")


def picture(file):
    # For each case and number of threads: the numbers of blocks with their milliseconds of core time, and the millions of
    # instructions per second in the largest launch.
    lines, rates = {}, {}
    for name, case in file.measured.items():
        if found := re.fullmatch(r"(\w+)/blocks:(\d+)(?:/jobs:(\d+))?", name):
            line, blocks = (found[1].replace("_", " "), int(found[3] or 1)), int(found[2])
            lines.setdefault(line, []).append((blocks, case.figures["busiest_ms"], ""))
            rates[line] = max(rates.get(line, (0, 0)), (blocks, case.figures["instructions_per_s"] / 1e6))
    if not lines:
        raise growth_chart.results.ResultError(f"{file.path} has no case with blocks: run sanitize_throughput")
    blocks = sorted({count for line in lines.values() for count, _, _ in line})
    across = {count: math.log(count / blocks[0]) / math.log(blocks[-1] / blocks[0]) for count in blocks}
    colours = dict(zip(dict.fromkeys(name for name, _ in lines), COLOURS))
    return growth_chart.chart(
        "Milliseconds of the busiest core for one schedule, 256 threads per block, and million instructions/s", "blocks", across, (250, 16),
        [growth_chart.Line(f"{name}{', two cores' if jobs == 2 else ''}: {rates[name, jobs][1]:.3g} M/s", colours[name], points,
                           dashed=jobs == 2) for (name, jobs), points in lines.items()])


if __name__ == "__main__":
    sys.exit(growth_chart.main(__doc__, "sanitize_throughput", picture))
