#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that commands print what the documentation shows.

usage: shown_commands.py [TOOL]

A ```console block contains commands, each on its own line after "$ " and followed by its output, and nothing else. A line of dots stands
for any number of lines, and dots at the end of a line stand for the rest of that line. With the path of a tool, the script runs the
commands that call it, in the root folder. Without a path, it runs the commands of the form `cat FILE`. The output of any other command
depends on the machine, so its lines must be in a recorded file: the file in docs/measurements that the text before the block links to or,
without a link, the file RECORDED. In RECORDED, the command precedes its lines, and no other lines may follow. Lines without a command must
be recorded as well.
"""
import pathlib
import re
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
RECORDED = ROOT / "docs/measurements/h200-x2/examples.txt"
TOOLS = ("membar-litmus", "membar-check")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"\]\(([^)#\s]*measurements/[^)#\s]+)\)")


def shown(page):
    """Yields (line number, command, its output lines, recorded file) for every ```console block."""
    text, end = page.read_text(encoding="utf-8"), 0
    for block in BLOCK.finditer(text):
        links, end = LINK.findall(text[end:block.start()]), block.end()
        if block.group(1) == "console":
            recorded = (page.parent / links[-1]).resolve() if links else RECORDED
            for part in re.split(r"^(?=\$ )", block.group(2), flags=re.MULTILINE):
                if part:
                    command, lines = part[2:].split("\n", 1) if part.startswith("$ ") else ("", part)
                    number = text.count("\n", 0, block.start(2) + block.group(2).index(part)) + 1
                    yield number, command, lines, recorded


def pattern(lines):
    """Normalizes a command's output, because numbers of seconds differ between runs."""
    parts = [r"(?:.*\n)*?" if line == "..." else re.escape(line.removesuffix(" ...")) + (r".*\n" if line.endswith(" ...") else r"\n")
             for line in lines.splitlines()]
    return re.sub(r"\b\d+\\\.\d\d\\ s\b", r"\\d+\\.\\d\\d s", "".join(parts))


def wrong(command, lines, recorded, tool):
    """Returns the error in a command and its lines, or an empty string."""
    words = shlex.split(command)
    if tool or words[:1] == ["cat"]:
        result = subprocess.run([tool or "cat", *words[1:]], cwd=ROOT, capture_output=True, text=True, check=False)
        said = re.sub(r"^membar-check: .* s so far\n", "", result.stderr, flags=re.MULTILINE)  # A busy machine may be slow.
        if said or result.returncode not in (0, 1, 3):  # membar-check returns 1 for a finding, and 3 if it gave up
            return f"it exits with status {result.returncode} and prints: {said}"
        return None if re.fullmatch(pattern(lines), result.stdout) else f"it prints:\n{result.stdout}"
    text = recorded.read_text(encoding="utf-8").replace("**", "").rstrip("\n") + "\n"  # the asterisks are the page's markup
    whole = rf"{re.escape('$ ' + command)}\n{pattern(lines)}(?=\n|\$ |\Z)" if recorded == RECORDED else pattern(lines)
    return None if re.search("^" + whole, text, re.MULTILINE) else f"{recorded.relative_to(ROOT)} does not have these lines"


def main():
    tool = pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else None
    checked = failed = 0
    for page in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, command, lines, recorded in shown(page):
            name = pathlib.Path(shlex.split(command)[0]).name if command else ""
            if (tool.name == name) if tool else name not in TOOLS:
                checked += 1
                if told := wrong(command, lines, recorded, tool):
                    failed += 1
                    print(f"{page.relative_to(ROOT)}:{number}: $ {command}\n  {told}")
    print(f"{checked} commands, {failed} with output that differs from the page")
    return 1 if failed or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
