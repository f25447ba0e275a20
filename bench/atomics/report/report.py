#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the report on the benches for atomics and fences: whether membar meets its promised ratios, where aggregation pays
off, and what a fence costs.

    report.py --output <folder> <bench.json>...

The files are the --benchmark_out results of atomic_cost, atomic_contention, atomic_levels and fence_cost, at most one of each. A ratio is
membar's time divided by the time of another variant: below 1, membar is faster. Without matplotlib, the page has a note instead
of pictures.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "common"))
from report_page import NONE, limit_row, limit_table, table, write_report  # noqa: E402
from results import slope  # noqa: E402

PATTERNS = ["known", "one", "skewed", "per_block", "per_warp", "per_lane", "stride_32", "stride_128"]
SHARED_BY_LANES = ["known", "one", "skewed", "per_block", "per_warp"]  # The cases for which the documentation recommends aggregation.
MOST_BESIDE_CUDA, MOST_MAXIMUM, MOST_SUB_WORD, MOST_HALF = 1.02, 0.5, 0.8, 0.7
LEAST_OF_BEST = 0.95


def arms_of(results):
    """Returns {case: {variant: {"ns": ..., "membar_ratio": ...}}}."""
    found = {}
    for name, figures in results.cases.items():
        case, arm = name.rsplit("/", 1)
        found.setdefault(case, {})[arm] = {key: figures.get(key, NONE) for key in ("ns", "membar_ratio", "ratio_spread", "ratio_uncertainty")}
    return found


def has_code_of_its_own(case):
    """Returns whether membar's kernel and cuda::atomic_ref's kernel have different machine code. The tests codegen.same_code
    check this against the code."""
    parts = case.split("/")
    if "u8" in parts:
        return "load" not in parts or "latency" in parts
    if "u16" in parts:
        return "load" not in parts and "store" not in parts
    if not any("add" in part or "max" in part for part in parts):
        return False
    # In the machine code, a relaxed operation names global memory or, at block scope, shared memory. An operation that ptxas
    # may expand into loops acquires with a fence. Floating-point maxima are computed with integer maxima.
    named = "shared" in parts or not any("shared" in part for part in parts)
    return "relaxed" in parts and named or not {"u32", "s32"} & set(parts)


def from_one(ratio):
    """Returns by how much a ratio differs from 1, in either direction."""
    return max(ratio, 1 / ratio)


def beside_cuda(cases):
    """Returns two limit rows and the cases above the limit. The first row is for the largest ratio to cuda::atomic_ref, the
    second for the largest distance of the ratio from 1 among cases in which both variants have the same machine code."""
    every = [(case, arms["membar"], arms["cuda_atomic_ref"]) for case, arms in cases.items() if "cuda_atomic_ref" in arms]
    different = [each for each in every if has_code_of_its_own(each[0])]
    same = [each for each in every if not has_code_of_its_own(each[0])]

    def ratio_of(each):
        return each[2]["membar_ratio"]

    def surely(each):
        uncertainty = each[2]["ratio_uncertainty"]
        return ratio_of(each) - (uncertainty if uncertainty == uncertainty else 0)

    # A case that is certainly above the limit takes precedence over a larger ratio that is not certain.
    worst = max(different, key=lambda each: (surely(each) > MOST_BESIDE_CUDA, ratio_of(each)), default=None)
    rows = [limit_row(f"membar / `cuda::atomic_ref`, the largest ratio of {len(different)} cases whose machine code differs",
                    ratio_of(worst) if worst else NONE, MOST_BESIDE_CUDA, uncertainty=worst[2]["ratio_uncertainty"] if worst else NONE)]
    if same:
        farthest = max(same, key=lambda each: from_one(ratio_of(each)))
        rows.append(limit_row(f"the same, in {len(same)} cases with the same machine code, the ratio farthest from 1",
                            from_one(ratio_of(farthest)), MOST_BESIDE_CUDA, uncertainty=farthest[2]["ratio_uncertainty"]))
    above = sorted((each for each in every if ratio_of(each) > MOST_BESIDE_CUDA), key=ratio_of, reverse=True)
    return rows, [[f"`{each[0]}`", "different" if each in different else "one", each[1]["ns"], each[2]["ns"], ratio_of(each),
                   *[figure if figure == figure else "" for figure in (each[2]["ratio_spread"], each[2]["ratio_uncertainty"])]]
                  for each in above]


