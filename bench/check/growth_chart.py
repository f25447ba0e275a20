# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the growth of times (in milliseconds of one core) on a logarithmic scale, and provides the main function of scripts
that draw such a picture from a bench's result."""

import math
import pathlib
import sys
from typing import NamedTuple

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import results  # noqa: E402

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 680, 360, 70, 30, 50


class Line(NamedTuple):
    label: str
    colour: str
    points: list  # A list of (count, milliseconds, label of the point or "").
    dashed: bool = False


def chart(title, counted, across, legend, lines):
    """`counted`: the label of the horizontal axis. `across`: the horizontal position of each count, from 0 to 1. `legend`: the legend's
    width, and its distance from the axes."""
    right, gap = legend
    times = [ms for line in lines for _, ms, _ in line.points]
    low, high = math.floor(math.log10(min(times))), math.ceil(math.log10(max(times)))

    def place(count, ms):
        x = LEFT + across[count] * (WIDTH - LEFT - right)
        return x, HEIGHT - BOTTOM - (math.log10(ms) - low) / (high - low) * (HEIGHT - TOP - BOTTOM)

    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">',
           f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
           f'<text x="{LEFT}" y="18">{title}</text>']
    for power in range(low, high + 1):
        y = place(min(across), 10.0 ** power)[1]
        out.append(f'<line x1="{LEFT}" y1="{y:.1f}" x2="{WIDTH - right}" y2="{y:.1f}" stroke="#dddddd"/>')
        out.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{10.0 ** power:g}</text>')
    for count in sorted(across):
        out.append(f'<text x="{place(count, 1)[0]:.1f}" y="{HEIGHT - BOTTOM + 18}" text-anchor="middle">{count}</text>')
    out.append(f'<text x="{(LEFT + WIDTH - right) / 2}" y="{HEIGHT - 12}" text-anchor="middle">{counted}</text>')
    for number, line in enumerate(lines):
        stroke = f'stroke="{line.colour}" stroke-width="2"' + (' stroke-dasharray="5 4"' if line.dashed else "")
        places = [(*place(count, ms), text) for count, ms, text in sorted(line.points)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in places)
        out.append(f'<polyline points="{path}" fill="none" {stroke}/>')
        for x, y, text in places:
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{line.colour}"/>')
            if text:
                out.append(f'<text x="{x + 5:.1f}" y="{y - 5:.1f}" font-size="9" fill="{line.colour}">{text}</text>')
        x, y = WIDTH - right + gap, TOP + 14 + 20 * number
        out.append(f'<line x1="{x}" y1="{y}" x2="{x + 24}" y2="{y}" {stroke}/>')
        out.append(f'<text x="{x + 30}" y="{y + 4}">{line.label}</text>')
    return "\n".join(out) + "\n</svg>\n"


def main(usage, bench, picture):
    """Writes the output of `picture(file)` for the result file and the picture file that the command line names."""
    if len(sys.argv) != 3:
        print(usage.split("\n\n")[1], file=sys.stderr)
        return 2
    try:
        pathlib.Path(sys.argv[2]).write_text(picture(results.load(sys.argv[1], bench)), encoding="utf-8")
    except results.ResultError as error:
        print(f"{pathlib.Path(sys.argv[0]).name}: {error}", file=sys.stderr)
        return 2
    return 0
