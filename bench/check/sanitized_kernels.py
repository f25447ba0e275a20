#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the findings of membar-check sanitize in one schedule and in ten schedules with the findings of exploration, for the
bug corpus, for kernels from public projects, and for recordings, and writes a table.

usage: sanitized_kernels.py [--checker FILE] [--nvcc FILE] [--limit SECONDS] [--jobs N] [--ptx FOLDER] [--from FILE.json] [--out FILE.json] [--page FILE.md] [FOLDER]

FOLDER contains a checkout of each project at the commit that projects.txt gives, as for decided_kernels.py. Kernels that do not
compile on this machine are left out. Without FOLDER, only the kernels in the toolkit's headers are compared. --limit limits the
CPU time, in
seconds, of the exploration and of the ten schedules separately. --ptx keeps the compiled sources, which are then not compiled
again.
"""

import argparse
import collections
import concurrent.futures
import datetime
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from decided_kernels import KERNELS, compiled
from readable_kernels import HERE

ROOT = HERE.parents[1]
sys.path.insert(0, str(ROOT / "bench/common"))
import include_hash  # noqa: E402
import results as result_files  # noqa: E402

SCHEDULES = 10
BUGS, RECORDINGS = ROOT / "examples/bugs", ROOT / "tests/record/recordings"
GROUPS = {"bug corpus, wrong": sorted(BUGS.glob("*.wrong.scenario")), "bug corpus, fixed": sorted(BUGS.glob("*.fixed.scenario")),
          "kernels of public projects": sorted(KERNELS.glob("*.scenario")), "recordings": sorted(RECORDINGS.glob("*.scenario"))}


def explored(checker, path, limit):
    done = subprocess.run(["prlimit", f"--cpu={limit}", checker, "--quiet", str(path)], capture_output=True, text=True)
    cells = (done.stdout.splitlines() or [""])[0].split("\t")
    return cells[1] if len(cells) > 1 else "gave up" if done.returncode < 0 else f"error: {done.stderr[-200:]}"


def sanitized(checker, path, limit):
    """Returns the schedules' findings, the first seed whose schedule shows a fault (0 if there is none), and whether all
    schedules end."""
    done = subprocess.run(["prlimit", f"--cpu={limit}", checker, "sanitize", f"--schedules={SCHEDULES}", "--format=json", str(path)],
                          capture_output=True, text=True)
    try:
        file = json.loads(done.stdout)["files"][0]
    except (ValueError, KeyError, IndexError):
        return {"found": [], "seed": 0, "ended": False}
    findings = file.get("findings", [{"status": "gave up"}])
    faults = [f for f in findings if f["status"] != "gave up"]
    return {"found": sorted({f["status"] for f in faults}), "seed": min((f["seed"] for f in faults), default=0), "ended": len(faults) == len(findings)}


class Modules:
    """Returns the PTX of the scenarios' sources, each compiled once. `folder` contains copies of the scenarios that name the
    PTX."""

    def __init__(self, given, folder):
        self.given, self.folder, self.done = given, folder, {}
        self.kept = given.ptx or folder
        self.kept.mkdir(parents=True, exist_ok=True)

    def with_ptx(self, path):
        """Returns a copy of a scenario that names PTX files instead of sources, or None if a source does not compile here."""
        text = path.read_text()
        line = re.search(r"^source .*$", text, re.MULTILINE).group(0)
        if line.split()[1].endswith(".ptx"):
            return path
        if self.given.folder is None and "{}" in line:
            return None
        key = f"{path.parent.name} {line}"
        if key not in self.done:
            ptx = self.kept / f"{hashlib.sha256(key.encode()).hexdigest()[:16]}.ptx"
            problem = "" if ptx.exists() else compiled(self.given.nvcc, line, self.given.folder, ptx, path.parent)
            print(f"{line}: {problem[-300:]}" if problem else line, file=sys.stderr, flush=True)
            self.done[key] = None if problem else ptx
        if self.done[key] is None:
            return None
        copy = self.folder / path.name
        copy.write_text(text.replace(line, f"source {self.done[key]}"))
        return copy


def compare(given):
    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(given.jobs) as pool:
        modules, waiting = Modules(given, pathlib.Path(temporary)), {}
        for group, paths in GROUPS.items():
            scenarios = {path.name.removesuffix(".scenario"): modules.with_ptx(path) for path in paths}
            waiting[group] = {name: pool.submit(compared, given, group, name, path) for name, path in scenarios.items() if path is not None}
        return {group: {name: row.result() for name, row in rows.items()} for group, rows in waiting.items()}


def compared(given, group, name, path):
    row = {"explored": explored(given.checker, path, given.limit), **sanitized(given.checker, path, given.limit)}
    print(f"{group}\t{name}\t{row}", flush=True)
    return row


def is_fault(status):
    return status not in ("verified", "gave up") and not status.startswith("error")


def table(rows):
    lines = ["| scenarios | number | exploration: fault | verified | no verdict | sanitize: fault in one schedule | "
             f"fault in {SCHEDULES} schedules | no fault | some schedules did not end |",
             "|---|---|---|---|---|---|---|---|---|"]
    for group, some in rows.items():
        status = collections.Counter("fault" if is_fault(r["explored"]) else r["explored"].split(":")[0] for r in some.values())
        found = [r["seed"] for r in some.values() if r["seed"]]
        ended = [r for r in some.values() if not r["seed"] and r["ended"]]
        lines.append(f"| {group} | {len(some)} | {status['fault']} | {status['verified']} | {len(some) - status['fault'] - status['verified']} | "
                     f"{found.count(1)} | {len(found)} | {len(ended)} | {len(some) - len(found) - len(ended)} |")
    lines += ["", f"| scenario with different results | exploration | sanitize, {SCHEDULES} schedules |", "|---|---|---|"]
    for some in rows.values():
        for name, r in some.items():
            says = ", ".join(r["found"]) or ("clean" if r["ended"] else "some schedules did not end")
            if is_fault(r["explored"]) != bool(r["found"]) or not (is_fault(r["explored"]) or r["explored"] == "verified"):
                lines.append(f"| {name} | {r['explored'].split(':')[0]} | {says}{', seed ' + str(r['seed']) if r['seed'] else ''} |")
    return "\n".join(lines)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--checker", default="membar-check")
    arguments.add_argument("--nvcc", default="nvcc")
    arguments.add_argument("--limit", type=int, default=60)
    arguments.add_argument("--jobs", type=int, default=1, help="the number of scenarios that run at the same time")
    arguments.add_argument("--ptx", type=pathlib.Path)
    arguments.add_argument("--from", dest="before", type=pathlib.Path, help="only write the table of the results in this file")
    arguments.add_argument("--out", type=pathlib.Path)
    arguments.add_argument("--page", type=pathlib.Path, help="replace the table of a page between its marks")
    arguments.add_argument("folder", type=pathlib.Path, nargs="?")
    given = arguments.parse_args()
    given.folder, given.ptx = (folder and folder.resolve() for folder in (given.folder, given.ptx))
    if given.before:
        rows = json.loads(given.before.read_text())["groups"]
    else:
        context = {"date": datetime.date.today().isoformat(), "limit_s": given.limit, "schedules": SCHEDULES,
                   **{folder: include_hash.tree_hash(ROOT / folder).hexdigest() for folder in ("include", "tools")}}
        rows = compare(given)
        if given.out:
            given.out.write_text(result_files.text_of({"context": context, "groups": rows}), encoding="utf-8")
    text = table(rows)
    print(text)
    if given.page:
        begin = "<!-- what bench/check/sanitized_kernels.py writes -->\n"
        page = given.page.read_text(encoding="utf-8")
        given.page.write_text(re.sub(f"({re.escape(begin)}).*?(<!-- its end -->)", lambda m: m[1] + text + "\n" + m[2], page, flags=re.S), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