def above_table(above):
    if not above:
        return ""
    return f"\n\nAbove {MOST_BESIDE_CUDA}:\n\n" + table(["case", "machine code", "membar, ns", "cuda::atomic_ref, ns", "ratio",
                                                         "spread of the ratio", "uncertainty of the ratio"], above)


def controls(cases):
    """Returns a limit row for the difference between two measurements of the same kernel."""
    ratios = [arms["membar_again"]["membar_ratio"] for arms in cases.values() if "membar_again" in arms]
    return limit_row("two measurements of the same kernel, the ratio farthest from 1", max(map(from_one, ratios), default=NONE), MOST_BESIDE_CUDA)


def recommended(case, arms, cases):
    """Returns the variant that the documentation recommends, if it was measured in this case."""
    operation, _, rest = case.partition("/")
    if operation.startswith("fetch_") and f"{operation[len('fetch_'):]}/{rest}" in cases:
        return None  # The result is not used here, so the recommendation is a reduction, which is another case.
    pattern = case.rpartition("/")[2]
    aggregated = pattern in SHARED_BY_LANES or ("/u8/" in case and pattern == "per_lane")  # Adjacent bytes: four share a word.
    form = "aggregated" if aggregated else "membar"
    return form if form in arms else None


def atomic_cost(results, page):
    cases = arms_of(results)
    rows, above = beside_cuda(cases)
    rows.append(controls(cases))
    wide = [f"`{case}` {arms['membar']['ns']:.3g} ns" for case, arms in cases.items() if "compare_exchange/128" in case]
    text = limit_table(rows)
    text += "\n\nFor the 16-byte `compare_exchange`, no counterpart is available for comparison. Its times are: " + ("; ".join(wide) or "not measured") + "."
    text += above_table(above)
    best = []
    for case, arms in cases.items():
        others = {arm: figures for arm, figures in arms.items() if arm not in ("membar", "membar_again", "cuda_atomic_ref")}
        best += [[f"`{case}`", arm, arms["membar"]["ns"], figures["ns"], figures["membar_ratio"]] for arm, figures in others.items()]
    if best:
        text += "\n\nCompared with intrinsics and PTX:\n\n" + table(["case", "arm", "membar, ns", "arm, ns", "ratio"], best)
    return text


def atomic_contention(results, page):
    cases = arms_of(results)

    def ratio(case, arm):
        return cases.get(case, {}).get(arm, {}).get("membar_ratio", NONE)

    rows, above = beside_cuda(cases)
    rows += [controls(cases),
             limit_row("float maximum at one address / the same with `cuda::atomic_ref`",
                     ratio("fetch_max_beside_loops/f32/relaxed/global/used/one", "cuda_atomic_ref"), MOST_MAXIMUM)]
    for bits in (8, 16):
        rows.append(limit_row(f"{bits}-bit acq_rel addition at one address / the same with `cuda::atomic_ref`",
                            ratio(f"fetch_add/u{bits}/acq_rel/global/unused/one", "cuda_atomic_ref"), MOST_SUB_WORD))
    for kind in ("f16", "bf16"):
        rows.append(limit_row(f"{kind} acq_rel addition at one address / the instruction `atom.acq_rel.add.noftz.{kind}`",
                            ratio(f"fetch_add/{kind}/acq_rel/global/unused/one", "ptx"), MOST_HALF))
    slower = []
    shares = []
    for case, arms in cases.items():
        form = recommended(case, arms, cases)
        if "membar_again" in arms or form is None:
            continue
        quickest = min(arms, key=lambda arm: arms[arm]["ns"])
        # Computed from consecutive launches, like all ratios.
        shares.append(arms[form]["membar_ratio"] / arms[quickest]["membar_ratio"])
        if shares[-1] < LEAST_OF_BEST:
            slower.append([f"`{case}`", form, quickest, arms[form]["ns"], arms[quickest]["ns"], shares[-1]])
    rows.append(limit_row("speed of the recommended form, relative to the fastest variant", min(shares, default=NONE), LEAST_OF_BEST,
                        at_most=False))
    text = limit_table(rows) + above_table(above)
    gains = {}
    for case, arms in cases.items():
        kind, _, pattern = case.rpartition("/")
        if "aggregated" in arms and pattern in PATTERNS:
            gains.setdefault(kind, {})[pattern] = arms["aggregated"]["membar_ratio"]
    patterns = [pattern for pattern in PATTERNS if any(pattern in by for by in gains.values())]
    text += "\n\nFor each address pattern, the table shows the plain operation's time divided by the aggregated operation's time. Aggregation is faster where the ratio is above 1.\n\n"
    text += page.bars("aggregation.png", "Where aggregation pays off: one instruction per thread", "time plain / aggregated",
                         {kind.replace("/relaxed/global", "").replace("/", "\n"): {p: by[p] for p in patterns if p in by}
                          for kind, by in gains.items() if not any(loop in kind for loop in ("loop/", "/u8/", "/u16/"))}, from_one=True)
    text += table(["operation", *patterns], [[f"`{kind}`", *[by.get(p, "") for p in patterns]] for kind, by in gains.items()])
    text += (f"\n\nThe documentation recommends aggregation for the patterns {', '.join(SHARED_BY_LANES)} and for neighbouring bytes. Otherwise, it "
             "recommends membar's plain operation, or a reduction if the result is not used. The recommended form reaches less than "
             f"{LEAST_OF_BEST} of the speed of the fastest variant in these cases: ")
    return text + ("\n\n" + table(["case", "recommended", "best", "recommended, ns", "best, ns", "best / recommended"], slower)
                   if slower else "none.")


