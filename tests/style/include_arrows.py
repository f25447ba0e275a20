#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the includes among public headers, and those among engines and programs, follow the architecture, and that no header includes
tools.

usage: include_arrows.py <root of the project>
       include_arrows.py --made-violations    shows that each kind of violation is found

A part is a folder, or the files named in VOCABULARY. MAY_INCLUDE is the whole architecture. The vocabulary, the model, the PTX front end
and the checker include nothing from the CUDA toolkit. Only interop/ may include libcu++ headers that are slow to compile. The
script reports a tool's header that no other file includes as dead. Exit status: 0 if there is no violation, 1 if there is one.
"""

import pathlib
import re
import sys

INCLUDE = re.compile(r'^ *# *include *[<"]([^>"]+)[>"]', re.MULTILINE)
TOOLKIT = re.compile(r"(cuda|cooperative_groups|driver_types|nv|vector_types)")
VOCABULARY = {"membar/version.hpp", "membar/thread_scope.hpp", "membar/memory_order.hpp"}
CORE = {"base", "vocabulary", "core", "detail"}
# The old header names of deadlock/; these headers only include the new ones.
RENAMED = "symmetric/deadlock"
MAY_INCLUDE = {
    "base": {"base"},
    "vocabulary": {"base", "vocabulary"},
    "core": CORE,
    "detail": CORE,
    "sync": CORE | {"sync"},
    "interop": CORE | {"sync", "interop"},
    "symmetric": CORE | {"symmetric"},
    "deadlock": CORE - {"detail"} | {"deadlock"},
    RENAMED: {"deadlock"},
    "model": {"base", "vocabulary", "model"},
    "litmus": CORE | {"model", "litmus"},
    "tools/common": {"base", "vocabulary", "model"},
    "tools/ptx": {"vocabulary", "model", "tools/common", "tools/ptx"},
    "tools/litmus": CORE | {"model", "litmus", "tools/common", "tools/ptx", "tools/litmus"},
    "tools/check": {"vocabulary", "model", "tools/common", "tools/ptx", "tools/litmus", "tools/check"},
    "tools/sanitize": {"vocabulary", "model", "tools/ptx", "tools/check", "tools/litmus", "tools/sanitize"},
    "tools/lint": {"vocabulary", "model", "tools/ptx", "tools/lint"},
    "tools/witness": {"vocabulary", "model", "tools/ptx", "tools/check", "tools/witness"},
    "tools/membar-litmus": CORE | {"model", "litmus", "tools/common", "tools/ptx", "tools/litmus", "tools/membar-litmus"},
    "tools/membar-check": {"vocabulary", "model", "tools/common", "tools/ptx", "tools/litmus", "tools/check", "tools/intercept", "tools/lint",
                           "tools/sanitize", "tools/witness", "tools/membar-check"},
    "tools/intercept": {"tools/intercept"},
    "tools/membar-domains": {"tools/common", "tools/intercept", "tools/membar-domains"},
}
WITHOUT_TOOLKIT = {"base", "vocabulary", "model", "tools/ptx", "tools/check", "tools/lint", "tools/sanitize", "tools/witness"}
# Headers whose benefit does not justify their compile time. The bridges that need such a header are in interop/.
HEAVY = {"cuda/atomic", "cuda/std/atomic", "cuda/annotated_ptr", "cuda/barrier"}


def part_of(name):
    """Returns the part of a file's path that an #include names: membar/atomic.hpp, check/explore.hpp."""
    if name in VOCABULARY:
        return "vocabulary"
    folder = name.rpartition("/")[0]
    if folder == "membar":
        return "core"
    if folder.startswith("membar/"):
        return folder.removeprefix("membar/")
    return "tools/" + name.partition("/")[0]


def cycle_from(name, includes, path, done):
    if name in path:
        return path[path.index(name):] + [name]
    if name in done:
        return None
    for other in includes.get(name, []):
        if found := cycle_from(other, includes, path + [name], done):
            return found
    done.add(name)
    return None


