#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the output of two builds of membar-litmus and membar-check, byte for byte, on every input of the project.

usage: same_answers.py <bin folder of the reference> <bin folder> [--quick] [FILE...]

For each litmus file, it compares the verdict, the outcomes, the explanation as text, JSON and picture, and the CUDA source of `run`. For
each scenario, it compares the line with the number of executions, the finding, its litmus test and its graph, and for the bug corpus also
the repairs. Times are ignored. Use this script for changes that must not affect any answer. The exit status is 0 if all answers
are the same.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[1]
TIME = re.compile(r"\b\d+\.\d+ s\b")


def answer(command):
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, errors="replace")
    return f"exit {done.returncode}\n{TIME.sub('TIME', done.stdout)}\n{TIME.sub('TIME', done.stderr)}"


def litmus(tool, file):
    for words in (["verdict"], ["outcomes"], ["explain"], ["explain", "--json"], ["explain", "--dot"], ["run", "--source"]):
        yield " ".join(words), answer([tool, *words, file])


def check(tool, file, folder):
    test, graph = folder / "found.litmus", folder / "found.dot"
    options = ["--limit=20000000"] if file.suffix == ".litmus" else []
    for written in (test, graph):
        written.unlink(missing_ok=True)
    yield "check", answer([tool, *options, f"--litmus={test}", f"--dot={graph}", file])
    for written in (test, graph):
        yield written.name, written.read_text() if written.exists() else "not written"
    if "wrong" in file.name:
        yield "--repair", answer([tool, "--repair", "--quiet", file])


def differences(reference, changed, file, quick):
    found = []
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        pairs = []
        if file.suffix == ".litmus":
            pairs.append(lambda tools: litmus(tools / "membar-litmus", file))
        if file.suffix == ".scenario" or not quick:
            pairs.append(lambda tools: check(tools / "membar-check", file, folder))
        for answers in pairs:
            for (what, before), (_, after) in zip(answers(reference), answers(changed)):
                if before != after:
                    found.append(f"{file.relative_to(ROOT)}: {what} differs\n--- before\n{before[:1500]}\n--- after\n{after[:1500]}")
    return found


def main():
    arguments = [a for a in sys.argv[1:] if a != "--quick"]
    reference, changed = (pathlib.Path(a).resolve() for a in arguments[:2])
    files = [pathlib.Path(a).resolve() for a in arguments[2:]] or sorted(
        path for folder in ("tests", "examples") for kind in ("*.litmus", "*.scenario") for path in (ROOT / folder).rglob(kind))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [line for lines in pool.map(lambda f: differences(reference, changed, f, "--quick" in sys.argv), files) for line in lines]
    print("\n".join([*found, f"{len(files)} files, {len(found)} answers differ"]))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
