#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the CUDA kernels of the Indigo suite, as the artifact of HiRace (SC 2024) has them, and writes a table by kind of planted fault.

usage: indigo.py ARTIFACT --checker=<membar-check> [--schedules=N] [--jobs=N] [--every=N] [--graphs=TEXT] [--explore] [--from=FILE.json] [--out=FILE.json] [--page=FILE.md]

ARTIFACT is a checkout of https://github.com/JohnJacobsonIII/HiRace-Artifact-SC24, whose sources stay there. Each kernel becomes one scenario per
graph of the artifact, with the data that the artifact's main program begins with, and is sanitized as the artifact launches it: 1024 blocks of
256 threads. A kernel is racy by its name: where that has atomicBug, guardBug, raceBug or syncBug. The arrays are
64 MiB apart, so that an index past the end of one is in none of the others. A run that was interrupted goes on after the kernels in --out.

With --explore all executions of small launches are explored: on the artifact's two graphs of 5 vertices, by more threads than vertices, and on two
graphs of 4 vertices with as many threads, or blocks, or warps as vertices. Of those every vertex has a neighbour, and two vertices have the same
neighbours: each planted race can happen, and no index is out of bounds.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import datetime
import json
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench/common"))
import include_hash  # noqa: E402
import results as result_files  # noqa: E402

RACY = ("atomicBug", "guardBug", "raceBug", "syncBug")
# Found of 346 racy kernels. Source: Table I of the artifact, results/paper_figures/table1.png
PUBLISHED = {  # graph: HiRace, iGUARD, compute-sanitizer
    "DAG_100n_200e": (346, 298, 92), "DAG_200n_400e": (346, 298, 92), "DAG_5n_5e": (182, 118, 92),
    "counterDAG_200n_1000e": (346, 298, 56), "counterDAG_5n_5e": (295, 148, 92), "power_law_200n_1000e": (346, 297, 128)}
BLOCKS, THREADS = 1024, 256
FIRST, APART = 1 << 32, 1 << 26  # of the arrays: their addresses
TOGETHER = 30  # kernels of one source
SMALL = {  # graph: vertices, where the neighbours of each begin, and the neighbours
    "one_neighbour_4n_4e": (4, (0, 1, 2, 3, 4), (3, 3, 3, 0)),
    "two_neighbours_4n_8e": (4, (0, 2, 4, 6, 8), (2, 3, 2, 3, 3, 1, 0, 1))}


def read_graph(path):
    """Vertices, and the two arrays of a graph in the format of ECL."""
    data = path.read_bytes()
    nodes, edges = struct.unpack_from("<ii", data)
    values = struct.unpack_from(f"<{nodes + 1 + edges}i", data, 8)
    return nodes, values[:nodes + 1], values[nodes + 1:]


def data_of(name, graph):
    """What `data1` and `data2` begin with: as the artifact has it, or values that let every condition hold for several vertices."""
    nodes, _, neighbours = graph
    count = max(len(neighbours), 1)
    size = max(nodes, count)
    if name in SMALL:
        return [0] * size, list(range(size))
    libc = ctypes.CDLL(None)
    libc.srand(1)
    data1 = [0] + [libc.rand() % nodes for _ in range(size - 1)]
    return data1, [0] + [libc.rand() % count for _ in range(size - 1)]


def source_of(kernels):
    """All kernels as one source, as a compilation takes longer than most checks: each in its own namespace."""
    lines = ["#include <cuda.h>", "#include <cstdlib>", "#include <cstdio>"]
    return "\n".join(lines + [f'namespace k{n} {{\n#include "{kernel}"\n}}' for n, kernel in enumerate(kernels)]) + "\n"


def name_of(number):
    space = f"k{number}"
    return f"_ZN{len(space)}{space}11test_kernelEPiS0_S0_S0_i"


def scenario(how, number, graph, data, blocks, threads):
    nodes, index, neighbours = graph
    data1, data2 = data
    lines = [f"source kernels.cu -I{how.artifact / 'indigo/indigo_include'}"]
    for k, (name, values) in enumerate((("nindex", index), ("nlist", neighbours or (0,)), ("data1", data1), ("data2", data2))):
        at = "" if how.explore else f" at {FIRST + k * APART:#x}"
        lines.append(f"memory {name} s32[{len(values)}]{at} = {', '.join(map(str, values))}")
    lines.append(f"launch {name_of(number)} grid {blocks} block {threads} args nindex nlist data1 data2 {nodes}")
    return "\n".join(lines) + "\n"


