#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Draws the results of the cache benches: one picture and one table per bench, on one page.

    report.py --output <folder> <bench.json>...

The files are the outputs of --benchmark_out; the case names identify each file's bench. Without matplotlib, the page has
tables, and a note instead of pictures.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "common"))
from report_page import NONE, table, write_report  # noqa: E402

AT_ONCE = "_16_at_once"


def by_arm(rows, x, figure, scale=1.0):
    """Returns {variant: [(x from the name's first part, figure)...]} for rows whose names end with the variant."""
    series = {}
    for parts, figures in rows.items():
        series.setdefault(parts[-1], []).append((x(parts[0]), scale * figures[figure]))
    return series


def l2_window(results, page):
    regions = {}
    for (region, arm), figures in results.rows(2).items():
        regions.setdefault(float(region[len("region_"):]), {})[arm] = figures
    shown = ("nothing_aside", "ratio_1", "raw_ratio_1", "guide", "plan", "tuned")
    rows, series = [], {}
    for fraction, arms in sorted(regions.items()):
        if "none" not in arms:
            continue
        speedup = {arm: arms["none"]["ns"] / figures["ns"] for arm, figures in arms.items()}
        best = max([gain for arm, gain in speedup.items() if arm.startswith("sweep_")] + [1.0])
        series.setdefault("best of the sweep", []).append((fraction, best))
        for arm in ("nothing_aside", "tuned", "ratio_1", "raw_ratio_1", "plan", "guide", "none"):
            if arm in speedup:
                series.setdefault(arm, []).append((fraction, speedup[arm]))
        rows.append([f"{fraction:g}", arms["none"].get("region_MB", NONE), *[speedup.get(arm, NONE) for arm in shown], best,
                     speedup.get("tuned", NONE) / best])
    text = "In all variants except `nothing_aside`, the largest set-aside is in effect. Speed-ups are relative to the same set-aside without a window.\n\n"
    text += page.lines("l2_window.png", results.titled("Speed-up of a window, or of no set-aside, over a set-aside without a window"),
                         "region / largest set-aside", "time without a window / time",
                         {arm.replace("_", " "): points for arm, points in series.items()}, bottom=0.8)
    text += table(["region / set-aside", "MB", *[arm.replace("_", " ") for arm in shown], "best of the sweep", "tuned / best"], rows)
    three = {arm: figures["ns"] * 1e-3 for (kind, _, arm), figures in results.rows(3).items() if kind == "three_streams"}
    if three:
        text += "\n\nThe next table shows the time of three concurrent kernels, each with a hot region of half the set-aside.\n\n"
        text += table(["windows", "µs"], [[arm.replace("_", " "), ns] for arm, ns in three.items()])
    kept = {}
    for (kind, flushes, arm), figures in results.rows(3).items():
        if kind == "return_to_normal":
            kept.setdefault(int(flushes.split("_")[0]), {})[arm] = figures["ns"] * 1e-3
    if kept:
        text += "\n\nThe next table shows how long lines persist, by the time in microseconds to read a region of half the set-aside.\n\n"
        text += table(["kernels of 1 GiB that run in between", "no window", "window"],
                      [[str(flushes), arms.get("none", NONE), arms.get("window", NONE)] for flushes, arms in sorted(kept.items())])
    return text


DRAWN = ("local", "shared", "distributed_shared", "constant", "texture", "global", "managed_on_device", "peer", "mapped")


