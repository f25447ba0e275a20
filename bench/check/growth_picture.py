#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws how explorations of a ticket lock grow with its threads and rounds, from a result of check_throughput.

usage: growth_picture.py <check_throughput.json> <picture.svg>
"""

import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import results  # noqa: E402

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 680, 360, 70, 190, 30, 50
THREADS = (2, 3, 4, 5, 6)
COLOURS = {1: "#1f77b4", 2: "#d62728", 3: "#2ca02c"}


def points(file):
    """Milliseconds of the processor and executions by (rounds, symmetry) and threads."""
    lines = {}
    for name, case in file.measured.items():
        if found := re.fullmatch(r"growth/threads:(\d+)/rounds:(\d+)/symmetry:([01])", name):
            threads, rounds, symmetry = map(int, found.groups())
            lines.setdefault((rounds, symmetry), {})[threads] = (case.figures["cpu_time"], int(case.figures["executions"]))
    if not lines:
        raise results.ResultError(f"{file.path} has no case of 'growth': run check_throughput --benchmark_filter=growth")
    return lines


def picture(lines):
    times = [ms for line in lines.values() for ms, _ in line.values()]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def place(threads, ms):
        x = LEFT + (threads - THREADS[0]) / (THREADS[-1] - THREADS[0]) * (WIDTH - LEFT - RIGHT)
        return x, HEIGHT - BOTTOM - (math.log10(ms) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="18">Milliseconds of a core to verify a ticket lock; beside the points: executions</text>']
    for power in range(low, high + 1):
        y = place(THREADS[0], 10.0 ** power)[1]
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** power:g}</text>')
    for threads in THREADS:
        out.append(f'<text x="{place(threads, 1)[0]:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{threads}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">threads</text>')
    for number, ((rounds, symmetry), line) in enumerate(sorted(lines.items())):
        colour = COLOURS.get(rounds, "#555555")
        dash = ' stroke-dasharray="5 4"' if symmetry else ""
        places = [(*place(threads, ms), executions) for threads, (ms, executions) in sorted(line.items())]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dash}/>')
        for x, y, executions in places:
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
            if executions > 1:
                out.append(f'<text x="{x + 5:.1f}" y="{y - 5:.1f}" font-size="9" fill="{colour}">{executions:,}</text>')
        y = TOP + 14 + 20 * number
        out.append(f'<line x1="{WIDTH - RIGHT + 32}" y1="{y}" x2="{WIDTH - RIGHT + 56}" y2="{y}" stroke="{colour}" stroke-width="2"{dash}/>')
        label = f"{rounds} round{'s' if rounds > 1 else ''}" + (", symmetry" if symmetry else "")
        out.append(f'<text x="{WIDTH - RIGHT + 62}" y="{y + 4}">{label}</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    if len(sys.argv) != 3:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    try:
        pathlib.Path(sys.argv[2]).write_text(picture(points(results.load(sys.argv[1], "check_throughput"))), encoding="utf-8")
    except results.ResultError as error:
        print(f"growth_picture.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