def launch_of(how, kernel, name, graph):
    """Blocks and threads. Shuffles need whole warps."""
    if not how.explore:
        return BLOCKS, THREADS
    pattern = kernel.parent.name
    if pattern.endswith("_warp") or "_shfl" in kernel.stem:
        return graph[0], 32
    if pattern.endswith("_block"):
        return graph[0], 4
    return (2, graph[0] // 2) if name in SMALL else (2, 4)


def answers_of(how, kernels, graphs):
    """Of each kernel, for each graph its statuses and seconds."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, paths = pathlib.Path(temporary), {}
        (folder / "kernels.cu").write_text(source_of(kernels))
        for number, kernel in enumerate(kernels):
            for name, graph in graphs.items():
                path = folder / f"{number}_{name}.scenario"
                path.write_text(scenario(how, number, graph, data_of(name, graph), *launch_of(how, kernel, name, graph)))
                paths[str(path)] = kernel.stem, name
        command = [how.checker] + ([] if how.explore else ["sanitize", f"--schedules={how.schedules}"]) + ["--format=json", *paths]
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            files = json.loads(done.stdout)["files"]
        except (ValueError, KeyError):
            sys.exit(f"{kernels[0]}: {done.stdout[-300:]}{done.stderr[-300:]}")
        result = collections.defaultdict(dict)
        for f in files:
            kernel, graph = paths[f["file"]]
            found = [x["status"] for x in f["findings"]] if "findings" in f else [f["status"]]
            if "error" in found:
                sys.exit(f"{kernel}: {f['message']}")
            result[kernel][graph] = {"found": sorted(set(found)), "seconds": round(f.get("seconds", 0) / max(f.get("schedules", 1), 1), 4)}
            seeds = [x["seed"] for x in f.get("findings", []) if x["status"] == "race"]
            if seeds:
                result[kernel][graph]["seed"] = min(seeds)
        return result


def table(results, graphs, how):
    racy = [k for k in results if any(bug in k for bug in RACY)]
    right = [k for k in results if k not in racy]
    median = {g: statistics.median(results[k][g]["seconds"] for k in results) for g in graphs}

    def count(kernels, graph, status):
        return sum(status in results[k][graph]["found"] for k in kernels)

    if how.explore:
        lines = ["| graph | racy kernels: race | out of bounds first | verified | race-free kernels: race | out of bounds | verified | not decided | median s |",
                 "|---|---|---|---|---|---|---|---|---|"]
        for g in graphs:
            cells = [f"{count(of, g, status)} of {len(of)}" for of in (racy, right) for status in ("race", "out of bounds", "verified")]
            lines.append(f"| {g} | {' | '.join(cells)} | {count(results, g, 'gave up')} | {median[g]:.4f} |")
    else:
        lines = ["| graph | racy kernels found to race | HiRace | iGUARD | compute-sanitizer | alarms in race-free kernels | median s |",
                 "|---|---|---|---|---|---|---|"]
        for g in graphs:
            published = " | ".join(map(str, PUBLISHED.get(g, ("", "", ""))))
            lines.append(f"| {g} | {count(racy, g, 'race')} of {len(racy)} | {published} | {count(right, g, 'race')} of {len(right)} | {median[g]:.2f} |")
    kinds = collections.defaultdict(lambda: collections.Counter())
    for k in results:
        bugs = "+".join(re.findall(r"[a-z]+Bug", k)) or "none"
        kinds[bugs]["kernels"] += 1
        kinds[bugs]["race"] += any("race" in r["found"] for r in results[k].values())
        kinds[bugs]["out of bounds"] += any("out of bounds" in r["found"] for r in results[k].values())
        others = {s for r in results[k].values() for s in r["found"]} - {"race", "out of bounds", "verified"}
        for s in others:
            kinds[bugs][s] += 1
    lines += ["", "| planted | kernels | race on some graph | out of bounds | other |", "|---|---|---|---|---|"]
    for bugs, c in sorted(kinds.items()):
        others = ", ".join(f"{n} {s}" for s, n in c.items() if s not in ("kernels", "race", "out of bounds")) or "0"
        lines.append(f"| {bugs} | {c['kernels']} | {c['race']} | {c['out of bounds']} | {others} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("artifact", type=pathlib.Path)
    parser.add_argument("--checker", default="membar-check")
    parser.add_argument("--schedules", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="every n-th kernel only")
    parser.add_argument("--graphs", default="", help="only graphs with this in their names")
    parser.add_argument("--explore", action="store_true")
    parser.add_argument("--from", dest="before", type=pathlib.Path, help="only writes the table, of the results in this file")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path, help="replaces the table of a page between its marks")
    how = parser.parse_args()
    how.artifact = how.artifact.resolve()
    kernels = sorted((how.artifact / "indigo/indigo_sources").glob("*/*.cu"))[::how.every]
    graphs = {p.stem: read_graph(p) for p in sorted((how.artifact / "indigo/input").glob("*.egr"))
              if how.graphs in p.stem and (not how.explore or "_5n_" in p.stem)}
    graphs |= SMALL if how.explore else {}
    if not kernels or not graphs:
        sys.exit(f"{how.artifact} has no indigo/indigo_sources/*/*.cu or no indigo/input/*.egr: give a checkout of the artifact")
    context = {"date": datetime.date.today().isoformat(), "explores": how.explore, "schedules": 0 if how.explore else how.schedules,
               **{folder: include_hash.tree_hash(ROOT / folder).hexdigest() for folder in ("include", "tools")}}
    before = how.before or (how.out if how.out and how.out.exists() else None)
    written = json.loads(before.read_text()) if before else {"kernels": {}}
    results = written["kernels"]
    if before and not how.before and any(written["context"][k] != context[k] for k in ("explores", "schedules", "include", "tools")):
        sys.exit(f"{before} is of other options or of another version: give another --out, or remove it")
    kernels = [] if how.before else [k for k in kernels if k.stem not in results]
    with concurrent.futures.ThreadPoolExecutor(how.jobs) as pool:
        for answers in pool.map(lambda some: answers_of(how, some, graphs), [kernels[n:n + TOGETHER] for n in range(0, len(kernels), TOGETHER)]):
            results.update(answers)
            if how.out:
                how.out.write_text(result_files.text_of({"context": context, "kernels": results}), encoding="utf-8")
    text = table(results, list(graphs), how)
    print(text)
    if how.page:
        begin = "<!-- what bench/check/indigo.py " + ("--explore " if how.explore else "") + "writes -->\n"
        page = how.page.read_text(encoding="utf-8")
        how.page.write_text(re.sub(f"({re.escape(begin)}).*?(<!-- its end -->)", lambda m: m[1] + text + "\n" + m[2], page, flags=re.S), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