def memory_ladder(results, page):
    rows = results.rows(3)
    latency, bandwidth = {}, {}
    for (what, kind, at), figures in rows.items():
        if what == "latency":
            latency.setdefault(kind, {})[float(at)] = figures
        elif what == "bandwidth":
            bandwidth.setdefault(kind, {})[float(at)] = figures["GB_per_s"]
    context = "; ".join(f"{words}: {results.context[key]}" for key, words in (("host_link", "link to the host"), ("peer_link", "link to the peer"),
                                                                             ("clock_MHz", "clock in MHz")) if key in results.context)
    links = {"mapped": "host_link", "peer": "peer_link"}

    def named(kind):
        """Returns the memory kind's name, with its link."""
        return kind.replace("_", " ") + (f", {results.context[links[kind]]}" if links.get(kind) in results.context else "")

    drawn = {named(kind): [(at, figures["ns"]) for at, figures in of.items()] for kind, of in latency.items() if kind in DRAWN}
    text = f"{context[:1].upper()}{context[1:]}. Latencies are measured by pointer chasing: each load returns the address of the next load.\n\n" if context else ""
    text += page.lines("memory_ladder.png", results.titled("Latency of each kind of memory"), "footprint, KiB", "ns", drawn, doubling=True)
    sizes = sorted({at for of in latency.values() for at in of})
    text += table(["cycles by footprint in KiB", *[f"{at:g}" for at in sizes]],
                  [[kind.replace("_", " "), *[of[at]["cycles"] if at in of else "" for at in sizes]] for kind, of in latency.items()])
    text += "\n\n" + page.lines("memory_bandwidth.png", results.titled("Bandwidth of each kind of memory, all threads reading"),
                                "footprint, KiB", "GB/s", {named(kind): list(of.items()) for kind, of in bandwidth.items()}, doubling=True)
    sizes = sorted({at for of in bandwidth.values() for at in of})
    text += table(["GB/s by footprint in KiB", *[f"{at:g}" for at in sizes]],
                  [[kind.replace("_", " "), *[of.get(at, "") for at in sizes]] for kind, of in bandwidth.items()])
    strides = {kind: {int(at): figures["useful_GB_per_s"] for (what, of, at), figures in rows.items() if (what, of) == ("stride", kind)}
               for kind in ("l2", "global")}
    text += "\n\n" + page.lines("stride.png", results.titled("Strided loads of 4-byte words"), "distance between neighbouring lanes, bytes",
                                "GB/s that the kernel asked for", {kind: list(of.items()) for kind, of in strides.items()}, doubling=True)
    text += table(["GB/s requested, by distance in bytes", *[str(at) for at in sorted(strides["l2"])]],
                  [[kind, *[of[at] for at in sorted(of)]] for kind, of in strides.items()])
    ways = {kind: {int(at): figures["cycles"] for (what, of, at), figures in rows.items() if (what, of) == ("bank_conflict", kind)}
            for kind in ("in_turn", "16_at_once")}
    text += "\n\n" + page.lines("bank_conflict.png", results.titled("Bank conflicts in shared memory"), "distance between neighbouring lanes, words",
                                "cycles per access of the warp", {kind.replace("_", " "): list(of.items()) for kind, of in ways.items()})
    return text + table(["shared memory, cycles, by distance of lanes in words", *[str(at) for at in sorted(ways["in_turn"])]],
                        [[kind.replace("_", " "), *[of[at] for at in sorted(of)]] for kind, of in ways.items()])


def constant_broadcast(results, page):
    found = {(int(k.split("_")[0]), int(stride.split("_")[1]), int(size.split("_")[0]), arm): figures["cycles_per_access"]
             for (k, stride, size, arm), figures in results.rows(4).items()}
    text = []
    for name, what, at_once in (("constant_broadcast", "each access depends on the previous one", False),
                                ("constant_broadcast_at_once", "16 accesses at once", True)):
        lines = {}
        for (k, stride, size, arm), cycles in found.items():
            if size == 2 and stride in (1, 16) and arm.endswith(AT_ONCE) == at_once:
                lines.setdefault(f"{arm[:-len(AT_ONCE)] if at_once else arm}, {4 * stride} bytes apart", []).append((k, cycles))
        lines = {arm: points for arm, points in sorted(lines.items()) if len(points) > 2}
        if lines:
            text.append(page.lines(f"{name}.png", results.titled(f"Different addresses in a warp: {what}"),
                                   "different addresses", "cycles per access of the warp", lines) +
                        table([f"different addresses per warp (2 KiB table): {what}", *lines],
                              [[str(k), *[dict(points).get(k, NONE) for points in lines.values()]] for k in (1, 2, 4, 8, 16, 32)]))
    sizes = sorted({size for _, _, size, _ in found})
    arms = list(dict.fromkeys(arm for _, _, _, arm in found))
    text.append(table(["table, KiB; addresses, 4 bytes apart", *map(str, sizes)],
                      [[f"{arm.replace('_', ' ')}, {k}", *[found.get((k, 1, size, arm), "") for size in sizes]] for arm in arms for k in (1, 2, 32)]))
    return "\n\n".join(text)


def set_aside(results, page):
    series = {}
    for (kind, size, state), figures in results.rows(3).items():
        if kind == "reread":
            series.setdefault(state.replace("_", " "), []).append((int(size.split("_")[0]), figures["GB_per_s"] * 1e-3))
    text = page.lines("set_aside.png", results.titled("Rereading a region, with a set-aside"), "region, MiB", "TB/s", series)
    sizes = sorted({at for points in series.values() for at, _ in points})
    text += table(["region, MiB; TB/s", *map(str, sizes)], [[state, *[dict(points)[at] for at in sizes]] for state, points in series.items()])
    beside = {}
    for parts, figures in results.rows(4).items():
        kind, region, aside, window = parts
        beside.setdefault((kind, float(region.split("_")[1]), window), {})[float(aside.split("_")[1])] = figures["ns"] * 1e-3
    copies = {float(aside.split("_")[1]): figures["GB_per_s"] for (kind, aside), figures in results.rows(2).items() if kind == "copies"}
    shares = sorted({share for by in beside.values() for share in by})
    if beside:
        text += ("\n\nThe next table shows the time, in microseconds, of a kernel that reads a hot region and also reads or modifies a stream. Each column is "
                 "for one set-aside; the sizes of the set-aside and of the region are given as shares of the largest set-aside.\n\n")
        text += page.lines("set_aside_stream.png", results.titled("A hot region while a stream is modified, by set-aside"),
                           "set aside / largest set-aside", "µs", {f"region {region:g}, {window.replace('none', 'no window')}": list(by.items())
                                                         for (kind, region, window), by in beside.items() if kind == "changes_a_stream"})
        text += table(["stream", "region", "window", *[f"{share:g}" for share in shares]],
                      [[kind.split("_")[0], f"{region:g}", window, *[by.get(share, NONE) for share in shares]]
                       for (kind, region, window), by in sorted(beside.items())])
    if copies:
        text += "\n\nThe next table shows the rate of a copy without a hot region.\n\n" + table(
            ["set aside / largest set-aside", *[f"{share:g}" for share in sorted(copies)]], [["GB/s", *[copies[share] for share in sorted(copies)]]])
    return text


