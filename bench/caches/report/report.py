#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws what the benches on caches measured: one picture and one table per bench, in a page.

    report.py --output <folder> <bench.json>...

The files are those of --benchmark_out; the names of its cases say which bench a file is from. Without matplotlib the tables are
written without pictures, and the page says so.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "common"))
from report_page import NONE, table, write_report  # noqa: E402

AT_ONCE = "_16_at_once"


def by_arm(rows, x, figure, scale=1.0):
    """{arm: [(x of the name's first part, figure)...]} of rows whose names end with the arm."""
    series = {}
    for parts, figures in rows.items():
        series.setdefault(parts[-1], []).append((x(parts[0]), scale * figures[figure]))
    return series


def l2_window(results, page):
    regions = {}
    for (region, arm), figures in results.rows(2).items():
        regions.setdefault(float(region[len("region_"):]), {})[arm] = figures
    shown = ("ratio_1", "raw_ratio_1", "guide", "plan", "tuned")
    rows, series = [], {}
    for fraction, arms in sorted(regions.items()):
        if "none" not in arms:
            continue
        speedup = {arm: arms["none"]["ns"] / figures["ns"] for arm, figures in arms.items()}
        best = max([gain for arm, gain in speedup.items() if arm.startswith("sweep_")] + [1.0])
        series.setdefault("best of the sweep", []).append((fraction, best))
        for arm in ("tuned", "ratio_1", "raw_ratio_1", "plan", "guide", "none"):
            if arm in speedup:
                series.setdefault(arm, []).append((fraction, speedup[arm]))
        rows.append([f"{fraction:g}", arms["none"].get("region_MB", NONE), *[speedup.get(arm, NONE) for arm in shown], best,
                     speedup.get("tuned", NONE) / best])
    text = page.lines("l2_window.png", results.titled("Speed-up by an access-policy window"),
                         "region / largest set-aside", "time without a window / time",
                         {arm.replace("_", " "): points for arm, points in series.items()}, bottom=0.8)
    text += table(["region / set-aside", "MB", *[arm.replace("_", " ") for arm in shown], "best of the sweep", "tuned / best"], rows)
    kept = {}
    for (_, flushes, arm), figures in results.rows(3).items():
        kept.setdefault(int(flushes.split("_")[0]), {})[arm] = figures["ns"] * 1e-3
    if kept:
        text += "\n\nHow long lines persist: the time to read a region of half the set-aside, in microseconds.\n\n"
        text += table(["kernels of 1 GiB in between", "no window", "window"],
                      [[str(flushes), arms.get("none", NONE), arms.get("window", NONE)] for flushes, arms in sorted(kept.items())])
    return text


def constant_broadcast(results, page):
    series = by_arm(results.rows(2), lambda part: int(part.split("_")[0]), "cycles_per_access")
    at_once = {arm[:-len(AT_ONCE)]: points for arm, points in series.items() if arm.endswith(AT_ONCE)}
    in_turn = {arm: points for arm, points in series.items() if not arm.endswith(AT_ONCE)}
    text = []
    for name, what, lines in (("constant_broadcast", "each access waits for the last", in_turn),
                              ("constant_broadcast_at_once", "16 accesses at once", at_once)):
        if lines:
            text.append(page.lines(f"{name}.png", results.titled(f"Different addresses in a warp, {what}"),
                                      "different addresses", "cycles per access of the warp", lines) +
                        table([f"different addresses, {what}", *lines],
                              [[str(k), *[dict(points).get(k, NONE) for points in lines.values()]] for k in (1, 2, 4, 8, 16, 32)]))
    return "\n\n".join(text)


def read_only_load(results, page):
    groups = {}
    for (footprint, pattern, arm), figures in results.rows(3).items():
        groups.setdefault(f"{footprint.replace('_', ' ')}, {pattern}", {})[arm] = figures["GB_per_s"]
    arms = list(dict.fromkeys(arm for values in groups.values() for arm in values))
    text = page.bars("read_only_load.png", results.titled("How read-only data is loaded"), "GB/s", groups, log_y=True)
    return text + table(["data", *arms], [[group, *[values.get(arm, NONE) for arm in arms]] for group, values in groups.items()])


def cache_hint_stream(results, page):
    rows = {parts[1]: figures for parts, figures in results.rows(2).items()}
    text = page.panels("cache_hint_stream.png", results.titled("A streaming copy, and a hot table after it"), {
        "copy, GB/s": {"copy": {arm: figures["GB_per_s"] for arm, figures in rows.items()}},
        "time to read the table, µs": {"after the copy": {arm: figures["table_after_us"] for arm, figures in rows.items()},
                                       "in L2": {arm: figures["table_warm_us"] for arm, figures in rows.items()}}})
    return text + table(["copy", "GB/s", "table after it, µs", "table in L2, µs"],
                        [[arm, figures["GB_per_s"], figures["table_after_us"], figures["table_warm_us"]]
                         for arm, figures in rows.items()])


def zero_copy(results, page):
    series = by_arm(results.rows(2), lambda part: int(part.split("_")[0]), "ns", 1e-3)
    text = page.lines("zero_copy.png", results.titled("Reading the host's memory in place, or copying it"),
                         "passes over the data", "µs", series, doubling=True)
    times = {arm: dict(points) for arm, points in series.items()}
    passes = sorted({number for points in times.values() for number in points})
    text += table(["passes, µs", *times],
                  [[str(number), *[points.get(number, NONE) for points in times.values()]] for number in passes])
    mapped = times.get("mapped", {})
    for arm in ("copy_from_pinned", "copy_from_pageable", "managed_prefetched"):
        if mapped and arm in times:
            pays = [number for number in passes if times[arm].get(number, NONE) < mapped.get(number, NONE)]
            text += f"\n\n`{arm}` is quicker than `mapped` " + (f"from {pays[0]} pass{'es' if pays[0] != 1 else ''} on." if pays else
                                                                "at no number of passes here.")
    return text


DRAW = {"l2_window": l2_window, "constant_broadcast": constant_broadcast, "read_only_load": read_only_load,
        "cache_hint_stream": cache_hint_stream, "zero_copy": zero_copy}


if __name__ == "__main__":
    write_report(__doc__, "Caches and kinds of memory, measured", DRAW)
