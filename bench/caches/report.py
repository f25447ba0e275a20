#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws what the benches on caches measured: one picture and one table per bench, in a page.

    report.py --output <folder> <bench.json>...

The files are those of --benchmark_out; which bench a file is from, its cases' names say. Medians of the repetitions count. Without
matplotlib the tables are written and the pictures left out, in words.
"""
import argparse
import json
import pathlib
import statistics
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from report_page import NONE, bars_picture, lines_picture, machine_of, table, write_page  # noqa: E402

COUNTERS = ("GB_per_s", "cycles_per_access", "region_MB", "window_MB", "hit_ratio", "table_after_us", "table_warm_us")


class Results:
    """The medians of one file: {case: {"time_us": ..., counter: ...}}, and why cases are missing."""

    def __init__(self, path):
        try:
            document = json.loads(path.read_text(encoding="utf-8"))
            runs = document["benchmarks"]
            samples = {}
            self.waived = set()
            for run in runs:
                if run.get("run_type") == "aggregate" or run.get("error_occurred"):
                    continue
                if run.get("label", "").startswith("waived: "):
                    self.waived.add(run["label"][len("waived: "):])
                    continue
                case = samples.setdefault(run["name"].split("/iterations:")[0], {})
                scale = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}[run["time_unit"]]
                case.setdefault("time_us", []).append(run["real_time"] * scale)
                for key in COUNTERS:
                    if key in run:
                        case.setdefault(key, []).append(run[key])
            self.bench = runs[0]["name"].split("/")[0]
        except (OSError, ValueError, LookupError, TypeError) as failure:
            raise SystemExit(f"{path}: not a result of a bench on caches: {failure!r}") from None
        self.context = document.get("context", {})
        self.cases = {name: {key: statistics.median(values) for key, values in case.items()} for name, case in samples.items()}
        self.repetitions = max((len(case["time_us"]) for case in samples.values()), default=0)

    def rows(self, depth):
        """{parts of the name behind the bench: figures} for names of that many parts."""
        split = {tuple(name.split("/")[1:]): figures for name, figures in self.cases.items()}
        return {parts: figures for parts, figures in split.items() if len(parts) == depth}


def by_arm(rows, x, figure):
    """{arm: [(x of the name's first part, figure)...]} of rows whose names end with the arm."""
    series = {}
    for parts, figures in rows.items():
        series.setdefault(parts[-1], []).append((x(parts[0]), figures[figure]))
    return series


def l2_window(results, folder):
    regions = {}
    for (region, arm), figures in results.rows(2).items():
        regions.setdefault(float(region[len("region_"):]), {})[arm] = figures
    shown = ("ratio_1", "raw_ratio_1", "guide", "plan", "tuned")
    rows, series = [], {}
    for fraction, arms in sorted(regions.items()):
        if "none" not in arms:
            continue
        speedup = {arm: arms["none"]["time_us"] / figures["time_us"] for arm, figures in arms.items()}
        best = max([gain for arm, gain in speedup.items() if arm.startswith("sweep_")] + [1.0])
        for arm in ("none", *shown):
            if arm in speedup:
                series.setdefault(arm, []).append((fraction, speedup[arm]))
        series.setdefault("best of the sweep", []).append((fraction, best))
        rows.append([f"{fraction:g}", arms["none"].get("region_MB", NONE), *[speedup.get(arm, NONE) for arm in shown], best,
                     speedup.get("tuned", NONE) / best])
    text = lines_picture(folder / "l2_window.png", "Speed-up by an access-policy window", "region / largest set-aside",
                         "time without a window / time", series)
    text += table(["region / set-aside", "MB", *[arm.replace("_", " ") for arm in shown], "best of the sweep", "tuned / best"], rows)
    kept = {}
    for (_, flushes, arm), figures in results.rows(3).items():
        kept.setdefault(int(flushes.split("_")[0]), {})[arm] = figures["time_us"]
    if kept:
        text += "\n\nHow long lines persist: the time to read a region of half the set-aside, in microseconds.\n\n"
        text += table(["kernels of 1 GiB in between", "no window", "window"],
                      [[str(flushes), arms.get("none", NONE), arms.get("window", NONE)] for flushes, arms in sorted(kept.items())])
    return text


def constant_broadcast(results, folder):
    series = by_arm(results.rows(2), lambda part: int(part.split("_")[0]), "cycles_per_access")
    text = lines_picture(folder / "constant_broadcast.png", "Different addresses in a warp", "different addresses",
                         "cycles per access of the warp", series)
    return text + table(["different addresses", *series],
                        [[str(k), *[dict(points).get(k, NONE) for points in series.values()]] for k in (1, 2, 4, 8, 16, 32)])


def read_only_load(results, folder):
    groups = {}
    for (footprint, pattern, arm), figures in results.rows(3).items():
        groups.setdefault(f"{footprint.replace('_', ' ')}, {pattern}", {})[arm] = figures["GB_per_s"]
    arms = list(dict.fromkeys(arm for values in groups.values() for arm in values))
    text = bars_picture(folder / "read_only_load.png", "How read-only data is loaded", "GB/s", groups)
    return text + table(["data", *arms], [[group, *[values.get(arm, NONE) for arm in arms]] for group, values in groups.items()])


def cache_hint_stream(results, folder):
    rows = {parts[1]: figures for parts, figures in results.rows(2).items()}
    text = bars_picture(folder / "cache_hint_stream.png", "A streaming copy, and a hot table after it", "µs",
                        {arm: {"copy": figures["time_us"], "table after it": figures["table_after_us"],
                               "table in L2": figures["table_warm_us"]} for arm, figures in rows.items()})
    return text + table(["copy", "GB/s", "table after it, µs", "table in L2, µs"],
                        [[arm, figures["GB_per_s"], figures["table_after_us"], figures["table_warm_us"]]
                         for arm, figures in rows.items()])


def zero_copy(results, folder):
    series = by_arm(results.rows(2), lambda part: int(part.split("_")[0]), "time_us")
    text = lines_picture(folder / "zero_copy.png", "Reading the host's memory in place, or copying it", "passes over the data", "µs",
                         series, log_x=True)
    times = {arm: dict(points) for arm, points in series.items()}
    passes = sorted({number for points in times.values() for number in points})
    text += table(["passes, µs", *times],
                  [[str(number), *[points.get(number, NONE) for points in times.values()]] for number in passes])
    mapped = times.get("mapped", {})
    for arm in ("copy_from_pinned", "copy_from_pageable", "managed_prefetched"):
        if mapped and arm in times:
            pays = [number for number in passes if times[arm].get(number, NONE) < mapped.get(number, NONE)]
            text += f"\n\n`{arm}` is quicker than `mapped` " + (f"from {pays[0]} passes on." if pays else
                                                                "at no number of passes here.")
    return text


DRAW = {"l2_window": l2_window, "constant_broadcast": constant_broadcast, "read_only_load": read_only_load,
        "cache_hint_stream": cache_hint_stream, "zero_copy": zero_copy}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the folder for report.md and the pictures")
    parser.add_argument("files", type=pathlib.Path, nargs="+", metavar="bench.json")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    parts = ["# Caches and kinds of memory, measured"]
    for path in options.files:
        results = Results(path)
        if results.bench not in DRAW:
            raise SystemExit(f"{path}: the bench {results.bench} is none of {', '.join(DRAW)}")
        parts.append(f"## {results.bench}")
        if not results.cases:
            parts.append("Not measured: " + "; ".join(sorted(results.waived) or ["every case failed"]) + ".")
            continue
        parts.append(f"{machine_of(results.context)}; medians of {results.repetitions} repetitions.")
        parts.append(DRAW[results.bench](results, options.output))
    write_page(options.output, parts)


if __name__ == "__main__":
    sys.exit(main())