def register_spill(results, page):
    rows = sorted((kind, int(blocks.split("_")[0]), figures) for (blocks, kind), figures in results.rows(2).items())
    text = page.lines("register_spill.png", results.titled("96 values per thread under a limit on registers"), "registers per thread", "µs",
                      {kind: [(figures["registers"], figures["ns"] * 1e-3) for each, _, figures in rows if each == kind]
                       for kind in ("loads", "computes")})
    return text + table(["kernel", "blocks requested", "registers", "local bytes", "threads per multiprocessor", "µs"],
                        [[kind, str(blocks), figures["registers"], figures["local_bytes"], figures["threads_per_sm"], figures["ns"] * 1e-3]
                         for kind, blocks, figures in rows])


def read_only_load(results, page):
    groups, polynomial = {}, []
    for (footprint, pattern, arm), figures in results.rows(3).items():
        if pattern == "polynomial":
            polynomial.append([arm.replace("_", " "), figures["registers"], figures["GB_per_s"]])
        else:
            groups.setdefault(f"{footprint.replace('_', ' ')}, {pattern}", {})[arm] = figures["GB_per_s"]
    arms = list(dict.fromkeys(arm for values in groups.values() for arm in values))
    text = page.bars("read_only_load.png", results.titled("How read-only data is loaded"), "GB/s", groups, log_y=True)
    text += table(["data", *arms], [[group, *[values.get(arm, NONE) for arm in arms]] for group, values in groups.items()])
    if polynomial:
        text += ("\n\nThe next table is for a loop that contains a store and rereads four coefficients in each iteration. The result depends on what the "
                 "compiler knows about the coefficients.\n\n")
        text += table(["pointer to the coefficients", "registers", "GB/s"], polynomial)
    return text


def cache_hint_stream(results, page):
    rows = {parts[1]: figures for parts, figures in results.rows(2).items()}
    text = page.panels("cache_hint_stream.png", results.titled("A streaming copy, and a hot table after it"), {
        "copy, GB/s": {"copy": {arm: figures["GB_per_s"] for arm, figures in rows.items()}},
        "time to read the table, µs": {"after the copy": {arm: figures["table_after_us"] for arm, figures in rows.items()},
                                       "in L2": {arm: figures["table_warm_us"] for arm, figures in rows.items()}}})
    return text + table(["copy", "GB/s", "table after the copy, µs", "table in L2, µs"],
                        [[arm, figures["GB_per_s"], figures["table_after_us"], figures["table_warm_us"]]
                         for arm, figures in rows.items()])


def zero_copy(results, page):
    series = by_arm(results.rows(2), lambda part: int(part.split("_")[0]), "ns", 1e-3)
    text = page.lines("zero_copy.png", results.titled("Reading host memory in place, or copying it first"),
                         "passes over the data", "µs", series, doubling=True)
    times = {arm: dict(points) for arm, points in series.items()}
    passes = sorted({number for points in times.values() for number in points})
    text += table(["passes, µs", *times],
                  [[str(number), *[points.get(number, NONE) for points in times.values()]] for number in passes])
    mapped = times.get("mapped", {})
    for arm in ("copy_from_pinned", "copy_from_pageable", "managed_prefetched"):
        if mapped and arm in times:
            pays = [number for number in passes if times[arm].get(number, NONE) < mapped.get(number, NONE)]
            text += f"\n\n`{arm}` is " + (f"faster than `mapped` with {pays[0]} pass{'es' if pays[0] != 1 else ''} or more." if pays else
                                         "not faster than `mapped` with any number of passes that was measured.")
    return text


DRAW = {"memory_ladder": memory_ladder, "l2_window": l2_window, "set_aside": set_aside, "constant_broadcast": constant_broadcast, "read_only_load": read_only_load,
        "cache_hint_stream": cache_hint_stream, "zero_copy": zero_copy, "register_spill": register_spill}


if __name__ == "__main__":
    write_report(__doc__, "Caches and kinds of memory, measured", DRAW)
