#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the report on fence interference from the JSON of the bench fence_interference.

It needs only Python 3.8.
"""
import argparse
import os
import pathlib
import re
import shutil
import sys
import tempfile
import webbrowser

sys.dont_write_bytecode = True  # This keeps the source tree unchanged.
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, os.pardir, "common")]

import cases, chart, controls, findings, markdown, publisher, web_page, words  # noqa: E402
from results import MissingFile, ResultError  # noqa: E402

# Files that an earlier report may have left behind; they must not be mistaken for parts of this report.
_PICTURE = re.compile(r"(overview|publisher|finding\.[a-z_]+)\.svg")


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"report.py: {message}; `report.py --help` lists the options\n")


def _options(arguments):
    parser = _Parser(prog="report.py", allow_abbrev=False,
                     description="Draws the report on fence interference: report.html, and report.md with its pictures.")
    parser.add_argument("--input", required=True, metavar="FILE", help="JSON of the bench fence_interference")
    parser.add_argument("--output-dir", required=True, metavar="DIR", help="folder for report.html, report.md and the pictures")
    parser.add_argument("--open", action="store_true", help="show report.html in a browser")
    parser.add_argument("--recorded", metavar="FILE",
                        help="recorded JSON, drawn (and marked as recorded) if --input holds no measured case")
    parser.add_argument("--publisher", metavar="FILE",
                        help="JSON of the bench publisher; if it has no measured case, the JSON next to the file of --recorded is used")
    parser.add_argument("--csv", metavar="FILE", help="also write every case as CSV")
    parser.add_argument("--pictures", metavar="PREFIX",
                        help="write the pictures to PREFIX + name instead, for example docs/pictures/machine.")
    return parser.parse_args(arguments)


def _choose(options):
    """Returns the results to draw; this machine's own results, or None; and whether the results to draw are recorded."""
    try:
        own = cases.load(options.input)
        if own.measured or not options.recorded:
            return own, own, False
        why = f"{options.input} holds no measured case"
    except MissingFile:
        if not options.recorded:
            raise ResultError(f"--input {options.input} does not exist; run the bench fence_interference with "
                              f"--benchmark_out={options.input} first, or pass --recorded")
        own, why = None, f"{options.input} does not exist"
    try:
        recorded = cases.load(options.recorded)
    except MissingFile:
        raise ResultError("%s, and --recorded %s does not exist; pass a recorded file that exists, or leave --recorded out"
                          % (why, options.recorded))
    if not recorded.measured:
        raise ResultError("%s, and --recorded %s holds no measured case either; pass a file with measured cases"
                          % (why, options.recorded))
    print(f"report.py: {why}; drawing the recorded {options.recorded}")
    return recorded, own, True


def _publisher(options):
    """Returns (the publisher bench's figures or None, whether they are recorded)."""
    own = publisher.load(options.publisher) if options.publisher else None
    if own or not options.recorded:
        return own, False
    recorded = os.path.join(os.path.dirname(options.recorded), "publisher.json")
    return (publisher.load(recorded), True) if os.path.exists(recorded) else (None, False)


def _written(options, folder):
    """Writes the report to `folder`; returns (its summary, the line of a recorded report or None, the CSV or None)."""
    results, own, is_recorded = _choose(options)
    line = words.recorded_line(results.context) if is_recorded else None
    checked = controls.check(results)
    published, published_is_recorded = _publisher(options)
    found = findings.Findings(results, checked, publisher.sentence(published) if published else "")
    drawn, links = {}, {}  # The links in report.md and their SVG; the name of each picture and its link.

    def draw(what, picture):
        if picture is not None:
            prefix = options.pictures or os.path.join(folder, "")
            _write(f"{prefix}{what}.svg", picture)
            links[what] = os.path.relpath(f"{prefix}{what}.svg", os.path.abspath(options.output_dir) if options.pictures else folder)
            drawn[links[what]] = picture

    for finding in found.shown:
        draw("finding." + finding.name, chart.finding(finding, results, line))
        links[finding.name] = links["finding." + finding.name]
    draw("overview", chart.overview(results, line))
    text = markdown.report(results, checked, found, links, (line, own) if is_recorded else None)
    if published:
        mark = words.recorded_line(published.context) if published_is_recorded else None
        draw("publisher", chart.publisher(published, mark))
        section = publisher.section(published, links.get("publisher"))
        text += section if mark is None else section.replace("\n\n", f"\n\n> **{words.sentence_case(mark)}.**\n\n", 1)
    _write(os.path.join(folder, "report.md"), text)
    _write(os.path.join(folder, "report.html"), web_page.page(text, drawn, "Fence interference"))
    return markdown.summary(found).replace("**", ""), line, markdown.flat(results, is_recorded) if options.csv else None


def _write(path, text):
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)


def _publish(staging, folder):
    """Moves the finished files into place, and removes an earlier report's pictures that this report does not have."""
    fresh = os.listdir(staging)
    for name in fresh:
        if os.path.isdir(os.path.join(folder, name)):
            raise ResultError(f"--output-dir {folder} has a folder named {name}; remove it or choose another --output-dir")
    for name in fresh:
        os.replace(os.path.join(staging, name), os.path.join(folder, name))
    for name in os.listdir(folder):
        if _PICTURE.fullmatch(name) and name not in fresh:
            os.remove(os.path.join(folder, name))


def run(options):
    folder = os.path.abspath(options.output_dir)
    created = not os.path.isdir(folder)
    staging = None
    try:
        os.makedirs(folder, exist_ok=True)
        # This folder is inside the output folder, so that the moves at the end stay on one file system and cannot be left half done.
        staging = tempfile.mkdtemp(dir=folder, prefix=".fence-report-")
        summary, line, flat = _written(options, staging)
        if options.csv:
            try:
                _write(options.csv, flat)
            except OSError as error:
                raise ResultError("--csv %s cannot be written (%s); choose a file in a folder that exists and is writable"
                                  % (options.csv, error.strerror))
        _publish(staging, folder)
        created = False
    except OSError as error:
        raise ResultError("--output-dir %s cannot be written (%s); choose a folder that is writable"
                          % (options.output_dir, error.strerror))
    finally:
        if staging:
            shutil.rmtree(staging, ignore_errors=True)
        if created and os.path.isdir(folder) and not os.listdir(folder):
            os.rmdir(folder)
    if line:
        print(f"report.py: {line}")
    page = os.path.join(options.output_dir, "report.html")
    print(f"report: {page} (and report.md)")
    print(summary)
    if options.open and not webbrowser.open(pathlib.Path(page).absolute().as_uri()):
        print(f"report.py: no browser was found for --open; open {page} yourself")


def main(arguments=None):
    options = _options(arguments)
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        run(options)
    except ResultError as error:
        print(f"report.py: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
