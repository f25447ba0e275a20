#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the CUDA kernels of the Indigo suite, in the version from HiRace's artifact (SC 2024), and writes a table with one row
per kind of planted fault.

usage: indigo.py ARTIFACT --checker=<membar-check> [--ptx=FOLDER] [--schedules=N] [--jobs=N] [--minutes=N] [--every=N] [--graphs=TEXT] [--explore]
                 [--from=FILE.json] [--out=FILE.json] [--page=FILE.md]

ARTIFACT is a checkout of https://github.com/JohnJacobsonIII/HiRace-Artifact-SC24, which contains the sources. Each kernel becomes one
scenario per graph of the artifact, with the initial data from the artifact's main program, and is sanitized with the artifact's launch: 1024
blocks of 256 threads. A kernel counts as racy if its name contains atomicBug, guardBug, raceBug or syncBug. The arrays are 64 MiB apart, so
that an index past the end of one does not reach another.

Each kernel first runs on each graph in one schedule, and then in the other schedules, unless the first one showed a race,
because further schedules could then not change the table. The longest runs start first. When the time limit of --minutes has
passed, no new run starts, and unfinished runs are stopped. Finished runs are saved in --out, and the same command continues after them. --ptx
keeps the compiled kernels, so that a machine without nvcc can run them.

With --explore, all executions of small launches are explored: on the artifact's two graphs of 5 vertices with more threads than vertices,
and on two graphs of 4 vertices with as many threads, blocks or warps as vertices. In the graphs of 4 vertices, every vertex has
a neighbour, and two vertices have the same neighbours, so that each planted race can happen and no index is out of bounds.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import datetime
import json
import os
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/common"))
import include_hash  # noqa: E402
import results as result_files  # noqa: E402

RACY = ("atomicBug", "guardBug", "raceBug", "syncBug")
# Races found in the 346 racy kernels. Source: Table I of the artifact, results/paper_figures/table1.png
PUBLISHED = {  # graph: HiRace, iGUARD, compute-sanitizer
    "DAG_100n_200e": (346, 298, 92), "DAG_200n_400e": (346, 298, 92), "DAG_5n_5e": (182, 118, 92),
    "counterDAG_200n_1000e": (346, 298, 56), "counterDAG_5n_5e": (295, 148, 92), "power_law_200n_1000e": (346, 297, 128)}
BLOCKS, THREADS = 1024, 256
FIRST, APART = 1 << 32, 1 << 26  # The addresses of the arrays.
TOGETHER = 100  # The number of explorations per process, because most take less time than starting the process.
WRITE_EVERY = 30  # seconds
Run = collections.namedtuple("Run", "kernel graph seed schedules")  # The path of the kernel, the name of the graph, and the first seed.
SMALL = {  # graph: number of vertices, the position where each vertex's neighbours begin, and the neighbours.
    "one_neighbour_4n_4e": (4, (0, 1, 2, 3, 4), (3, 3, 3, 0)),
    "two_neighbours_4n_8e": (4, (0, 2, 4, 6, 8), (2, 3, 2, 3, 3, 1, 0, 1))}


def read_graph(path):
    """Returns the number of vertices and the two arrays of a graph in ECL's format."""
    data = path.read_bytes()
    nodes, edges = struct.unpack_from("<ii", data)
    values = struct.unpack_from(f"<{nodes + 1 + edges}i", data, 8)
    return nodes, values[:nodes + 1], values[nodes + 1:]


def data_of(name, graph):
    """Returns the initial values of `data1` and `data2`: the artifact's own, or values for which every condition holds for
    several vertices."""
    nodes, _, neighbours = graph
    count = max(len(neighbours), 1)
    size = max(nodes, count)
    if name in SMALL:
        return [0] * size, list(range(size))
    libc = ctypes.CDLL(None)
    libc.srand(1)
    data1 = [0] + [libc.rand() % nodes for _ in range(size - 1)]
    return data1, [0] + [libc.rand() % count for _ in range(size - 1)]