def violations(files):
    """Checks `files`, which maps the name with which each source is included to its text."""
    found, includes = [], {}
    for name, text in sorted(files.items()):
        part, own = part_of(name), includes.setdefault(name, [])
        if part not in MAY_INCLUDE:
            found.append(f"{name}: no part {part} is known, so its includes cannot be checked: add it to MAY_INCLUDE")
            continue
        for included in INCLUDE.findall(text):
            if included.startswith("membar/") or included in files:
                own.append(included)
                if part_of(included) not in MAY_INCLUDE[part]:
                    found.append(f"{name} ({part}) includes {included} ({part_of(included)})")
            elif part in WITHOUT_TOOLKIT and TOOLKIT.match(included):
                found.append(f"{name} ({part}) includes {included} of the CUDA toolkit")
            elif part != "interop" and included in HEAVY:
                found.append(f"{name} ({part}) includes {included}, which is slow to compile")
    used = {included for own in includes.values() for included in own}
    found += [f"{name}: no file includes it" for name in files
              if name.endswith(".hpp") and part_of(name).startswith("tools/") and name not in used]
    done = set()
    found += [f"a cycle: {' -> '.join(cycle)}" for name in sorted(files) if (cycle := cycle_from(name, includes, [], done))][:1]
    return found


MADE = {
    "includes membar/symmetric/pe.hpp": {"membar/detail/lane.cuh": "#include <membar/symmetric/pe.hpp>"},
    "includes membar/sync/lock.cuh": {"membar/atomic.cuh": '#include "membar/sync/lock.cuh"'},
    "includes membar/error.hpp": {"membar/model/program.hpp": "# include <membar/error.hpp>"},
    "includes membar/fence.cuh": {"membar/memory_order.hpp": "#include <membar/fence.cuh>"},
    "includes membar/detail/lane.cuh": {"membar/memory_order.hpp": "#include <membar/detail/lane.cuh>"},
    "includes membar/version.hpp": {"membar/base/config.hpp": "#include <membar/version.hpp>"},
    "includes cuda_runtime_api.h": {"membar/model/program.hpp": "#include <cuda_runtime_api.h>"},
    "includes check/explore.hpp": {"membar/model/decide.hpp": "#include <check/explore.hpp>", "check/explore.hpp": ""},
    "includes check/graph.hpp": {"ptx/decode.hpp": "#include <check/graph.hpp>", "check/graph.hpp": ""},
    "includes membar/litmus/test.hpp": {"membar/model/test.hpp": "#include <membar/litmus/test.hpp>"},
    "includes membar/deadlock/check.hpp": {"membar/symmetric/pe.hpp": "#include <membar/deadlock/check.hpp>"},
    "includes membar/symmetric/pe.hpp (symmetric)": {"membar/deadlock/check.hpp": "#include <membar/symmetric/pe.hpp>"},
    "no part tools/other is known": {"other/a.hpp": ""},
    "no file includes it": {"check/a.hpp": ""},
    "a cycle": {"membar/a.hpp": "#include <membar/b.hpp>", "membar/b.hpp": "#include <membar/detail/c.hpp>",
                "membar/detail/c.hpp": "#include <membar/a.hpp>"},
    "includes cuda/atomic, which": {"membar/atomic.hpp": "#include <cuda/atomic>"},
}


def main():
    if sys.argv[1:] == ["--made-violations"]:
        unseen = [words for words, files in MADE.items() if not any(words in line for line in violations(files))]
        print(f"{len(MADE)} made violations, not found: {unseen}")
        return 1 if unseen else 0
    files = {path.relative_to(top).as_posix(): path.read_text(encoding="utf-8")
             for top in (pathlib.Path(sys.argv[1], "include"), pathlib.Path(sys.argv[1], "tools"))
             for path in top.rglob("*.[hc]*") if path.suffix in (".hpp", ".cuh", ".cpp", ".h")}
    found = violations(files)
    print("\n".join([*found, f"{len(files)} files, {len(found)} violations"]))
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
