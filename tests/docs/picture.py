# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws pictures for the documentation: boxes, arrows and words as SVG. Each picture has its own background, so that the page's background
does not matter."""

import argparse
import pathlib
from xml.sax.saxutils import escape

PICTURES = pathlib.Path(__file__).resolve().parents[2] / "docs" / "pictures"
GENERIC, ASYNC, FENCE, INK, QUIET = "#3a4a9f", "#1f6f5c", "#b0471b", "#1d2430", "#4a5260"
STYLE = f"""    .panel {{ fill: #fbfbf8; stroke: #8a8a8a; }}
    .lane {{ fill: #eef1f5; stroke: #b9c0c9; }}
    .generic {{ fill: #ffffff; stroke: {GENERIC}; stroke-width: 2; }}
    .async {{ fill: #ffffff; stroke: {ASYNC}; stroke-width: 2; }}
    .fence {{ stroke: {FENCE}; stroke-width: 2.5; fill: none; }}
    .done {{ stroke: {ASYNC}; stroke-width: 2.5; fill: none; }}
    .order {{ stroke: {QUIET}; stroke-width: 2; fill: none; }}
    text {{ fill: {INK}; }}
    .head {{ font-weight: bold; }}
    .note {{ font-size: 13px; fill: {QUIET}; }}
    .fence-text {{ font-size: 13px; font-weight: bold; fill: {FENCE}; }}
    .done-text {{ font-size: 13px; font-weight: bold; fill: {ASYNC}; }}
    .order-text {{ font-size: 13px; font-weight: bold; fill: {QUIET}; }}"""


class Picture:
    def __init__(self, width, height, title, description):
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" aria-labelledby="title desc" '
            'font-family="Helvetica, Arial, sans-serif" font-size="15">',
            f'  <title id="title">{escape(title)}</title>',
            f'  <desc id="desc">{escape(description)}</desc>',
            f"  <style>\n{STYLE}\n  </style>",
            "  <defs>",
            *(f'    <marker id="{name}" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="7" markerHeight="7" orient="auto">'
              f'<path d="M0 0 L10 5 L0 10 z" fill="{colour}"/></marker>' for name, colour in
              (("fence", FENCE), ("done", ASYNC), ("order", QUIET))),
            "  </defs>",
        ]
        self.box(1, 1, width - 2, height - 2, "panel")

    def box(self, x, y, width, height, kind):
        self.parts.append(f'  <rect class="{kind}" x="{x}" y="{y}" width="{width}" height="{height}" rx="6"/>')

    def text(self, x, y, words, kind="", anchor="start"):
        self.parts.append(f'  <text class="{kind}" x="{x}" y="{y}" text-anchor="{anchor}">{escape(words)}</text>')

    def labelled(self, x, y, width, height, kind, words, note=""):
        self.box(x, y, width, height, kind)
        middle = y + height / 2 + (5 if not note else -3)
        self.text(x + width / 2, middle, words, "head", "middle")
        if note:
            self.text(x + width / 2, middle + 18, note, "note", "middle")

    def arrow(self, kind, *points):
        path = " L".join(f"{x} {y}" for x, y in points)
        self.parts.append(f'  <path class="{kind}" d="M{path}" marker-end="url(#{kind})"/>')

    def svg(self):
        return "\n".join([*self.parts, "</svg>"]) + "\n"


def draw(program, about, pictures):
    """Writes `pictures`, which maps names to SVG texts. With --check, reports the pictures that are out of date instead. Returns the exit
    status for `program`."""
    parser = argparse.ArgumentParser(description=about.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a picture is out of date")
    check = parser.parse_args().check
    different = 0
    for name, text in pictures.items():
        path = PICTURES / name
        if not check:
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            print(f"{path} is out of date: run tests/docs/{program} without --check")
            different += 1
    return 1 if different else 0