class Modules:
    """Compiles the kernels to PTX, one module for each folder of the artifact, because starting a compiler takes longer than most checks."""

    def __init__(self, artifact, folder):
        self.include, self.folder = artifact / "indigo/indigo_include", folder
        self.sources = {f: sorted(f.glob("*.cu")) for f in sorted((artifact / "indigo/indigo_sources").glob("*"))}

    def path(self, source_folder):
        return self.folder / f"{source_folder.name}.ptx"

    def compile(self, source_folder):
        """Compiles the kernels of a folder, each in its own namespace."""
        if self.path(source_folder).exists():
            return
        source, part = (self.folder / f"{source_folder.name}.{end}" for end in ("all.cu", "part"))
        lines = ["#include <cuda.h>", "#include <cstdlib>", "#include <cstdio>"]
        lines += [f'namespace k{n} {{\n#include "{kernel}"\n}}' for n, kernel in enumerate(self.sources[source_folder])]
        source.write_text("\n".join(lines) + "\n")
        done = subprocess.run([os.environ.get("CUDACXX", "nvcc"), "-std=c++20", "-ptx", "-arch=sm_90", "-lineinfo", "-w", "-I", self.include,
                               "-o", part, source], capture_output=True, text=True)
        if done.returncode != 0:
            sys.exit(f"{source_folder} could not be compiled: {done.stderr[-300:]}")
        part.rename(self.path(source_folder))
        source.unlink()

    def entry(self, kernel):
        space = f"k{self.sources[kernel.parent].index(kernel)}"
        return f"_ZN{len(space)}{space}11test_kernelEPiS0_S0_S0_i"


def scenario(how, kernel, name, graph):
    nodes, index, neighbours = graph
    data1, data2 = data_of(name, graph)
    blocks, threads = launch_of(how, kernel, name, graph)
    lines = [f"source {how.modules.path(kernel.parent)}"]
    for k, (array, values) in enumerate((("nindex", index), ("nlist", neighbours or (0,)), ("data1", data1), ("data2", data2))):
        at = "" if how.explore else f" at {FIRST + k * APART:#x}"
        lines.append(f"memory {array} s32[{len(values)}]{at} = {', '.join(map(str, values))}")
    lines.append(f"launch {how.modules.entry(kernel)} grid {blocks} block {threads} args nindex nlist data1 data2 {nodes}")
    return "\n".join(lines) + "\n"


