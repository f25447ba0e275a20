#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks unmodified kernels from public projects, and compares membar-check's answers with the correct answers.

usage: decided_kernels.py [--checker FILE] [--nvcc FILE] [--limit SECONDS] [--page FILE] [--only PROJECT] [FOLDER]

The scenarios are in kernels/. The first lines of each scenario name the kernel's project in projects.txt, the expected status,
and the reason why this status is right or, for `gave up`, why the checker does not decide the scenario. `{}` in a `source` line
stands for FOLDER, which contains a checkout of each project at the commit that projects.txt gives. Without FOLDER, only the
kernels in the toolkit's headers are checked. --page writes the table of docs/membar_check.md.
"""

import argparse
import pathlib
import re
import resource
import shlex
import signal
import subprocess
import sys
import tempfile

from readable_kernels import HERE, read_projects

KERNELS = HERE / "kernels"
DECIDED = ("verified", "race", "violated", "hang", "uninitialised", "out of bounds", "undefined")
PARTS_OF_TOOLKIT = {"cub": "CUB", "libcudacxx": "libcu++", "groups": "cooperative groups"}


class Scenario:
    """A scenario in kernels/."""

    def __init__(self, path):
        self.name = path.stem
        self.text = path.read_text()
        self.project = re.search(r"^# project (.*)$", self.text, re.MULTILINE).group(1)
        expected = re.search(r"^# expect ([a-z ]+): (.*)$", self.text, re.MULTILINE)
        self.expected, self.why = expected.group(1), expected.group(2)

    def launches(self):
        """Returns the kernels with their numbers of blocks and threads, formatted for the page."""
        rows = []
        for words in (row.split() for row in self.text.splitlines() if row.startswith("launch ")):
            def size(of):
                numbers = words[words.index(of) + 1].split(",") if of in words[: words.index("args")] else ["1"]
                product = 1
                for n in numbers:
                    product *= int(n)
                return product

            kernel = re.sub(r"<.*", "", words[1]).split("::")[-1]
            row = f"`{kernel}` {size('grid')} × {size('block')}"
            if row not in rows:
                rows.append(row)
        return ", ".join(rows)


def compiled(nvcc, line, folder, to, where=KERNELS):
    """Compiles the source of a `source` line. Returns an error message, or an empty string."""
    words = shlex.split(line.replace("{}", str(folder)))[1:]
    options = words[1:]
    if not any(o.startswith("-std=") for o in options):
        options.append("-std=c++20")
    if not any(o.startswith("-arch=") for o in options):
        options.append("-arch=sm_90")
    done = subprocess.run([nvcc, "-ptx", "-w", "-lineinfo", *options, "-o", str(to), words[0]], capture_output=True, text=True, cwd=where)
    return "" if done.returncode == 0 else (done.stderr + done.stdout).strip()[:2000]


def checked(checker, scenario, ptx, limit):
    """Returns a scenario's status ("gave up" after `limit` seconds), the check's CPU time, and the line that reports the
    status."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / f"{scenario.name}.scenario"
        path.write_text(re.sub(r"^source .*$", f"source {ptx}", scenario.text, flags=re.MULTILINE))
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = ["prlimit", f"--cpu={limit}", checker, "--quiet", str(path)]
        done = subprocess.run(command, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    row = (done.stdout.splitlines() or [""])[0].split("\t")
    if -done.returncode in (signal.SIGXCPU, signal.SIGKILL) and seconds > limit - 5:
        return "gave up", seconds, f"more than {limit} s"
    if len(row) < 3:
        what = f"ended by signal {-done.returncode}" if done.returncode < 0 else done.stderr.strip()
        return "error", seconds, what
    return row[1], seconds, row[2]


def page_of(rows, projects):
    lines = ["| project | commit | kernel, blocks × threads | assumed | status | seconds | reason for the status |", "|---|---|---|---|---|---|---|"]
    for scenario, status, seconds in rows:
        project = projects[scenario.project]
        name = PARTS_OF_TOOLKIT[scenario.name.split("_")[0]] if scenario.project == "toolkit" else project.name
        commit = project.origin.split()[-1][:12] if project.origin else "CUDA 13.0"
        assumed = ", ".join(re.findall(r"^(?:assume|accept) (.*)$", scenario.text, re.MULTILINE))
        lines.append(f"| {name} | {commit} | {scenario.launches()} | {assumed} | {status} | {seconds:.1f} | {scenario.why} |")
    return "\n".join(lines) + "\n"


def main():
    arguments = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    arguments.add_argument("--checker", default="membar-check")
    arguments.add_argument("--nvcc", default="nvcc")
    arguments.add_argument("--limit", type=int, default=60)
    arguments.add_argument("--page")
    arguments.add_argument("--only")
    arguments.add_argument("folder", type=pathlib.Path, nargs="?")
    given = arguments.parse_args()
    folder = given.folder.resolve() if given.folder else HERE
    projects = {p.name: p for p in read_projects((HERE / "projects.txt").read_text(), folder)}
    rows = []
    wrong = []
    scenarios = [Scenario(path) for path in sorted(KERNELS.glob("*.scenario"))]
    for scenario in sorted(scenarios, key=lambda s: (s.project != "toolkit", s.project.lower())):
        if given.only not in (None, scenario.project) or (given.folder is None and (scenario.project != "toolkit" or scenario.expected == "gave up")):
            continue
        line = re.search(r"^source .*$", scenario.text, re.MULTILINE).group(0)
        with tempfile.TemporaryDirectory() as temporary:
            ptx = pathlib.Path(temporary) / f"{scenario.name}.ptx"
            status, seconds, text = "error", 0.0, compiled(given.nvcc, line, folder, ptx)
            if not text:
                status, seconds, text = checked(given.checker, scenario, ptx, given.limit)
        print(f"{scenario.name}\t{status}\t{seconds:.2f} s\t{text}", flush=True)
        rows.append((scenario, status, seconds))
        if status != scenario.expected:
            wrong.append(f"{scenario.name} should be '{scenario.expected}', but is '{status}'")
    decided = sum(status in DECIDED for _, status, _ in rows)
    print(f"{decided} of {len(rows)} kernels of {len({s.project for s, _, _ in rows})} projects are decided within {given.limit} s")
    print("\n".join(wrong), end="\n" if wrong else "")
    if given.page:
        pathlib.Path(given.page).write_text(page_of(rows, projects))
    return 1 if wrong or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