def atomic_levels(results, page):
    latency, throughput, histogram = {}, {}, {}
    for name, figures in results.cases.items():
        parts = name.split("/")
        if parts[:2] == ["levels", "latency"]:
            latency.setdefault(parts[2], {})[parts[3]] = figures
        elif parts[0] == "levels":
            throughput.setdefault((parts[3], parts[2].replace("_", " ")), {})[parts[4]] = figures["operations_per_ns"]
        else:
            histogram.setdefault(parts[2], {})[int(parts[1].split("_")[0])] = figures["values_per_ns"]
    levels = list(dict.fromkeys(level for by in latency.values() for level in by))
    text = f"Link to the host: {results.context['host_link']}.\n\n" if "host_link" in results.context else ""
    text += page.bars("atomic_levels.png", "One thread's chain of operations, by the object's location", "ns", {
        level.replace("_", " "): {operation.replace("_", " "): by[level]["ns"] for operation, by in latency.items() if level in by}
        for level in levels}, log_y=True)
    text += table(["latency, cycles", *[level.replace("_", " ") for level in levels]],
                  [[operation.replace("_", " "), *[by[level]["cycles"] if level in by else "" for level in levels]] for operation, by in latency.items()])
    text += "\n\n" + table(["operations per ns, all threads", "on", *[level.replace("_", " ") for level in levels]],
                           [[operation.replace("_", " "), on, *[by.get(level, "") for level in levels]]
                            for (operation, on), by in throughput.items()])
    text += "\n\n" + page.lines("histogram.png", "Counting 16 Mi values into bins, including the merges", "bins", "values per ns",
                                {way: list(by.items()) for way, by in histogram.items()}, doubling=True)
    bins = sorted({number for by in histogram.values() for number in by})
    return text + table(["values per ns, by number of bins", *map(str, bins)], [[way, *[by.get(number, NONE) for number in bins]] for way, by in histogram.items()])


def fence_cost(results, page):
    ladders = {}
    for case, arms in arms_of(results).items():
        fence, stores, count = case.rsplit("/", 2)
        for arm, figures in arms.items():
            ladders.setdefault((fence, arm), {}).setdefault(stores, []).append((int(count), figures["ns"]))
    slopes = {key: {stores: slope(points) for stores, points in by.items()} for key, by in ladders.items()}
    text = ("The table shows the cost of one fence in nanoseconds: the slope of the time over the number of consecutive fences. If a store precedes each "
            "fence, the figure includes the store's own time, which the row `nothing` shows.\n\n")
    text += page.bars("fences.png", "What one fence costs", "ns", {
        fence.replace("fence/", "").replace("/", "\n"): {stores.replace("_", " "): value for stores, value in by.items()}
        for (fence, arm), by in slopes.items() if arm == "membar" and fence.startswith("fence/")}, log_y=True)
    return text + table(["fence", "arm", "idle", "each after one store"], [
        [f"`{fence}`", arm, by.get("idle", NONE), by.get("after_store", NONE)] for (fence, arm), by in slopes.items()])


DRAW = {"atomic_cost": atomic_cost, "atomic_contention": atomic_contention, "atomic_levels": atomic_levels, "fence_cost": fence_cost}


if __name__ == "__main__":
    write_report(__doc__, "Atomics and fences, measured", DRAW)
