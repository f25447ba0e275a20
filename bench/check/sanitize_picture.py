#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws how the time of one schedule of the sanitizer grows with the blocks of a launch, from a result of sanitize_throughput.

usage: sanitize_picture.py <sanitize_throughput.json> <picture.svg>
"""

import math
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import results  # noqa: E402

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 680, 360, 70, 250, 30, 50
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#9467bd", "#ff7f0e", "#555555")


def points(file):
    """Milliseconds of the processor and instructions per second, by case and blocks."""
    lines = {}
    for name, case in file.measured.items():
        if found := re.fullmatch(r"(\w+)/blocks:(\d+)", name):
            lines.setdefault(found[1].replace("_", " "), {})[int(found[2])] = (case.figures["cpu_time"], case.figures["instructions_per_s"])
    if not lines:
        raise results.ResultError(f"{file.path} has no case with blocks: run sanitize_throughput")
    return lines


def picture(lines):
    blocks = sorted({b for line in lines.values() for b in line})
    times = [ms for line in lines.values() for ms, _ in line.values()]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def place(count, ms):
        x = LEFT + math.log(count / blocks[0]) / math.log(blocks[-1] / blocks[0]) * (WIDTH - LEFT - RIGHT)
        return x, HEIGHT - BOTTOM - (math.log10(ms) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="18">Milliseconds of a core for one schedule, 256 threads per block</text>']
    for power in range(low, high + 1):
        y = place(blocks[0], 10.0 ** power)[1]
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - RIGHT}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** power:g}</text>')
    for count in blocks:
        out.append(f'<text x="{place(count, 10.0 ** low)[0]:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{count}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 12}" text-anchor="middle">blocks</text>')
    for number, (name, line) in enumerate(lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        places = [place(count, ms) for count, (ms, _) in sorted(line.items())]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places]
        y = TOP + 14 + 20 * number
        rate = line[max(line)][1] / 1e6
        out.append(f'<line x1="{WIDTH - RIGHT + 16}" y1="{y}" x2="{WIDTH - RIGHT + 40}" y2="{y}" stroke="{colour}" stroke-width="2"/>')
        out.append(f'<text x="{WIDTH - RIGHT + 46}" y="{y + 4}">{name}: {rate:.3g} million per s</text>')
    return "\n".join(out) + "\n</svg>\n"


def main():
    if len(sys.argv) != 3:
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    try:
        pathlib.Path(sys.argv[2]).write_text(picture(points(results.load(sys.argv[1], "sanitize_throughput"))), encoding="utf-8")
    except results.ResultError as error:
        print(f"sanitize_picture.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
