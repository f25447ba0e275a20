#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Counts membar-check lint's warnings in public projects before and after the projects fixed faults.

usage: lint_fixes.py [--checker FILE] [--nvcc FILE] [--only NAME] [--limit SECONDS] [--page FILE] FOLDER

FOLDER contains a clone of each project in lint_fixes.txt, bare or not, in a folder OWNER+NAME. A missing project is cloned from
GitHub. The sources of each commit are written to FOLDER/trees and their PTX to FOLDER/ptx. Files that already exist there are
reused.
"""

import argparse
import json
import pathlib
import re
import shlex
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


class Fix:
    """An entry of lint_fixes.txt."""

    def __init__(self, name):
        self.name = name
        self.fields = {}

    def __getattr__(self, field):
        return self.fields.get(field, "")


def read_fixes(text):
    fixes = []
    for row in text.splitlines():
        if not row or row.startswith("#"):
            continue
        word, _, rest = row.strip().partition(" ")
        if word == "fix":
            fixes.append(Fix(rest))
        else:
            fixes[-1].fields[word] = rest
    return fixes


def clone_of(folder, repository):
    """Returns the path of a project's git directory."""
    at = folder / repository.replace("/", "+")
    for candidate in (at / ".git", at / "repo", at):
        if (candidate / "objects").is_dir():
            return candidate
    subprocess.run(["git", "clone", "--quiet", "--bare", "--filter=blob:none", f"https://github.com/{repository}", str(at)], check=True)
    return at


def tree_of(folder, repository, commit, parts):
    """Returns a commit's sources, optionally only those in the given folders."""
    to = folder / "trees" / repository.replace("/", "+") / commit[:12]
    for part in parts or ["."]:
        if not (to / part).exists() or part == ".":
            to.mkdir(parents=True, exist_ok=True)
            done = to / ".whole"
            if part == "." and done.exists():
                continue
            archive = subprocess.Popen(["git", f"--git-dir={clone_of(folder, repository)}", "archive", commit, part], stdout=subprocess.PIPE)
            subprocess.run(["tar", "-x", "-C", str(to)], stdin=archive.stdout, check=True)
            if archive.wait() != 0:
                sys.exit(f"{repository} has no {part} at {commit}")
            if part == ".":
                done.touch()
    return to


def compiled(arguments, folder, fix, side):
    """Returns the PTX from before or after a fix, or an error message."""
    source_name = pathlib.Path(fix.source).stem
    to = folder / "ptx" / f"{fix.repository.split('/')[1]}.{source_name}.{fix.fields[side][:12]}.ptx"
    if to.exists():
        return to, ""
    to.parent.mkdir(exist_ok=True)
    root = tree_of(folder, fix.repository, fix.fields[side], fix.folders.split())
    others = {"here": str(HERE), "": str(root)}
    for other in fix.fields.get("with", "").split(","):
        if other.strip():
            name, repository, commit, *parts = other.split()
            others[name] = str(tree_of(folder, repository, commit, parts))
    options = re.sub(r"\{(\w*)\}", lambda m: others.get(m[1], str(folder / m[1])), fix.options)
    source = re.sub(r"\{(\w*)\}", lambda m: others[m[1]], fix.source)
    source = source if source.startswith("/") else str(root / source)
    part = to.with_suffix(".part")
    words = [arguments.nvcc, "-ptx", "-w", "-lineinfo", *shlex.split(options), "-o", str(part), source]
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=arguments.limit)
    except subprocess.TimeoutExpired:
        return to, f"takes more than {arguments.limit} s"
    if done.returncode != 0:
        return to, (done.stderr.strip().splitlines() or ["nvcc fails"])[0]
    part.rename(to)
    return to, ""


def line_of(warning):
    """Returns the source line that a warning names."""
    source = pathlib.Path(warning["source"])
    return source.read_text(errors="replace").splitlines()[warning["line"] - 1] if warning["line"] else ""


def warnings_of(arguments, ptx, fix):
    """Returns the source lines that this rule's warnings name in the kernels that the fix changes."""
    ran = subprocess.run([arguments.checker, "lint", "--show=note", "--format=json", str(ptx)], capture_output=True, text=True)
    if ran.returncode not in (0, 1):
        sys.exit(ran.stderr)
    report = json.loads(ran.stdout)
    for one in report["not_read"]:
        if re.search(fix.kernel, one["kernel"]):
            sys.exit(f"{ptx}: {one['kernel']} could not be read: {one['reason']}")
    return [w for w in report["warnings"] if w["rule"] == fix.rule and re.search(fix.kernel, w["kernel"]) and re.search(fix.about, w["message"])
            and re.search(fix.text, line_of(w))]


def row_of(fix, before, after):
    commit = f"[{fix.after[:10]}](https://github.com/{fix.repository}/commit/{fix.after})"
    return f"| {fix.repository.split('/')[1]} | {commit} {fix.what} | {fix.rule} | {before} | {after} |"


def table_of(fixes, rows, old):
    """Returns the table for the page. A fix that was not measured keeps its row."""
    measured = {fix.name: row_of(fix, before, after) for fix, before, after in rows}
    out = ["| project | fix | rule | before | after |", "|---|---|---|---|---|"]
    for fix in fixes:
        begin = row_of(fix, "", "").removesuffix("|  |  |")
        out += [measured[fix.name]] if fix.name in measured else [row for row in old.splitlines() if row.startswith(begin)]
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checker", default="membar-check")
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--only", default="")
    parser.add_argument("--limit", type=int, default=540)
    parser.add_argument("--page", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args()
    rows = []
    fixes = read_fixes((HERE / "lint_fixes.txt").read_text())
    for fix in fixes:
        if arguments.only and not re.search(arguments.only, fix.name):
            continue
        found = []
        for side in ("before", "after"):
            ptx, wrong = compiled(arguments, arguments.folder.resolve(), fix, side)
            if wrong:
                print(f"{fix.name}: {side} could not be compiled: {wrong}", flush=True)
                break
            found.append(warnings_of(arguments, ptx, fix))
        if len(found) < 2:
            continue
        for side, warnings in zip(("before", "after"), found):
            print(f"{fix.name}: {side}: " + ("; ".join(f"{w['confidence']} {w['text']}" for w in warnings) or "no warning"), flush=True)
        rows.append((fix, len(found[0]), len(found[1])))
    missed = [fix.name for fix, before, _ in rows if before == 0]
    late = [fix.name for fix, _, after in rows if after != 0]
    pdl = sum(fix.rule.startswith("pdl") for fix, *_ in rows)
    print(f"{len(rows)} fixes, {pdl} of programmatic dependent launch: {len(rows) - len(missed)} found before the fix, {len(late)} still "
          "reported after it")
    print(f"missed: {' '.join(missed)}\nwarned after: {' '.join(late)}")
    if arguments.page:
        begin, end = "<!-- lint_fixes: begin -->\n", "\n<!-- lint_fixes: end -->"
        text = arguments.page.read_text()
        a, b = text.index(begin) + len(begin), text.index(end)
        arguments.page.write_text(text[:a] + table_of(fixes, rows, text[a:b]) + text[b:])


if __name__ == "__main__":
    main()
