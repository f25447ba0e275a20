#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The outputs that the README shows are what its commands print.

usage: outputs.py README.md <folder of membar-litmus and membar-check>

A block ```text shows lines of the output of the command before it, in their order; a line of dots stands for others,
and dots at the end of a line for the rest of it. A command in
build/tools/bin is run. Of any other the lines are those of a recorded file, to which the text between the command and its output links.
"""
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
COMMANDS = "build/tools/bin/"


def missing(shown, printed):
    """The first shown line that is not in what was printed, after those before it."""
    rest = iter(printed.splitlines())
    for line in shown.splitlines():
        begin = line.removesuffix(" ...")
        if line != "..." and not any(other == line or (begin != line and other.startswith(begin)) for other in rest):
            return line
    return None


def main():
    page, folder = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    text = page.read_text(encoding="utf-8")
    command, end, count, wrong = None, 0, 0, []
    for block in BLOCK.finditer(text):
        between, end = text[end:block.start()], block.end()
        if block.group(1) != "text":
            command = block.group(2).strip()
            continue
        count += 1
        recorded = re.findall(r"\]\((docs/measurements/[^)#]+)\)", between)
        if command and command.startswith(COMMANDS) and "\n" not in command:
            name, *arguments = shlex.split(command)
            printed = subprocess.run([folder / name[len(COMMANDS):], *arguments], cwd=ROOT, capture_output=True, text=True, check=False).stdout
        elif recorded:
            printed = (ROOT / recorded[-1]).read_text(encoding="utf-8").replace("**", "")  # of a page
        else:
            wrong.append(f"the output {block.group(2)[:60]!r} has neither a command of {COMMANDS} before it nor a link to a file of docs/measurements")
            continue
        line = missing(block.group(2), printed)
        if line is not None:
            wrong.append(f"the output of {command or recorded[-1]} has no line {line!r}, or not there")
    if count == 0:
        wrong.append("no block of output")
    print(*wrong or [f"{count} outputs are what their commands print"], sep="\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
