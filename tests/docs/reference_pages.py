#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reports public headers without a page in the reference, and pages without a compiled example, errors or costs.

usage: reference_pages.py [--root FOLDER]

Every header of include/membar outside of base/ and detail/ must be named by its path, such as `sync/ticket_lock.cuh`, in a heading or a
table row of a page in docs/headers. A ```cpp block of that page must include it; extract_snippets.py compiles these blocks. If the header
needs a package that may be missing, a ```c++ block is enough. Each page must list the costs and errors of the calls.
"""
import argparse
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PACKAGES = re.compile(r"symmetric/(nvshmem|nccl)_")  # Headers that need a package that may be missing.
BLOCK = re.compile(r"^```(\S*)\n(.*?)^```", re.M | re.S)
SECTIONS = {"what it costs": r"^\*\*Costs?\b|^#+ .*\b[Cc]ost", "which errors it has": r"^\*\*(Errors|Ends)\b|^#+ .*\b[Ee]rrors\b"}


OLD_NAMES = "symmetric/deadlock/"  # Headers that only include others.


def headers(root):
    folder = root / "include" / "membar"
    return sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*")
                  if file.suffix in (".hpp", ".cuh") and OLD_NAMES not in file.as_posix() and not {"base", "detail"} & set(file.relative_to(folder).parts))


class Page:
    def __init__(self, file):
        text = file.read_text(encoding="utf-8")
        blocks = BLOCK.findall(text)
        self.name = file.name
        self.text = BLOCK.sub("", text)
        self.titles = "\n".join(line for line in self.text.splitlines() if line.lstrip().startswith(("#", "|")))
        self.compiled = {name for kind, code in blocks if kind == "cpp" for name in re.findall(r"^#include <membar/(\S+)>", code, re.M)}
        self.shown = {name for _, code in blocks for name in re.findall(r"^#include <membar/(\S+)>", code, re.M)}

    def names(self, header):
        return re.search(rf"(?<![\w/]){re.escape(header)}(?!\w)", self.titles) is not None


def faults(root):
    pages = [Page(file) for file in sorted((root / "docs" / "headers").glob("*.md"))]
    known = headers(root)
    for header in known:
        on = [page for page in pages if page.names(header)]
        if not on:
            yield f"{header} is not in any heading or table row of a page in docs/headers"
        elif not any(header in (page.shown if PACKAGES.match(header) else page.compiled) for page in on):
            yield f"{header} is not included by any compiled block of {' or '.join(page.name for page in on)}"
    for page in pages:
        for what, pattern in SECTIONS.items():
            if not re.search(pattern, page.text, re.M):
                yield f"docs/headers/{page.name} does not say {what}"
        if not any(page.names(header) for header in known):
            yield f"docs/headers/{page.name} names no header of include/membar"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--root", type=pathlib.Path, default=ROOT)
    root = parser.parse_args().root
    found = list(faults(root))
    print(*found, f"{len(headers(root))} public headers, {len(found)} faults in their pages", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
