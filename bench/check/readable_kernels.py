#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts the kernels in public projects that membar-check can read, and the instructions that make it reject the others.

usage: readable_kernels.py [--checker FILE] [--nvcc FILE] [--jobs N] [--page FILE] [--only PROJECT] [--compile] [--count] FOLDER

FOLDER contains a checkout of each project in projects.txt, at the given commit, in a folder with the project's name. The PTX of project P
goes to FOLDER/ptx/P; a file that already exists there is not compiled again. Other .ptx files in FOLDER/ptx/P, for example from another
compiler, are also counted. A kernel that appears identically in several files counts once.
"""

import argparse
import collections
import concurrent.futures
import hashlib
import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WANTED_OF_ALL = 97
WANTED_OF_EACH = 95


class Project:
    """A project listed in projects.txt."""

    def __init__(self, name, origin, folder):
        self.name = name
        self.origin = origin  # "github:OWNER/NAME COMMIT", or empty for the files next to this script
        self.root = folder / name if origin else HERE
        self.options = []
        self.expected = ""
        self.sources = []  # the files, with their options

    def hash(self):
        """Returns the SHA-256 of the sources' names and contents."""
        result = hashlib.sha256()
        for source in sorted({s for s, _ in self.sources}):
            result.update(str(source.relative_to(self.root)).encode() + b"\0" + source.read_bytes())
        return result.hexdigest()[:16]


def read_projects(text, folder):
    """Returns the projects listed in projects.txt. A checkout that lacks a listed source is an error."""
    projects = []
    for line in (row for row in text.splitlines() if row and not row.startswith("#")):
        words = shlex.split(line)
        if words[0] == "project":
            projects.append(Project(words[1], " ".join(words[2:]), folder))
            continue
        project = projects[-1]
        if words[0] == "options":
            project.options = words[1:]
        elif words[0] == "hash":
            project.expected = words[1]
        elif words[0] == "source":
            options = [w for w in words[1:] if w.startswith("-")]
            for pattern in (w for w in words[1:] if not w.startswith("-")):
                found = sorted(project.root.glob(pattern))
                if not found and project.root.exists():
                    sys.exit(f"{project.root} has no {pattern}: is it a checkout of {project.origin}?")
                project.sources += [(source, options) for source in found]
    return projects


def compile_source(nvcc, project, source, options, to, limit):
    """Compiles one source. Returns an error message, or an empty string."""
    if to.exists():
        return ""
    to.parent.mkdir(parents=True, exist_ok=True)
    all_options = [o.replace("{}", str(project.root)).replace("{here}", str(HERE)) for o in project.options + options]
    part = to.with_suffix(".part")
    try:
        done = subprocess.run([nvcc, "-ptx", "-w", *all_options, "-o", str(part), str(source)], capture_output=True, text=True,
                              timeout=limit)
    except subprocess.TimeoutExpired:
        return f"takes more than {limit} s"
    if done.returncode != 0:
        lines = [row for row in (done.stderr + done.stdout).splitlines() if "error" in row]
        return (lines or ["nvcc fails"])[0]
    part.rename(to)
    return ""


KERNEL = re.compile(r"^(?:\.visible |\.weak )*\.entry ([\w$]+)", re.MULTILINE)


def kernels_of(text):
    """Yields each kernel of a PTX module with its text. Kernels that differ only in comments and `.loc` lines count as
    identical."""
    begins = list(KERNEL.finditer(text))
    for k, begin in enumerate(begins):
        end = begins[k + 1].start() if k + 1 < len(begins) else len(text)
        body = [row for row in text[begin.start():end].splitlines() if not row.lstrip().startswith((".loc", "//"))]
        yield begin.group(1), hashlib.sha256("\n".join(body).encode()).hexdigest()


def reason_of(message):
    """Returns the instruction that a message of membar-check calls unsupported, without its operands, or else the message
    itself."""
    quoted = re.search(r"'([a-z][\w:.]*)'", message)
    if quoted is not None and "." in quoted.group(1):
        return quoted.group(1)
    return re.sub(r"^\d+:\d+: |\d+", "", message)


