#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares what membar-check sanitize finds in one schedule and in ten with what exploration finds: in the bug corpus, in the kernels of public
projects, and in recordings. Writes a table.

usage: sanitized_kernels.py [--checker FILE] [--nvcc FILE] [--limit SECONDS] [--from FILE.json] [--out FILE.json] [--page FILE.md] [FOLDER]

FOLDER has a checkout of each project at the commit that projects.txt gives, as for decided_kernels.py. Kernels that do not compile here are left
out. Without FOLDER only the kernels of the toolkit's headers are compared. --limit is in seconds of processor time,
for exploration and for ten schedules each.
"""

import argparse
import collections
import datetime
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
    """What the schedules find, the first seed that shows a fault (0: none does), and whether all schedules end."""
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
    """The sources of scenarios as PTX, each compiled once."""

    def __init__(self, given, folder):
        self.given, self.folder, self.done = given, folder, {}

    def with_ptx(self, path):
        """A copy of a scenario that names PTX, or None if its source does not compile here."""
        text = path.read_text()
        line = re.search(r"^source .*$", text, re.MULTILINE).group(0)
        if line.split()[1].endswith(".ptx"):
            return path
        if self.given.folder is None and "{}" in line:
            return None
        if line not in self.done:
            ptx = self.folder / f"{len(self.done)}.ptx"
            problem = compiled(self.given.nvcc, line, self.given.folder, ptx, path.parent)
            print(f"{line}: {problem[-300:]}" if problem else line, file=sys.stderr, flush=True)
            self.done[line] = None if problem else ptx
        if self.done[line] is None:
            return None
        copy = self.folder / path.name
        copy.write_text(text.replace(line, f"source {self.done[line]}"))
        return copy


def compare(given):
    rows = {group: {} for group in GROUPS}
    with tempfile.TemporaryDirectory() as temporary:
        modules = Modules(given, pathlib.Path(temporary))
        for group, paths in GROUPS.items():
            for path in paths:
                scenario = modules.with_ptx(path)
                if scenario is not None:
                    name = path.name.removesuffix(".scenario")
                    rows[group][name] = {"explored": explored(given.checker, scenario, given.limit), **sanitized(given.checker, scenario, given.limit)}
                    print(f"{group}\t{name}\t{rows[group][name]}", flush=True)
    return rows


def is_fault(status):
    return status not in ("verified", "gave up") and not status.startswith("error")


def table(rows):
    lines = [f"| | scenarios | exploration: a fault | verified | not decided | sanitize: a fault in one schedule | in {SCHEDULES} | none | not all ended |",
             "|---|---|---|---|---|---|---|---|---|"]
    for group, some in rows.items():
        status = collections.Counter("fault" if is_fault(r["explored"]) else r["explored"].split(":")[0] for r in some.values())
        found = [r["seed"] for r in some.values() if r["seed"]]
        ended = [r for r in some.values() if not r["seed"] and r["ended"]]
        lines.append(f"| {group} | {len(some)} | {status['fault']} | {status['verified']} | {len(some) - status['fault'] - status['verified']} | "
                     f"{found.count(1)} | {len(found)} | {len(ended)} | {len(some) - len(found) - len(ended)} |")
    lines += ["", f"| where they differ | exploration | sanitize, {SCHEDULES} schedules |", "|---|---|---|"]
    for some in rows.values():
        for name, r in some.items():
            says = ", ".join(r["found"]) or ("clean" if r["ended"] else "not all schedules ended")
            if is_fault(r["explored"]) != bool(r["found"]) or r["explored"] == "gave up":
                lines.append(f"| {name} | {r['explored']} | {says}{', seed ' + str(r['seed']) if r['seed'] else ''} |")
    return "\n".join(lines)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--checker", default="membar-check")
    arguments.add_argument("--nvcc", default="nvcc")
    arguments.add_argument("--limit", type=int, default=60)
    arguments.add_argument("--from", dest="before", type=pathlib.Path, help="only writes the table, of the results in this file")
    arguments.add_argument("--out", type=pathlib.Path)
    arguments.add_argument("--page", type=pathlib.Path, help="replaces the table of a page between its marks")
    arguments.add_argument("folder", type=pathlib.Path, nargs="?")
    given = arguments.parse_args()
    given.folder = given.folder and given.folder.resolve()
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
