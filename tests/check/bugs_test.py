#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that docs/bugs.md and docs/found.md quote membar-check's current output, and that the model allows the wrong outcome in
each litmus test next to the kernels.

usage: bugs_test.py <membar-check> <membar-litmus> [--write | <results folder> <bug>:<status>...]

Each ```text block in a page begins with the name of a bug. The bug's files are in the folder under examples/ that has the same name as the
page. The test compares the block with the statuses of the bug's scenarios and with the finding; --write replaces the block. With a results
folder, the test also writes <bug>.wrong.txt and <bug>.fixed.txt there, which begin with PASSED or FAILED: the wrong kernel must have the
given status, and the fixed kernel must be verified.
"""

import concurrent.futures
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUGS = ROOT / "examples" / "bugs"
FOLDERS = {page: ROOT / "examples" / page.stem for page in (ROOT / "docs" / "bugs.md", ROOT / "docs" / "found.md")}
BLOCK = re.compile(r"```text\n(\w+)\b.*?\n?```", re.S)
NO_FAULT = {"one_fence"}  # publicly reported bugs that are not bugs
ONE_THREAD = {"channel_bounds"}  # These bugs involve only one thread, so no litmus test can show them.
CATALOGUE = ROOT / "tests" / "litmus" / "catalogue"
REPORTS = {"flag_before_copy": "bulk-load-after-flag", "stage_still_read": "stage-reused", "stores_before_copy": "bulk-store-after-barrier",
           "chain_of_kernels": "chain-of-dependent-kernels", "table_before_wait": "pointer-read-before-wait",
           "no_dependency_wait": "no-dependency-wait"}  # The litmus tests of these bugs come in pairs from the catalogue.


def answers(check, folder, name):
    """Returns the lines that the page shows for a bug: the file and status of each scenario, followed by the finding."""
    kinds = [""] if name in NO_FAULT else [".wrong", ".fixed"]
    done = subprocess.run([check, *(f"{name}{kind}.scenario" for kind in kinds)], cwd=folder, capture_output=True, text=True)
    lines, statuses = [], {}
    for line in done.stdout.split("\n"):
        if "\t" in line and not line.startswith(" "):
            lines.append("\t".join(line.split("\t")[:2]))
            statuses[line.split("\t")[0]] = line.split("\t")[1]
        elif lines and "\t" in lines[-1] and line.startswith("  "):
            lines.append(line)  # The first line after the status names the finding.
    kept = []
    for line in lines:
        if "\t" in line or "\t" in kept[-1]:
            kept.append(line)
    return "\n".join(kept), statuses, done.stdout + done.stderr


def record(folder, name, expected, answer):
    """Writes the results of a bug's two scenarios."""
    _, statuses, output = answer
    for kind, status in (("wrong", expected), ("fixed", "verified")):
        word = "PASSED" if statuses.get(f"{name}.{kind}.scenario") == status else f"FAILED: the status must be '{status}'"
        (folder / f"{name}.{kind}.txt").write_text(f"{word}\n{output}", encoding="utf-8")


def main():
    check, litmus = (pathlib.Path(path).resolve() for path in sys.argv[1:3])
    wrong = []

    def compared(block):
        name = block[1]
        now = f"```text\n{found[name][0] if name in found else 'a bug without sources'}\n```"
        if now != block[0]:
            wrong.append(f"{name}: the page has\n{block[0]}\nand it should have\n{now}")
        statuses = [line.split("\t")[1] for line in now.split("\n") if "\t" in line]
        if name in NO_FAULT:
            right = statuses == ["verified"]
        else:
            right = len(statuses) == 2 and statuses[0] in ("race", "violated", "hang", "out of bounds", "undefined") and statuses[1] == "verified"
        if not right:
            wrong.append(f"{name}: membar-check must report the wrong kernel and verify the fixed one, but the statuses are {statuses}")
        return now

    names = {page: {path.stem for path in folder.glob("*.cu")} for page, folder in FOLDERS.items()}
    folder = None if sys.argv[3:] in ([], ["--write"]) else pathlib.Path(sys.argv[3])
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.txt"):
            old.unlink()
    each = [(FOLDERS[page], name) for page in FOLDERS for name in sorted(names[page])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        found = dict(zip((name for _, name in each), pool.map(lambda one: answers(check, *one), each)))
    if len(found) != len(each):
        wrong.append(f"these names are in two folders: {sorted(name for _, name in each)}")
    if folder:
        for name, _, status in (word.partition(":") for word in sys.argv[4:]):
            record(folder, name, status, found.get(name, ("", {}, "the bug has no source")))
    for page in FOLDERS:
        told = page.read_text(encoding="utf-8")
        on_page = [block[1] for block in BLOCK.finditer(told)]
        new = BLOCK.sub(compared, told)
        if sorted(on_page) != sorted(names[page]):
            wrong.append(f"{page.name}: these bugs are only on the page, only in the folder, or listed twice: {sorted(on_page)} "
                         f"{sorted(names[page])}")
        if sys.argv[3:] == ["--write"]:
            page.write_text(new, encoding="utf-8")
    tests = {path.stem for path in BUGS.glob("*.litmus")}
    expected = {path.stem for path in BUGS.glob("*.cu")} - NO_FAULT - ONE_THREAD - set(REPORTS)
    if tests != expected:
        wrong.append(f"bugs without a litmus test, or litmus tests without a bug: {sorted(tests ^ expected)}")
    for test in REPORTS.values():
        pair = (CATALOGUE / "allowed" / f"Report.{test}.litmus", CATALOGUE / "forbidden" / f"Report.{test}.repaired.litmus")
        wrong += [f"{path} is missing" for path in pair if not path.exists()]
    done = subprocess.run([litmus, "verdict", BUGS], capture_output=True, text=True)
    verdicts = [line.split("\t")[1] for line in done.stdout.split("\n") if "\t" in line]
    if done.returncode != 0 or len(verdicts) != len(tests) or set(verdicts) != {"1"}:
        wrong.append(f"the litmus tests: {done.stdout}{done.stderr}")
    print(f"{len(each)} bugs, {len(tests)} litmus tests, {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
