#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the report on fence interference from the JSON of the bench fence_interference.

Needs Python 3.8; pictures need matplotlib, and the report comes out without them where it is missing.
"""
import argparse
import os
import re
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True  # leaves the source tree as it was
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, os.pardir, os.pardir, "common")]

import cases, controls, markdown, publisher, verdict, words  # noqa: E402
from report_page import Picture, pyplot  # noqa: E402
from results import MissingFile, ResultError  # noqa: E402

INSTALL = "no pictures: matplotlib is missing, install it with `pip install matplotlib` and run report.py again"
# Pictures that an earlier report may have left behind, and that this one must not appear to contain.
_PICTURE = re.compile(r"(overview|publisher|(kernel_boundary|fence|release_store|acquire_load)\.[a-z_.]+)\.png")


class _Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(2, f"report.py: {message}; `report.py --help` lists the options\n")


def _options(arguments):
    parser = _Parser(prog="report.py", allow_abbrev=False,
                     description="Draws the report on fence interference: report.md and one picture per victim.")
    parser.add_argument("--input", required=True, metavar="FILE", help="JSON of the bench fence_interference")
    parser.add_argument("--output-dir", required=True, metavar="DIR", help="folder for report.md and the pictures")
    parser.add_argument("--recorded", metavar="FILE",
                        help="recorded JSON, drawn (and marked as recorded) where --input holds no measured case")
    parser.add_argument("--publisher", metavar="FILE",
                        help="JSON of the bench publisher; where it holds no measured case, that beside --recorded")
    parser.add_argument("--csv", metavar="FILE", help="also write every case as CSV")
    parser.add_argument("--pictures", metavar="PREFIX",
                        help="draw only the overview and the publisher's picture, to PREFIX + name, as docs/pictures/machine.")
    return parser.parse_args(arguments)


def _choose(options):
    """The results to draw; what this machine itself gave, or None; whether the former are recorded ones."""
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
    """(figures of the bench publisher or None, whether they are recorded ones)."""
    own = publisher.load(options.publisher) if options.publisher else None
    if own or not options.recorded:
        return own, False
    recorded = os.path.join(os.path.dirname(options.recorded), "publisher.json")
    return (publisher.load(recorded), True) if os.path.exists(recorded) else (None, False)


def _written(options, folder):
    """Writes the report to `folder`; returns (verdict, line of a recorded report or None, CSV or None)."""
    results, own, is_recorded = _choose(options)
    line = words.recorded_line(results.context) if is_recorded else None
    checked = controls.check(results)
    paragraph = verdict.verdict(results, checked)
    published, published_is_recorded = _publisher(options)
    if published:
        paragraph += publisher.sentence(published)

    def picture(name):
        place = Picture(os.path.abspath(options.output_dir), options.pictures or os.path.join(folder, ""), name)
        place.link = place.link if options.pictures else name
        return place

    links, section_link = {}, None
    if pyplot is None:
        print(f"report.py: {INSTALL}")
    else:
        import pictures
        links = pictures.draw_all(results, picture, line, victims=not options.pictures)
    text = markdown.report(results, checked, paragraph, links, (line, own) if is_recorded else None)
    if published:
        mark = words.recorded_line(published.context) if published_is_recorded else None
        if pyplot is not None:
            place = picture("publisher.png")
            pictures.draw_publisher(published, place.path, mark)
            place.shrink()
            section_link = place.link
        section = publisher.section(published, section_link)
        text += section if mark is None else section.replace("\n\n", f"\n\n> **{words.sentence_case(mark)}.**\n\n", 1)
    _write(os.path.join(folder, "report.md"), text)
    return paragraph, line, markdown.flat(results, is_recorded) if options.csv else None


def _write(path, text):
    with open(path, "w", encoding="utf-8", newline="\n") as stream:
        stream.write(text)


def _publish(staging, folder):
    """Moves the finished files into place, and takes away pictures of an earlier report that this one lacks."""
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
        # Inside the output folder, so that the moves at the end stay on one file system and cannot be half done.
        staging = tempfile.mkdtemp(dir=folder, prefix=".fence-report-")
        paragraph, line, flat = _written(options, staging)
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
    print(f"report: {os.path.join(options.output_dir, 'report.md')}")
    print(paragraph)


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
