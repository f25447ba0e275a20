#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that docs/from_0.2_to_0.3.sed turns a program that uses version 0.2 into one that compiles with the headers of this repository.

usage: migration_test.py <compiler> [<option>...]
"""
import pathlib
import subprocess
import sys
import tempfile

SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "from_0.2_to_0.3.sed"

# Parts of a program that compiles with version 0.2.
PARTS = {
    "vector": """#include <membar/atomic.hpp>
using four = membar::vector<float, 4>;
""",
    "deadlock": """#include <membar/symmetric/deadlock/recorder.hpp>
membar::symmetric::deadlock::recorder recorded(2, membar::symmetric::deadlock::callers::one_per_pe);
""",
    "pe": """#include <membar/symmetric/pe.hpp>
membar::symmetric::pe next(membar::symmetric::pe from) { return membar::symmetric::ring_neighbour(from, 1, 4); }
using both = decltype(membar::symmetric::pe_range(membar::symmetric::pe(0), 2));
using identity = membar::symmetric::object_identity;
membar::symmetric::peer_backend* of = nullptr;
""",
    "private_memory": """#include <membar/model/memory_apart.hpp>
using apart = membar::model::memory_apart;
""",
    "event_kind": """#include <membar/model/execution.hpp>
constexpr auto in = membar::model::event_kind::sent, out = membar::model::event_kind::received;
""",
}
OLD_NAMES = ("membar::vector", "symmetric/deadlock", "symmetric::deadlock", "symmetric::pe;", "symmetric::pe(", "symmetric::pe_range", "symmetric::ring_neighbour",
             "symmetric::object_identity", "memory_apart", "::sent", "::received")
NO_LONGER_COMPILE = {"vector", "private_memory", "event_kind"}


def migrated(text):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "source.cpp"
        source.write_text(text)
        subprocess.run(["sed", "-E", "-i", "-f", SCRIPT, source], check=True)
        return source.read_text()


def compiles(compiler, text):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "source.cpp"
        source.write_text(text)
        done = subprocess.run([*compiler, source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode == 0, done.stdout


def main():
    compiler = sys.argv[1:]
    faults = []
    for name, old in PARTS.items():
        new = migrated(old)
        kept = [word for word in OLD_NAMES if word in new]
        if kept:
            faults.append(f"{name}: the script keeps {', '.join(kept)}")
        if migrated(new) != new:
            faults.append(f"{name}: a second run of the script changes the program again")
        good, said = compiles(compiler, new)
        if not good:
            faults.append(f"{name}: the changed program does not compile:\n{new}{said[:2000]}")
        if compiles(compiler, old)[0] == (name in NO_LONGER_COMPILE):
            faults.append(f"{name}: docs/from_0.2_to_0.3.md is wrong about whether the old name still compiles")
    untouched = "#include <membar/symmetric/heap.hpp>\nmembar::symmetric::peer_backend gpus; std::vector<int> v; my::event_kind::sent;\n"
    if migrated(untouched) != untouched:
        faults.append("the script changes a program that uses no old name")
    print("\n".join(faults) if faults else f"{len(PARTS)} parts of a program were migrated")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
