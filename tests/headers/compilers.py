#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the headers with every compiler installed on this machine, and fills the table in docs/compilers.md with the results.

usage: compilers.py <repository> <nvcc> [--write] [--zig <python that has ziglang>] [--toolkits <folder of other_toolkits.py>]
       compilers.py <repository> <nvcc> --only <compiler>      tries one host compiler, and compares the result with its row of the page

Each row is for one compiler: it covers the plain headers, all `.hpp` headers with the headers of the CUDA toolkit and, for CUDA compilers,
all headers. The row of a compiler that is not installed does not change; the row of a compiler that was never tried is marked. Without
--write the table is only printed. Exit status: 0 if everything that was tried compiles or, with --only, matches the page; 1 if
not. With --only, the first line of the output starts with SKIPPED if the compiler is not installed.
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import nvrtc as run_time_compiler
import other_toolkits

BEGIN, END = "<!-- compilers.py begins -->", "<!-- compilers.py ends -->"
WARNINGS = ["-Wall", "-Wextra", "-Wconversion", "-Wshadow", "-Wpedantic", "-Werror"]
HOST_COMPILERS = ["g++-12", "g++-13", "g++-14", "clang++-14", "clang++-16", "clang++-18", "clang++-19", "clang++-20"]
NEVER = {
    "nvcc 12.8, 12.9": "untried: PyPI's packages for CUDA 12 do not contain nvcc",
    "clang as CUDA compiler": "does not compile: the instruction texts are passed to inline PTX through nvcc's `\"C\"` constraint, which clang does not support",
    "MSVC, and other compilers for Windows": "untried. The headers use `__int128`, `__builtin_` functions and `__attribute__`, which MSVC does not support",
}


def plain_headers(include):
    """Returns the headers that do not include the toolkit's headers, directly or indirectly."""
    texts = {path.relative_to(include).as_posix(): path.read_text() for path in include.rglob("*") if path.suffix in (".hpp", ".cuh")}

    def is_plain(name, seen):
        seen.add(name)
        for other in re.findall(r"^ *# *include *<([^>]+)>", re.sub(r"#if defined\(__CUDACC__\)\n.*?#endif", "", texts[name], flags=re.S), re.M):
            if re.match("(cuda|nvshmem|driver_types)", other) or other in texts and other not in seen and not is_plain(other, seen):
                return False
        return True

    return [name for name in other_toolkits.headers(include, ["**/*.hpp"]) if is_plain(name, set())]


