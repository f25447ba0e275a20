#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks the CUDA kernels of the Indigo suite, as the artifact of HiRace (SC 2024) has them, and writes a table by kind of planted fault.

usage: indigo.py ARTIFACT --checker=<membar-check> [--schedules=N] [--jobs=N] [--every=N] [--explore] [--out=FILE.json] [--page=FILE.md]

ARTIFACT is a checkout of https://github.com/JohnJacobsonIII/HiRace-Artifact-SC24, whose sources stay there. Each kernel becomes one scenario per
graph of the artifact, with the data that the artifact's main program begins with, and is sanitized as the artifact launches it: 1024 blocks of
256 threads. With --explore the graphs are two of 5 vertices, in 2 blocks of 32 threads or, of kernels that have a block or a warp per vertex,
of 5 blocks, and all executions are explored. A kernel is racy by its name: where that has atomicBug, guardBug, raceBug or syncBug.
"""

import argparse
import collections
import concurrent.futures
import ctypes
import json
import pathlib
import re
import statistics
import struct
import subprocess
import sys
import tempfile

RACY = ("atomicBug", "guardBug", "raceBug", "syncBug")
# Found of 346 racy kernels. Source: Table I of the artifact, results/paper_figures/table1.png
PUBLISHED = {  # graph: HiRace, iGUARD, compute-sanitizer
    "DAG_100n_200e": (346, 298, 92), "DAG_200n_400e": (346, 298, 92), "DAG_5n_5e": (182, 118, 92),
    "counterDAG_200n_1000e": (346, 298, 56), "counterDAG_5n_5e": (295, 148, 92), "power_law_200n_1000e": (346, 297, 128)}
BLOCKS, THREADS = 1024, 256


def read_graph(path):
    """Vertices, and the two arrays of a graph in the format of ECL."""
    data = path.read_bytes()
    nodes, edges = struct.unpack_from("<ii", data)
    values = struct.unpack_from(f"<{nodes + 1 + edges}i", data, 8)
    return nodes, values[:nodes + 1], values[nodes + 1:]


def scenario(kernel, include, graph, blocks, threads):
    nodes, index, neighbours = graph
    count = max(len(neighbours), 1)
    size = max(nodes, count)
    libc = ctypes.CDLL(None)
    libc.srand(1)
    data1 = [0] + [libc.rand() % nodes for _ in range(size - 1)]
    data2 = [0] + [libc.rand() % count for _ in range(size - 1)]
    lines = [f"source {kernel} -I{include}"]
    for name, values in (("nindex", index), ("nlist", neighbours or (0,)), ("data1", data1), ("data2", data2)):
        lines.append(f"memory {name} s32[{len(values)}] = {', '.join(map(str, values))}")
    lines.append(f"launch test_kernel grid {blocks} block {threads} args nindex nlist data1 data2 {nodes}")
    return "\n".join(lines) + "\n"


def small_launch(kernel):
    pattern = kernel.parent.name
    if pattern.endswith("_block"):
        return 5, 4
    return (5, 32) if pattern.endswith("_warp") else (2, 4)


def answers_of(how, kernel, graphs):
    """Of one kernel, for each graph its statuses and seconds."""
    with tempfile.TemporaryDirectory() as temporary:
        folder, paths = pathlib.Path(temporary), {}
        for name, graph in graphs.items():
            blocks, threads = small_launch(kernel) if how.explore else (BLOCKS, THREADS)
            path = folder / f"{name}.scenario"
            path.write_text(scenario(kernel, how.artifact / "indigo/indigo_include", graph, blocks, threads))
            paths[str(path)] = name
        command = [how.checker] + ([] if how.explore else ["sanitize", f"--schedules={how.schedules}"]) + ["--format=json", *paths]
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            files = json.loads(done.stdout)["files"]
        except (ValueError, KeyError):
            sys.exit(f"{kernel}: {done.stdout[-300:]}{done.stderr[-300:]}")
        result = {}
        for f in files:
            found = [x["status"] for x in f["findings"]] if "findings" in f else [f["status"]]
            seeds = [x["seed"] for x in f.get("findings", []) if x["status"] == "race"]
            result[paths[f["file"]]] = {"status": f["status"], "found": sorted(set(found)), "seconds": f.get("seconds", 0),
                                        "seed": min(seeds, default=None),
                                        "message": next((x["message"] for x in f.get("findings", [])), f.get("message", ""))}
        return result


def table(results, graphs, how):
    racy = [k for k in results if any(bug in k for bug in RACY)]
    right = [k for k in results if k not in racy]
    lines = ["| graph | racy kernels found to race | HiRace | iGUARD | compute-sanitizer | alarms in race-free kernels | median s |",
             "|---|---|---|---|---|---|---|"]
    for g in graphs:
        found = sum("race" in results[k][g]["found"] for k in racy)
        alarms = sum("race" in results[k][g]["found"] for k in right)
        published = PUBLISHED.get(g, ("", "", ""))
        seconds = statistics.median(results[k][g]["seconds"] for k in results) / (1 if how.explore else how.schedules)
        lines.append(f"| {g} | {found} of {len(racy)} | {' | '.join(map(str, published))} | {alarms} of {len(right)} | {seconds:.2f} |")
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
    parser.add_argument("--checker", required=True)
    parser.add_argument("--schedules", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--every", type=int, default=1, help="every n-th kernel only")
    parser.add_argument("--graphs", default="", help="only graphs with this in their names")
    parser.add_argument("--explore", action="store_true")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--page", type=pathlib.Path, help="replaces the table of a page between its marks")
    how = parser.parse_args()
    how.artifact = how.artifact.resolve()
    kernels = sorted((how.artifact / "indigo/indigo_sources").glob("*/*.cu"))[::how.every]
    graphs = {p.stem: read_graph(p) for p in sorted((how.artifact / "indigo/input").glob("*.egr"))
              if how.graphs in p.stem and (not how.explore or "_5n_" in p.stem)}
    if not kernels or not graphs:
        sys.exit(f"{how.artifact} has no indigo/indigo_sources/*/*.cu or no indigo/input/*.egr: give a checkout of the artifact")
    results = {}
    with concurrent.futures.ThreadPoolExecutor(how.jobs) as pool:
        for n, (kernel, answer) in enumerate(zip(kernels, pool.map(lambda k: answers_of(how, k, graphs), kernels))):
            results[kernel.stem] = answer
            if how.out and n % 20 == 19:
                how.out.write_text(json.dumps(results, indent=1))
    if how.out:
        how.out.write_text(json.dumps(results, indent=1))
    text = table(results, list(graphs), how)
    print(text)
    if how.page:
        page = how.page.read_text(encoding="utf-8")
        how.page.write_text(re.sub(r"(<!-- what bench/check/indigo\.py writes -->\n).*?(<!-- its end -->)", lambda m: m[1] + text + "\n" + m[2], page, flags=re.S),
                            encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