def launch_of(how, kernel, name, graph):
    """Returns the numbers of blocks and threads. Kernels with shuffles need whole warps."""
    if not how.explore:
        return BLOCKS, THREADS
    pattern = kernel.parent.name
    if pattern.endswith("_warp") or "_shfl" in kernel.stem:
        return graph[0], 32
    if pattern.endswith("_block"):
        return graph[0], 4
    return (2, graph[0] // 2) if name in SMALL else (2, 4)


def answers_of(how, runs, graphs):
    """Returns the checker's answer for the file of each run, or None if the time is up. Errors do not stop other runs."""
    with tempfile.TemporaryDirectory() as temporary:
        files = {}
        for run in runs:
            path = pathlib.Path(temporary) / f"{run.kernel.stem}.{run.graph}.scenario"
            path.write_text(scenario(how, run.kernel, run.graph, graphs[run.graph]))
            files[str(path)] = run
        options = [] if how.explore else ["sanitize", f"--schedules={runs[0].schedules}", f"--seed={runs[0].seed}"]
        try:
            done = subprocess.run([how.checker, *options, "--format=json", *files], capture_output=True, text=True,
                                  timeout=max(how.deadline - time.monotonic(), 0.001))
        except subprocess.TimeoutExpired:
            return []
    try:
        answers = [(files[f["file"]], f) for f in json.loads(done.stdout)["files"]]
    except (ValueError, KeyError):
        how.errors.append(f"{runs[0].kernel.stem} on {runs[0].graph}: {done.stdout[-300:]}{done.stderr[-300:]} (exit status {done.returncode})")
        return []
    how.errors += [f"{run.kernel.stem} on {run.graph}: {f['message']}" for run, f in answers if f["status"] == "error"]
    return [(run, f) for run, f in answers if f["status"] != "error"]


def add(results, run, answer):
    """Adds the checker's answer for a run to the results of earlier schedules."""
    kernel = results.setdefault(run.kernel.stem, {})
    if "findings" not in answer:
        kernel[run.graph] = {"found": [answer["status"]], "seconds": round(answer["seconds"], 4)}
        return
    before = kernel.get(run.graph, {"found": [], "seconds": 0, "schedules": 0})
    schedules = before["schedules"] + answer["schedules"]
    seconds = (before["seconds"] * before["schedules"] + answer["seconds"]) / schedules
    after = {"found": sorted({*before["found"], *(f["status"] for f in answer["findings"])}), "schedules": schedules, "seconds": round(seconds, 4)}
    seeds = [f["seed"] for f in answer["findings"] if f["status"] == "race"]
    kernel[run.graph] = after | ({"seed": min(seeds)} if seeds else {})  # Earlier schedules had no race.


def execute(how, together, graphs, results, write):
    """Executes each list of runs in one process, the longest list first, until the time is up."""
    def cost(runs):
        return sum(results.get(r.kernel.stem, {}).get(r.graph, {"seconds": 0})["seconds"] * r.schedules for r in runs)

    def one(runs):
        return answers_of(how, runs, graphs) if time.monotonic() + cost(runs) < how.deadline else []

    written = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(how.jobs) as pool:
        all_runs = [pool.submit(one, runs) for runs in sorted(together, key=cost, reverse=True)]
        try:
            for n, done in enumerate(concurrent.futures.as_completed(all_runs), 1):
                for run, answer in done.result():
                    add(results, run, answer)
                if time.monotonic() > written + WRITE_EVERY:
                    write()
                    print(f"{n} of {len(all_runs)} runs", file=sys.stderr, flush=True)
                    written = time.monotonic()
        finally:
            pool.shutdown(cancel_futures=True)
            write()


def schedules_of(results, kernel, graph):
    return results.get(kernel, {}).get(graph, {}).get("schedules", 0)


def complete(how, results, kernel, graph):
    """Returns whether further runs cannot change the table."""
    one = results.get(kernel, {}).get(graph)
    return one is not None and (how.explore or one["schedules"] >= how.schedules or "race" in one["found"])


def runs_of(how, kernels, graphs, results, schedules):
    """Returns the runs that are still missing, up to this number of schedules."""
    return [Run(k, g, schedules_of(results, k.stem, g) + 1, schedules - schedules_of(results, k.stem, g)) for k in kernels for g in graphs
            if not complete(how, results, k.stem, g) and schedules_of(results, k.stem, g) < schedules]


def execute_all(how, kernels, graphs, results, write):
    for folder in {k.parent for k in kernels}:
        how.modules.compile(folder)
    if how.explore:
        runs = [Run(k, g, 0, 0) for k in kernels for g in graphs if not complete(how, results, k.stem, g)]
        execute(how, [runs[n:n + TOGETHER] for n in range(0, len(runs), TOGETHER)], graphs, results, write)
    else:
        for schedules in sorted({1, how.schedules}):
            execute(how, [[run] for run in runs_of(how, kernels, graphs, results, schedules)], graphs, results, write)


def median_of(results, kernels, graph):
    return statistics.median([results[k][graph]["seconds"] for k in kernels] or [0])


def done_on(how, results, graph):
    """Returns two sets: the racy and the race-free kernels that require no further run on a graph."""
    done = [k for k in results if complete(how, results, k, graph)]
    racy = [k for k in done if any(bug in k for bug in RACY)]
    return racy, [k for k in done if k not in racy]


def explored_table(how, results, graphs):
    def count(kernels, graph, status):
        return sum(status in results[k][graph]["found"] for k in kernels)

    lines = ["| graph | racy kernels: race | out of bounds first | verified | race-free kernels: race | out of bounds | verified | gave up | median seconds |",
             "|---|---|---|---|---|---|---|---|---|"]
    for g in graphs:
        racy, right = done_on(how, results, g)
        cells = [f"{count(of, g, status)} of {len(of)}" for of in (racy, right) for status in ("race", "out of bounds", "verified")]
        lines.append(f"| {g} | {' | '.join(cells)} | {count(racy + right, g, 'gave up')} | {median_of(results, racy + right, g):.4f} |")
    return lines


def alarm(kernel, one):
    """Returns whether a reported fault was not planted."""
    return bool(set(one["found"]) - ({"out of bounds"} if "boundsBug" in kernel else set()))


def sanitized_table(how, results, graphs):
    lines = [f"| graph | racy kernels found to race in one schedule | in {how.schedules} schedules | HiRace | iGUARD | compute-sanitizer | "
             "false alarms in race-free kernels | median seconds per schedule |", "|---|---|---|---|---|---|---|---|"]
    for g in graphs:
        racy, right = done_on(how, results, g)
        seeds = [results[k][g].get("seed", 0) for k in racy]
        alarms = sum(alarm(k, results[k][g]) for k in right)
        lines.append(f"| {g} | {seeds.count(1)} of {len(racy)} | {len(racy) - seeds.count(0)} of {len(racy)} | "
                     f"{' | '.join(map(str, PUBLISHED.get(g, ('', '', ''))))} | {alarms} of {len(right)} | {median_of(results, racy + right, g):.2f} |")
    return lines


def planted_table(results):
    """Returns the table of findings, with one row per kind of planted fault."""
    kinds = collections.defaultdict(collections.Counter)
    for k, graphs in results.items():
        kind = kinds["+".join(re.findall(r"[a-z]+Bug", k)) or "none"]
        kind["kernels"] += 1
        kind.update({s for r in graphs.values() for s in r["found"]} - {"verified"})
    lines = ["| planted faults | kernels | race on some graph | out of bounds | other |", "|---|---|---|---|---|"]
    for bugs, c in sorted(kinds.items()):
        others = ", ".join(f"{n} {s}" for s, n in c.items() if s not in ("kernels", "race", "out of bounds")) or "0"
        lines.append(f"| {bugs} | {c['kernels']} | {c['race']} | {c['out of bounds']} | {others} |")
    return lines


def table(how, results, kernels, graphs):
    missing = sum(not complete(how, results, k.stem, g) for k in kernels for g in graphs)
    lines = [f"{missing} of {len(kernels) * len(graphs)} pairs of a kernel and a graph have not been run in all schedules. They are not in this table.", ""]
    lines = lines if missing else []
    lines += explored_table(how, results, graphs) if how.explore else sanitized_table(how, results, graphs)
    return "\n".join(lines + [""] + planted_table(results))


def begun(how):
    """Returns the versions and options of this run, and the results so far."""
    context = {"date": datetime.date.today().isoformat(), "explores": how.explore, "schedules": 0 if how.explore else how.schedules,
               **{folder: include_hash.tree_hash(ROOT / folder).hexdigest() for folder in ("include", "tools")}}
    before = how.before or (how.out if how.out and how.out.exists() else None)
    if not before:
        return context, {}
    written = json.loads(before.read_text())
    if not how.before and any(written["context"][k] != context[k] for k in ("explores", "schedules", "include", "tools")):
        sys.exit(f"{before} was written with different options or by a different version: name another file with --out, or remove this file")
    return context, written["kernels"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact", type=pathlib.Path)
    parser.add_argument("--checker", default="membar-check")
    parser.add_argument("--schedules", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1, help="the number of concurrent processes")
    parser.add_argument("--minutes", type=float, default=10_000, help="the time after which all runs are stopped")
    parser.add_argument("--ptx", type=pathlib.Path, help="a folder for the compiled kernels; kernels that it already contains are not compiled again")
    parser.add_argument("--every", type=int, default=1, help="every n-th kernel only")
    parser.add_argument("--graphs", default="", help="only graphs whose names contain this text")
    parser.add_argument("--explore", action="store_true")
    parser.add_argument("--from", dest="before", type=pathlib.Path, help="only write the table of the results in this file")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path, help="replace the table of a page between its marks")
    how = parser.parse_args()
    how.artifact, how.deadline, how.errors = how.artifact.resolve(), time.monotonic() + 60 * how.minutes, []
    kernels = sorted((how.artifact / "indigo/indigo_sources").glob("*/*.cu"))[::how.every]
    graphs = {p.stem: read_graph(p) for p in sorted((how.artifact / "indigo/input").glob("*.egr"))
              if how.graphs in p.stem and (not how.explore or "_5n_" in p.stem)}
    graphs |= SMALL if how.explore else {}
    if not kernels or not graphs:
        sys.exit(f"{how.artifact} has no indigo/indigo_sources/*/*.cu or no indigo/input/*.egr: give a checkout of the artifact")
    context, results = begun(how)

    def write():
        if how.out:
            in_order = {k: dict(sorted(results[k].items())) for k in sorted(results)}
            how.out.write_text(result_files.text_of({"context": context, "kernels": in_order}), encoding="utf-8")

    if not how.before:
        with tempfile.TemporaryDirectory() as temporary:
            if how.ptx:
                how.ptx.mkdir(parents=True, exist_ok=True)
            how.modules = Modules(how.artifact, (how.ptx or pathlib.Path(temporary)).resolve())
            execute_all(how, kernels, graphs, results, write)
    text = table(how, {k.stem: results[k.stem] for k in kernels if k.stem in results}, kernels, list(graphs))
    print(text)
    if how.page:
        begin = "<!-- what bench/check/indigo.py " + ("--explore " if how.explore else "") + "writes -->\n"
        page = how.page.read_text(encoding="utf-8")
        how.page.write_text(re.sub(f"({re.escape(begin)}).*?(<!-- its end -->)", lambda m: m[1] + text + "\n" + m[2], page, flags=re.S), encoding="utf-8")
    if how.errors:
        print("\n".join(how.errors), file=sys.stderr)
    return 1 if how.errors else 0


if __name__ == "__main__":
    sys.exit(main())