class Count:
    def __init__(self):
        self.read = 0
        self.refused = collections.Counter()
        self.kernels = set()

    @property
    def all(self):
        return self.read + sum(self.refused.values())

    def percent(self):
        return 100 * self.read / self.all if self.all else 0

    def add(self, checker, ptx):
        """Counts the kernels of a file that have not been counted before."""
        text = ptx.read_text(errors="replace")
        fresh = collections.Counter()
        for name, body in kernels_of(text):
            if (name, body) not in self.kernels:
                self.kernels.add((name, body))
                fresh[name] += 1
        if not fresh:
            return
        done = subprocess.run([checker, "--read", str(ptx)], capture_output=True, text=True)
        answers = {}
        for row in done.stdout.splitlines():
            words = row.split("\t")
            if len(words) >= 3:
                answers[words[1]] = words[2:]
        whole = done.stdout.strip().split("\t")[-1] if not answers else "no answer"
        for name, number in fresh.items():
            answer = answers.get(name, ["error", whole])
            if answer[0] == "read":
                self.read += number
            else:
                self.refused[reason_of(answer[-1])] += number


def page_of(rows, total):
    lines = ["| project | commit | kernels | read | most frequent reasons for rejection |", "|---|---|---|---|---|"]
    for project, count in rows:
        commit = project.origin.split()[-1][:12] if project.origin else "CUDA 13.0"
        most = ", ".join(f"`{what}` {n}" if re.fullmatch(r"[\w:.]+", what) else f"{what} {n}" for what, n in count.refused.most_common(3))
        lines.append(f"| {project.name} | {commit} | {count.all} | {count.read} | {most} |")
    lines.append(f"| all | | {total.all} | {total.read} | |")
    return "\n".join(lines) + "\n"


def main():
    arguments = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    arguments.add_argument("--checker", default="membar-check")
    arguments.add_argument("--nvcc", default="nvcc")
    arguments.add_argument("--jobs", type=int, default=2)
    arguments.add_argument("--limit", type=int, default=400)
    arguments.add_argument("--page")
    arguments.add_argument("--only")
    arguments.add_argument("--compile", action="store_true", help="compile only")
    arguments.add_argument("--count", action="store_true", help="only count the PTX that exists, without compiling")
    arguments.add_argument("folder", type=pathlib.Path)
    given = arguments.parse_args()
    rows = []
    total = Count()
    good = True
    for project in read_projects((HERE / "projects.txt").read_text(), given.folder):
        if given.only not in (None, project.name) or (not project.options and not project.sources):
            continue
        if project.expected and project.sources and project.hash() != project.expected:
            sys.exit(f"the sources of {project.name} have hash {project.hash()}, but projects.txt has {project.expected}: "
                     f"check out {project.origin}")
        out = given.folder / "ptx" / project.name
        with concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
            jobs = []
            for source, options in [] if given.count else project.sources:
                arch = next(o for o in options if o.startswith("-arch=")).removeprefix("-arch=")
                to = out / (str(source.relative_to(project.root)).replace("/", "+") + f".{arch}.ptx")
                jobs.append((source, pool.submit(compile_source, given.nvcc, project, source, options, to, given.limit)))
        for source, job in jobs:
            if job.result():
                print(f"{project.name}: not compiled: {source.relative_to(project.root)}: {job.result()}", file=sys.stderr)
        if given.compile:
            print(project.name, project.hash() if project.sources else "", flush=True)
            continue
        count = Count()
        for ptx in sorted(out.glob("*.ptx")):
            count.add(given.checker, ptx)
        rows.append((project, count))
        total.read += count.read
        total.refused += count.refused
        print(f"{project.name}: {count.read} of {count.all} kernels are read, {count.percent():.1f} %", flush=True)
        for what, n in count.refused.most_common(25):
            print(f"  {n}\t{what}")
        good = good and (count.all == 0 or count.percent() >= WANTED_OF_EACH)
    if given.compile:
        return 0
    print(f"all: {total.read} of {total.all} kernels are read, {total.percent():.1f} %")
    if given.page:
        pathlib.Path(given.page).write_text(page_of(rows, total))
    return 0 if good and total.percent() >= WANTED_OF_ALL else 1


if __name__ == "__main__":
    sys.exit(main())
