#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the includes among the headers go one way, and that no header is too long.

usage: include_arrows.py <include folder>
       include_arrows.py --made-violations    shows that each kind of violation is found

Vocabulary <- core and detail <- sync, symmetric, litmus, interop; the model depends on the vocabulary alone, the
checker on the model. Vocabulary, model and checker include nothing of the CUDA toolkit. Headers of libcu++ that are slow to compile are
for interop. Exit status: 0 if there is no violation, 1 if there is one.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^ *# *include *[<"]([^>"]+)[>"]', re.MULTILINE)
TOOLKIT = re.compile(r"(cuda|cooperative_groups|driver_types|nv|vector_types)")
VOCABULARY = {"version.hpp", "thread_scope.hpp", "memory_order.hpp", "detail/config.hpp"}
WINGS = ["symmetric/deadlock", "symmetric", "litmus", "check", "model", "interop", "sync", "detail"]
MAY_INCLUDE = {
    "vocabulary": {"vocabulary"},
    "core": {"vocabulary", "core", "detail"},
    "detail": {"vocabulary", "core", "detail"},
    "sync": {"vocabulary", "core", "detail", "sync"},
    "interop": {"vocabulary", "core", "detail", "sync", "interop"},
    "symmetric": {"vocabulary", "core", "detail", "symmetric"},
    "symmetric/deadlock": {"vocabulary", "core", "symmetric", "symmetric/deadlock"},
    "model": {"vocabulary", "model"},
    "check": {"vocabulary", "model", "check"},
    "litmus": {"vocabulary", "core", "detail", "model", "litmus"},
}
LONGEST = 600
# What takes longer to compile than what it would be included for. interop/ has the bridges that need one.
HEAVY = {"cuda/atomic", "cuda/std/atomic", "cuda/annotated_ptr", "cuda/barrier"}


def wing_of(header):
    if header in VOCABULARY:
        return "vocabulary"
    return next((wing for wing in WINGS if header.startswith(wing + "/")), "core")


def cycle_from(header, includes, path, done):
    if header in path:
        return path[path.index(header):] + [header]
    if header in done:
        return None
    for other in includes.get(header, []):
        if found := cycle_from(other, includes, path + [header], done):
            return found
    done.add(header)
    return None


def violations(files):
    """`files`: the text of each header, by its name relative to include/membar."""
    found, includes = [], {}
    for name, text in sorted(files.items()):
        wing, own = wing_of(name), includes.setdefault(name, [])
        if (count := len(text.splitlines())) > LONGEST:
            found.append(f"{name}: {count} lines, more than {LONGEST}")
        for included in INCLUDE.findall(text):
            if included.startswith("membar/"):
                other = included.removeprefix("membar/")
                own.append(other)
                if wing_of(other) not in MAY_INCLUDE[wing]:
                    found.append(f"{name} ({wing}) includes {other} ({wing_of(other)})")
            elif wing in ("vocabulary", "model", "check") and TOOLKIT.match(included):
                found.append(f"{name} ({wing}) includes {included} of the CUDA toolkit")
            elif wing != "interop" and included in HEAVY:
                found.append(f"{name} ({wing}) includes {included}, which is slow to compile")
    done = set()
    found += [f"a cycle: {' -> '.join(cycle)}" for name in sorted(files) if (cycle := cycle_from(name, includes, [], done))][:1]
    return found


MADE = {
    "includes symmetric/pe.hpp": {"detail/lane.cuh": "#include <membar/symmetric/pe.hpp>"},
    "includes sync/lock.cuh": {"atomic.cuh": '#include "membar/sync/lock.cuh"'},
    "includes error.hpp": {"model/program.hpp": "# include <membar/error.hpp>"},
    "includes fence.cuh": {"memory_order.hpp": "#include <membar/fence.cuh>"},
    "includes cuda_runtime_api.h": {"model/program.hpp": "#include <cuda_runtime_api.h>"},
    "includes check/explore.hpp": {"model/decide.hpp": "#include <membar/check/explore.hpp>"},
    "includes litmus/test.hpp": {"model/test.hpp": "#include <membar/litmus/test.hpp>"},
    "includes symmetric/deadlock/check.hpp": {"symmetric/pe.hpp": "#include <membar/symmetric/deadlock/check.hpp>"},
    "a cycle": {"a.hpp": "#include <membar/b.hpp>", "b.hpp": "#include <membar/detail/c.hpp>", "detail/c.hpp": "#include <membar/a.hpp>"},
    "includes cuda/atomic, which": {"atomic.hpp": "#include <cuda/atomic>"},
    "601 lines": {"a.hpp": "\n" * 601},
}


def main():
    if sys.argv[1:] == ["--made-violations"]:
        unseen = [words for words, files in MADE.items() if not any(words in line for line in violations(files))]
        print(f"{len(MADE)} made violations, not found: {unseen}")
        return 1 if unseen else 0
    root = pathlib.Path(sys.argv[1], "membar")
    files = {path.relative_to(root).as_posix(): path.read_text(encoding="utf-8") for path in root.rglob("*.[hc]*")}
    found = violations(files)
    print("\n".join([*found, f"{len(files)} headers, {len(found)} violations"]))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
