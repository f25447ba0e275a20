#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the cost of including a membar header: the CPU time in seconds that its compilation takes, minus the CPU time for an
empty translation unit.

The CPU time includes all compiler processes. Headers are compiled in turn, several times, and the fastest compilation
counts, because other load on the machine only adds time. `.hpp` is compiled by the host compiler, `.cuh` by nvcc to PTX.
Budgets exist only for the library's own headers; <cuda/atomic> is measured for comparison with atomic.cuh. Headers that need an
optional package, NVSHMEM or NCCL, are measured only if they are named.
"""
import argparse
import pathlib
import resource
import subprocess
import sys
import tempfile

BUDGET = {".cuh": 0.05, ".hpp": 0.10}
REPORTED_ONLY = ("model/", "check/", "litmus/", "symmetric/", "interop/", "window_planning")
OPTIONAL = ("symmetric/nvshmem_", "symmetric/nccl_")
REFERENCE = "<cuda/atomic>"  # The header that a program would include instead of atomic.cuh.


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cxx", default="c++", help="host compiler (default: %(default)s)")
    parser.add_argument("--nvcc", help="CUDA compiler; without it .cuh headers are left out")
    parser.add_argument("--include", type=pathlib.Path, default=pathlib.Path(__file__).resolve().parents[2] / "include",
                        help="the folder that contains membar/ (default: %(default)s)")
    parser.add_argument("--architecture", default="sm_90", help="the architecture that nvcc compiles for (default: %(default)s)")
    parser.add_argument("--repetitions", type=int, default=7, help="compilations per header (default: %(default)s)")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a header is over its budget")
    parser.add_argument("--commits", nargs="+", metavar="COMMIT", default=[],
                        help="measure the headers of these commits of the repository in turn, and print a table; give headers after --")
    parser.add_argument("header", nargs="*", help="headers as in #include <membar/...> (default: every public one)")
    arguments = parser.parse_args()
    if arguments.repetitions < 1:
        parser.error("--repetitions must be at least 1")

    if arguments.commits:
        return by_commit(arguments)

    root = arguments.include / "membar"
    every = sorted(path.relative_to(root).as_posix() for path in root.rglob("*") if path.suffix in BUDGET)
    headers = arguments.header or [header for header in every if not header.startswith(("base/", "detail/", *OPTIONAL))]
    for header in headers:
        if header not in every:
            parser.error(f"there is no header {header} in {root}")
    if not arguments.nvcc:
        left_out = [header for header in headers if header.endswith(".cuh")]
        if left_out:
            print(f"no nvcc: left out: {' '.join(left_out)}")
        headers = [header for header in headers if header not in left_out]

    commands = {".hpp": [arguments.cxx, "-std=c++20", "-fsyntax-only", f"-I{arguments.include}"]}
    if arguments.nvcc:
        commands[".cuh"] = [arguments.nvcc, "-std=c++20", "-ptx", f"-arch={arguments.architecture}", "-o", "/dev/null",
                            f"-I{arguments.include}"]
        toolkit = pathlib.Path(arguments.nvcc).resolve().parents[1] / "include"
        commands[".hpp"].append(f"-isystem{toolkit}")

    needs_reference = "atomic.cuh" in headers
    with tempfile.TemporaryDirectory() as folder:
        units = {}  # name of the measurement -> (suffix, source)
        for suffix in {pathlib.PurePath(header).suffix for header in headers}:
            units[f"empty {suffix}"] = (suffix, "")
        for header in headers:
            units[header] = (pathlib.PurePath(header).suffix, f"#include <membar/{header}>\n")
        if needs_reference:
            units[REFERENCE] = (".cuh", f"#include {REFERENCE}\n")
        best = measure(units, commands, pathlib.Path(folder), arguments.repetitions)

    figures = []
    for header in headers + ([REFERENCE] if needs_reference else []):
        suffix = units[header][0]
        cost = best[header] - best[f"empty {suffix}"]
        figures.append({"header": header, "seconds": round(cost, 4), "budget": budget(header, suffix)})
    report(figures)
    over = [figure["header"] for figure in figures if figure["budget"] is not None and figure["seconds"] > figure["budget"]]
    return 1 if over and arguments.check else 0


def by_commit(arguments):
    """Prints a table of headers, with a column for each commit. All commits are measured in turn, so that the machine's load affects all
    of them equally."""
    if not arguments.header:
        sys.exit("--commits needs the headers to measure: give them after --, as in `--commits main~9 main -- fence.cuh`")
    repository = arguments.include.resolve().parent
    with tempfile.TemporaryDirectory() as folder:
        units, commands = {}, {}
        for commit in arguments.commits:
            target = pathlib.Path(folder) / str(len(commands))
            target.mkdir()
            tree = subprocess.run(["git", "-C", repository, "archive", commit, "include"], capture_output=True, check=False)
            if tree.returncode != 0:
                sys.exit(f"git has no headers of {commit}: {tree.stderr.decode().strip()}")
            subprocess.run(["tar", "-x", "-C", target], input=tree.stdout, check=True)
            include = target / "include"
            host = [arguments.cxx, "-std=c++20", "-fsyntax-only", f"-I{include}"]
            if arguments.nvcc:
                host.append(f"-isystem{pathlib.Path(arguments.nvcc).resolve().parents[1] / 'include'}")
                commands[commit, ".cuh"] = [arguments.nvcc, "-std=c++20", "-ptx", f"-arch={arguments.architecture}", "-o", "/dev/null", f"-I{include}"]
            commands[commit, ".hpp"] = host
            for header in arguments.header:
                suffix = pathlib.PurePath(header).suffix
                if (include / "membar" / header).exists() and (commit, suffix) in commands:
                    units[commit, f"empty {suffix}"] = ((commit, suffix), "")
                    units[commit, header] = ((commit, suffix), f"#include <membar/{header}>\n")
        best = measure(units, commands, pathlib.Path(folder), arguments.repetitions)
    print(f"| header | {' | '.join(arguments.commits)} |\n|---|{'---|' * len(arguments.commits)}")
    for header in arguments.header:
        empty = f"empty {pathlib.PurePath(header).suffix}"
        costs = [f"{best[commit, header] - best[commit, empty]:.3f}" if (commit, header) in best else "none" for commit in arguments.commits]
        print(f"| {header} | {' | '.join(costs)} |")
    return 0


def processor_seconds():
    """Returns the CPU time of all processes that this process has waited for, including their children."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def measure(units, commands, folder, repetitions):
    best = {}
    for _ in range(repetitions):
        for number, (name, (suffix, text)) in enumerate(units.items()):
            source = folder / f"{number}{'.cpp' if '.hpp' in suffix else '.cu'}"
            source.write_text(text)
            start = processor_seconds()
            done = subprocess.run([*commands[suffix], source], capture_output=True, text=True, check=False)
            seconds = processor_seconds() - start
            if done.returncode != 0:
                sys.exit(f"{name} does not compile:\n{done.stderr}")
            best[name] = min(seconds, best.get(name, seconds))
    return best


def budget(header, suffix):
    if header == REFERENCE or header.startswith(REPORTED_ONLY):
        return None
    return BUDGET[suffix]


def report(figures):
    width = max(len(figure["header"]) for figure in figures)
    print(f"{'header':<{width}}  {'cost/s':>7}  {'budget/s':>8}")
    for figure in figures:
        allowed = "-" if figure["budget"] is None else f"{figure['budget']:.3f}"
        over = figure["budget"] is not None and figure["seconds"] > figure["budget"]
        print(f"{figure['header']:<{width}}  {figure['seconds']:7.3f}  {allowed:>8}{'  over its budget' if over else ''}")


if __name__ == "__main__":
    sys.exit(main())
