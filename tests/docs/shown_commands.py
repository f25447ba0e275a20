#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that commands print what the documentation shows.

    shown_commands.py --root folder --litmus membar-litmus [--check membar-check] page.md...

A block fenced as ```console has commands, each after "$ " on a line of its own, with what it prints below. `cat FILE` and
`membar-litmus ...` are run in the root folder, and must print just that.
`membar-check ...` is run where its file is, in the root folder, tests/check/scenarios or examples/bugs. It must print that and no more,
but for the seconds; a line of dots stands for others, and dots at the end of a line for the rest of it. What an example prints, `build/default/examples/example_...`,
depends on the machine: the command and the lines must stand in RECORDED, together. No other command may stand in such a block.
"""
import argparse
import pathlib
import re
import shlex
import subprocess
import sys

from outputs import missing

RECORDED = "docs/measurements/h200-x2/examples.txt"


SCENARIOS = (".", "tests/check/scenarios", "examples/bugs")


def shown(page):
    """Yields (line number, command, lines that it prints) of every ```console block."""
    inside, found = False, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if line.strip() in ("```console", "```") and (inside or line.strip() == "```console"):
            inside = not inside
        elif inside and line.startswith("$ "):
            found.append((number, line[2:], []))
        elif inside and found:
            found[-1][2].append(line)
        elif inside:
            raise SystemExit(f"{page}:{number}: a ```console block begins with a command after '$ '")
    return found


def wrong_check(root, check, words, lines):
    """What is wrong with a command that checks scenarios, or nothing."""
    folders = [root / folder for folder in SCENARIOS if (root / folder / words[-1]).is_file()]
    if not folders:
        return f"'{words[-1]}' is in none of {', '.join(SCENARIOS)}"
    if not check:
        return None
    result = subprocess.run([pathlib.Path(check).resolve(), *words[1:]], cwd=folders[0], capture_output=True, text=True, check=False)
    if result.returncode not in (0, 1) or result.stderr:
        return f"it exits with {result.returncode} and says: {result.stdout}{result.stderr}"
    timeless = [re.sub(r"\b\d+\.\d\d s\b", "0.00 s", text) for text in ("\n".join(lines), result.stdout)]
    line = missing(*timeless)
    whole = any(line == "..." or line.endswith(" ...") for line in lines) or len(lines) == len(result.stdout.splitlines())
    return None if line is None and whole else f"it prints:\n{result.stdout}"


def wrong(root, litmus, check, command, lines):
    """What is wrong with a command and its lines, or nothing."""
    words = shlex.split(command)
    if words[0] == "membar-check":
        return wrong_check(root, check, words, lines)
    if words[0].startswith("build/default/examples/example_"):
        recorded = (root / RECORDED).read_text(encoding="utf-8")
        block = "\n".join([f"$ {command}", *lines]) + "\n"
        end = recorded.partition(block)[2]
        return None if block in recorded and (not end or end[0] in "\n$") else f"{RECORDED} has not '{command}' with these lines"
    if words[0] == "membar-litmus":
        words[0] = litmus
    elif words[0] != "cat":
        return f"'{words[0]}' is none of cat, membar-litmus, membar-check and an example"
    result = subprocess.run(words, cwd=root, capture_output=True, text=True, check=False)
    if result.returncode != 0 or result.stderr:
        return f"it exits with {result.returncode} and says: {result.stderr}"
    return None if result.stdout.splitlines() == lines else f"it prints:\n{result.stdout}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, required=True, help="the folder that commands run in")
    parser.add_argument("--litmus", required=True, help="the command membar-litmus")
    parser.add_argument("--check", help="the command membar-check; without it what that prints is not compared")
    parser.add_argument("pages", type=pathlib.Path, nargs="+", metavar="page.md")
    options = parser.parse_args()
    checked = failed = 0
    for page in options.pages:
        for number, command, lines in shown(page):
            checked += 1
            if told := wrong(options.root, options.litmus, options.check, command, lines):
                failed += 1
                print(f"{page}:{number}: $ {command}\n  {told}")
    if checked == 0:
        print("no command in any ```console block")
    print(f"{checked} commands, {failed} do not print what the page shows")
    return 1 if failed or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