def verdict(command, headers, suffix):
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / f"unit{suffix}"
        source.write_text("".join(f"#include <{name}>\n" for name in headers))
        done = subprocess.run([*command, *(["-o", f"{folder}/unit.o"] if "-c" in command else []), source], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode == 0:
        return f"{len(headers)} headers"
    first = next((line for line in done.stdout.splitlines() if "error" in line), done.stdout[:200])
    print(f"{' '.join(map(str, command))}:\n{done.stdout[:3000]}", file=sys.stderr)
    return "**no**: " + re.sub(r"^\S*/include/", "", first).replace("|", "\\|")[:160]


def progress(row):
    """Prints each row as soon as it is known, because all rows together take minutes."""
    print(f"{row[0]}: {' | '.join(filter(None, row[1]))}", flush=True)
    return row


def host_row(name, compiler, include, toolkit):
    common = [*compiler, "-std=c++20", "-c", *WARNINGS, f"-I{include}"]
    hosts = other_toolkits.headers(include, ["**/*.hpp"])
    return name, (verdict(common, plain_headers(include), ".cpp"), verdict([*common, "-isystem", toolkit], hosts, ".cpp"), "")


def outcome(cell):
    """Returns a cell's outcome without the number of headers, which is as of the day when the cell was filled. An untried cell counts as
    one that compiles."""
    return "does not compile" if cell.startswith("**no**") else "compiles"


def only(compiler, include, toolkit, rows):
    """Tries one host compiler, for the test that checks its row."""
    if not shutil.which(compiler):
        print(f"SKIPPED: there is no {compiler} here")
        return 0
    kind, version = compiler.split("-")
    name, cells = host_row(f"{kind.replace('clang++', 'clang')} {version}", [compiler], include, toolkit)
    print(f"{name}: {' | '.join(cells[:2])}")
    said = rows.get(name, ("untried", "untried", ""))
    differ = [place for place, cell, page in zip(("plain headers", "`.hpp`"), cells, said) if outcome(cell) != outcome(page)]
    for place in differ:
        print(f"the row of {name} in docs/compilers.md differs for {place}: {said}")
    return 1 if differ else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("nvcc", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--zig", type=pathlib.Path)
    parser.add_argument("--toolkits", type=pathlib.Path)
    parser.add_argument("--only", metavar="COMPILER", choices=HOST_COMPILERS)
    asked = parser.parse_args()
    include = asked.repository.resolve() / "include"
    toolkit = asked.nvcc.resolve().parents[1] / "include"
    page = asked.repository / "docs" / "compilers.md"
    before, rest = page.read_text().split(BEGIN)
    table, after = rest.split(END)
    rows = {cells[0]: tuple(cells[1:]) for line in table.splitlines()[3:] if (cells := [each.strip() for each in line.strip("| \n").split(" | ")]) != [""]}
    rows = {name: (*cells, "", "", "")[:3] for name, cells in rows.items()}

    if asked.only:
        return only(asked.only, include, toolkit, rows)
    found = []
    for compiler in HOST_COMPILERS:
        kind = "g++" if compiler.startswith("g") else "clang"
        if shutil.which(compiler):
            found.append(progress(host_row(f"{kind} {compiler.split('-')[1]}", [compiler], include, toolkit)))
        else:
            rows.setdefault(f"{kind} {compiler.split('-')[1]}", ("untried", "untried", ""))
    if asked.zig:
        zig = [str(asked.zig), "-m", "ziglang", "c++", "-Wno-unused-command-line-argument"]
        version = re.search(r"clang version (\d+)", subprocess.run([*zig, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout)[1]
        found.append(progress(host_row(f"clang {version} with libc++", zig, include, toolkit)))
    every = other_toolkits.headers(include, ["**/*.hpp", "**/*.cuh"])
    nvccs = [asked.nvcc]
    if asked.toolkits:
        nvccs += list(asked.toolkits.glob("nvcc/lib/python3*/site-packages/nvidia/cu13/bin/nvcc"))
    for nvcc in nvccs:
        version = re.search(r"release (\S+),", subprocess.run([nvcc, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout)[1]
        cuda = [nvcc, "-std=c++20", "-cubin", "-arch=sm_90", "-o", "/dev/null", f"-I{include}", "-Werror=all-warnings"]
        found.append(progress((f"nvcc {version}", ("", "", verdict(cuda, every, ".cu")))))
    libraries = [(asked.nvcc.resolve().parents[1] / "lib" / "libnvrtc.so", toolkit / "cccl")]
    if asked.toolkits:
        for kind in ("nvrtc_oldest", "nvrtc_newest"):
            for library in (asked.toolkits / kind).glob("**/lib/libnvrtc.so.*"):
                libraries.append((library, next((asked.toolkits / kind).glob("**/include/**/cuda/std/atomic")).parents[2]))
    for library, libcudacxx in libraries:
        if library.exists():
            compiler = run_time_compiler.Nvrtc(library, run_time_compiler.texts(include, "membar") | run_time_compiler.texts(libcudacxx, "cuda", "nv"))
            ran = []
            failed = run_time_compiler.compile_all(compiler, asked.repository.resolve(), [90], False, ran)
            count = len(run_time_compiler.device_headers(include))
            said = f"{count} device headers, to machine code" if failed == 0 else f"**no**: {ran[0][:160]}"
            found.append(progress((f"NVRTC {compiler.version}", ("", "", said))))
    rows |= dict(found)
    rows |= {name: ("", "", why) for name, why in NEVER.items()}
    lines = ["| compiler | plain headers | `.hpp`, with CUDA 13.0's headers | as CUDA C++ |", "|---|---|---|---|"]
    lines += [f"| {name} | {' | '.join(cells)} |" for name, cells in rows.items()]
    text = f"{before}{BEGIN}\n" + "\n".join(lines) + f"\n{END}{after}"
    print("\n".join(lines))
    if asked.write:
        page.write_text(text)
    return 1 if any("**no**" in cell for _, cells in found for cell in cells) else 0


if __name__ == "__main__":
    sys.exit(main())
