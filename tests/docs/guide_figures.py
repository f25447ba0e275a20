# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of the guide, which figures.py writes into the pages on memory, on fences and scopes, and on older notes."""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "common"))
from results import slope  # noqa: E402
from start_tables import table  # noqa: E402

X2 = "h200-x2/fence_interference"
X1 = "h200/fence_interference"
FENCES = "h200/fence_cost"


def short(value, digits=3):
    """Formats a figure with three digits, or with all digits before the decimal point if there are more: 0.23, 4.05, 31.4, 266, 10,669."""
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}" if abs(value) >= 1 else f"{value:.2g}"


def nanoseconds(value):
    return f"{short(value)} ns" if value < 1000 else f"{short(value / 1000)} µs"


def fence(results, scope, order, stores, arm="membar"):
    """Returns one fence's nanoseconds from a measurement with growing numbers of fences."""
    pattern = re.compile(re.escape(f"fence/{scope}/{order}/{stores}/") + r"(\d+)/" + re.escape(arm))
    found = [(int(match.group(1)), case["ns"]) for name, case in results.cases(FENCES).items() if (match := pattern.fullmatch(name))]
    return slope(found)


def iteration(results, case):
    """Returns the nanoseconds of an iteration of `fence_cost` with at most one fence."""
    return results.cases(FENCES)[f"{case}/1/membar"]["ns"]


def tenths(value):
    return f"{value:.1f}"


def added_to_store(results, order, scope="device"):
    """Returns the nanoseconds that one fence adds to an iteration with a store."""
    return tenths(iteration(results, f"fence/{scope}/{order}/after_store") - iteration(results, "nothing/after_store"))


def update_order(results):
    """Returns the nanoseconds that acq_rel adds to an update at device scope, and those of the update with and without it."""
    cases = results.cases("h200/atomic_cost")
    ordered = cases["latency/fetch_add/u32/acq_rel_by_scope/device/membar"]["ns"]
    relaxed = cases["latency/fetch_add/u32/relaxed/device/membar"]["ns"]
    return [tenths(ordered - relaxed), tenths(ordered), tenths(relaxed)]


def beside(results, victim, noise="none", arm=None, file=X2):
    """Returns the nanoseconds of a fence or another victim, on its own or during other kernels' traffic."""
    return results.cases(file)[f"{victim}/{noise}/{arm or ('alone' if noise == 'none' else 'same')}"]["p50_ns"]


def measured(case):
    """Returns a median, marked if its 95 % interval is wider than a twentieth of it."""
    return nanoseconds(case["p50_ns"]) + (" ?" if case["interval"] > 0.05 else "")


def fences_idle(results):
    lines = []
    for scope in ("block", "cluster", "device", "system"):
        lines.append([f"`{scope}`", *(short(fence(results, scope, order, "idle")) for order in ("acquire", "release", "acq_rel", "seq_cst")),
                      short(fence(results, scope, "release", "after_store"))])
    return table(["scope, ns", "`acquire`", "`release`", "`acq_rel`", "`seq_cst`", "`release`, each after a store"], lines)


def fences_of_header(results):
    """Returns the table of docs/headers/fence.md."""
    orders = ("acquire", "release", "acq_rel", "seq_cst")
    return table(["scope", "", *(f"`{order}`" for order in orders)], [
        [scope, words, *(short(fence(results, scope, order, stores)) for order in orders)]
        for scope in ("block", "cluster", "device", "system")
        for words, stores in (("idle", "idle"), ("each after a store", "after_store"))])


def fences_beside(results):
    def cell(scope, place, noise, arm="same"):
        name = f"fence.{scope}.acq_rel.{place}"
        cases = results.cases(X2)
        case = cases.get(f"{name}/{noise}/{arm}", {})
        return measured(case) if case.get("p50_ns") else "–"

    lines = []
    for scope in ("block", "cluster", "device", "system"):
        lines.append([f"`{scope}`", cell(scope, "shared_sm", "none", "alone"), cell(scope, "shared_sm", "nvlink.paced"),
                      cell(scope, "shared_sm", "nvlink.saturating"), cell(scope, "shared_sm", "nvlink.saturating", "separate"),
                      cell(scope, "shared_sm", "nccl.saturating"), cell(scope, "shared_sm", "host.saturating"),
                      cell(scope, "own_sm", "none", "alone"), cell(scope, "own_sm", "nvlink.saturating"),
                      cell(scope, "own_sm", "nccl.saturating")])
    return table(["scope", "alone (same-SM placement)", "paced NVLink stores on its SM", "saturating NVLink stores on its SM",
                  "the same stores in another domain", "NCCL's all-reduce on its SM", "saturating stores to the host on its SM",
                  "alone (other-SM placement)", "saturating NVLink stores on other SMs", "NCCL's all-reduce on other SMs"], lines)


def boundaries(results):
    def cell(noise, arm):
        return measured(results.cases(X2)[f"kernel_boundary.graph/{noise}/{arm}"])

    lines = []
    for words, noise in (("nothing", "none"), ("NCCL's all-reduces, paced", "nccl.paced"), ("NCCL's all-reduces, saturating", "nccl.saturating"),
                         ("NVLink stores, paced", "nvlink.paced"), ("NVLink stores, saturating", "nvlink.saturating"),
                         ("stores to the host, saturating", "host.saturating")):
        lines.append([words, cell(noise, "alone"), ""] if noise == "none" else [words, cell(noise, "same"), cell(noise, "separate")])
    return table(["what runs meanwhile", "time per kernel of a graph", "time with the traffic in another domain"], lines)


LADDER = "h200/memory_ladder"
ASIDE = "h200/set_aside"
CONSTANTS = "h200/constant_broadcast"
LEVELS = "h200/atomic_levels"
WINDOW = "h200/l2_window"


def cycles(results, kind, kib):
    return results.cases(LADDER)[f"memory_ladder/latency/{kind}/{kib}"]["cycles"]


def rate(results, kind, kib):
    """Formats a rate in terabytes per second, or in gigabytes if it is low."""
    found = results.cases(LADDER)[f"memory_ladder/bandwidth/{kind}/{kib}"]["GB_per_s"]
    return f"{short(found / 1000)} TB/s" if found >= 1000 else f"{short(found)} GB/s"


def kinds(results):
    def latency(kind, kib):
        return short(cycles(results, kind, kib))

    def up_to(kind, first, last):
        return f"{latency(kind, first)} to {latency(kind, last)}"

    return table(["memory", "who sees it", "scope", "what orders it", "hint", "size", "latency, cycles", "bandwidth"], [
        ["[register](#registers)", "the thread; other lanes through a shuffle", "none", "nothing is needed", "launch bounds", "255 words per thread",
         f"{latency('register', 0)}; shuffle {latency('shuffle', 0)}", ""],
        ["[local](#local-memory)", "the thread", "none", "nothing is needed", "fewer live values", "512 KiB per thread",
         f"{latency('local', '0.250')} in L1, {latency('local', '16.000')} in L2", "as L1, L2"],
        ["[shared](#shared-memory)", "the block", "block", "`__syncthreads`", "a layout without bank conflicts", "227 KiB per block",
         latency("shared", 64), rate(results, "shared", 16)],
        ["[distributed shared](#distributed-shared-memory)", "the cluster", "cluster", "`cluster_sync`", "", "the blocks' shared memory",
         latency("distributed_shared", 64), rate(results, "distributed_shared", 16)],
        ["[L1](#l1-and-its-lines)", "the multiprocessor; not coherent", "block", "an acquire invalidates it", "`l1::evict_last`, `l1::no_allocate`",
         "256 KiB with shared memory", latency("global", 64), rate(results, "each_block_all", 64)],
        ["[constant](#constant-memory)", "all threads; read-only", "none", "the end of a kernel", "one index per warp", "64 KiB",
         f"{latency('constant', 2)} up to 2 KiB, {latency('constant', 64)} up to 64 KiB", ""],
        ["[texture](#textures-and-surfaces)", "all threads; read-only", "none", "the end of a kernel", "", "as global",
         f"{latency('texture', 64)} in L1, {latency('texture', 16384)} in L2", "as L1, L2"],
        ["[L2](#l2-and-its-set-aside)", "the device", "device", "release and acquire", "a window, `l2::evict_first`", "50 MiB",
         up_to("global_past_l1", 1024, 16384), rate(results, "global", 16384)],
        ["[global](#global-memory)", "the device; others over their links", "device or system", "release and acquire", "prefetch; 16 bytes per lane",
         "141 GB", up_to("global_past_l1", 65536, 524288), rate(results, "global", 2097152)],
        ["[managed](#managed-memory), on the device", "host and devices", "system", "release and acquire", "prefetch, advice", "as global",
         up_to("managed_on_device", 16384, 262144), rate(results, "managed_on_device", 262144)],
        ["[peer](#memory-of-another-gpu), 18 NVLinks", "both devices", "system", "release and acquire", "write rather than read", "the peer's",
         f"{latency('peer_past_l1', 65536)}", rate(results, "peer", 262144)],
        ["[mapped](#memory-of-the-host), PCIe 5.0 x16", "host and device", "system", "release and acquire", "[write-combined](#memory-of-the-host)", "the host's",
         latency("mapped_past_l1", 65536), rate(results, "mapped", 262144)]])


def spills(results):
    cases = results.cases("h200/register_spill")
    lines = []
    for blocks in (2, 3, 4, 6, 8):
        case = cases[f"register_spill/{blocks}_blocks_per_sm/loads"]
        lines.append([short(case["registers"]), short(case["local_bytes"]), short(case["threads_per_sm"]),
                      *(short(cases[f"register_spill/{blocks}_blocks_per_sm/{kind}"]["real_time"]) for kind in ("loads", "computes"))])
    return table(["registers", "local bytes per thread", "threads per multiprocessor", "waits for memory, µs", "only computes, µs"], lines)


def bank_conflicts(results):
    cases = results.cases(LADDER)
    ways = (1, 2, 4, 8, 16, 32)
    return table(["words of one bank that a warp requests", *map(str, ways)], [
        [words, *(short(cases[f"memory_ladder/bank_conflict/{kind}/{each}"]["cycles"]) for each in ways)]
        for words, kind in (("cycles per access, one after the other", "in_turn"), ("cycles per access, 16 at once", "16_at_once"))])


def strides(results):
    cases = results.cases(LADDER)
    distances = (4, 8, 16, 32, 64, 128)
    return table(["bytes from one lane's word to the next", *map(str, distances)], [
        [f"from {words}: requested GB/s",
         *(short(cases[f"memory_ladder/stride/{kind}/{each}"]["useful_GB_per_s"]) for each in distances)]
        for words, kind in (("L2", "l2"), ("global memory", "global"))])


def constant(results, addresses, stride, kib, arm):
    return results.cases(CONSTANTS)[f"constant_broadcast/{addresses:02}_addresses/stride_{stride}/{kib}_KiB/{arm}"]["cycles_per_access"]


def constants(results):
    arms = (("constant", "constant", 1), ("shared, 4 bytes apart", "shared", 1), ("shared, 64 bytes apart", "shared", 16),
            ("global in L1, 4 bytes apart", "global", 1), ("global in L1, 64 bytes apart", "global", 16))
    return table(["different addresses in the warp", *(words for words, _, _ in arms)], [
        [str(k), *(short(constant(results, k, stride, 2, arm)) for _, arm, stride in arms)] for k in (1, 2, 4, 8, 16, 32)])


def header_costs(results):
    """Returns the table of docs/headers/constant.md."""
    return table(["different addresses", "constant, one access after the other", "shared, one after the other", "global in L1, one after the other",
                  *(f"{arm}, 16 accesses in flight" for arm in ("constant", "shared", "global in L1"))], [
        [str(k), *(short(constant(results, k, 1, 2, arm + suffix)) for suffix in ("", "_16_at_once") for arm in ("constant", "shared", "global"))]
        for k in (1, 2, 4, 8, 16, 32)])


def header_sizes(results):
    sizes = (1, 2, 4, 8, 16, 32, 64)
    return table(["table in KiB", *map(str, sizes)], [
        [words, *(short(constant(results, k, 1, kib, arm)) for kib in sizes)]
        for words, arm, k in (("constant, one address", "constant", 1), ("constant, 32 addresses", "constant", 32), ("shared, 32 addresses", "shared", 32),
                              ("global in L1, 32 addresses", "global", 32))])


def restrict(results):
    cases = results.cases("h200/read_only_load")
    return table(["pointer to the coefficients", "registers", "GB/s"], [
        [words, *(short(cases[f"read_only_load/fits_l2/polynomial/{arm}"][key]) for key in ("registers", "GB_per_s"))]
        for words, arm in (("`const float*`", "plain"), ("`const float* __restrict__`; the data pointers are also `__restrict__`", "restrict"), ("`__ldg`", "raw_ldg"),
                           ("`read_only_span`", "read_only"), ("variables", "variables"))])


def hints(results):
    cases = results.cases("h200/cache_hint_stream")
    lines = [[words, short(cases[f"cache_hint_stream/copy/{arm}"]["table_after_us"]), short(cases[f"cache_hint_stream/copy/{arm}"]["GB_per_s"])]
             for words, arm in (("none", "plain"), ("`l2::evict_first`", "evict_first"), ("`l1::no_allocate`", "no_allocate"),
                                ("both, and `prefetch_256B`", "everything"))]
    return table(["the copy's hints", "reading the table afterwards, µs", "the copy, GB/s"],
                 [*lines, ["no copy: the table is in L2", short(cases["cache_hint_stream/copy/plain"]["table_warm_us"]), ""]])


def reread(results, size, state):
    return results.cases(ASIDE)[f"set_aside/reread/{size}_MiB/{state}"]["GB_per_s"] / 1000


def set_aside(results):
    sizes = (16, 24, 32, 40, 48, 52, 56, 64, 96)
    return table(["TB/s, by size of the region in MiB", *map(str, sizes)], [
        [words, *(short(reread(results, size, state), 2) for size in sizes)]
        for words, state in (("nothing set aside", "nothing_aside"), ("37.5 MiB set aside, unused", "aside_idle"),
                             ("37.5 MiB set aside, full of other lines", "aside_full"))])


def beside_stream(results, kind, region, share, window):
    """Returns the time, in microseconds, of a kernel that reads a hot region while it also reads or modifies a stream."""
    return results.cases(ASIDE)[f"set_aside/{kind}_a_stream/region_{region:.2f}/aside_{share:.3f}/{window}"]["real_time"]


def copied(results, share):
    return results.cases(ASIDE)[f"set_aside/copies/aside_{share:.3f}"]["GB_per_s"] / 1000


def streams(results):
    shares = (0, 0.125, 0.25, 0.5, 0.75, 1)
    return table(["fraction of 37.5 MiB set aside", *(f"{share:g}" for share in shares)], [
        *([f"the stream is {words}, {also}, µs", *(short(beside_stream(results, kind, 0.5, share, window)) for share in shares)]
          for words, kind in (("read", "reads"), ("modified", "changes")) for also, window in (("no window", "none"), ("window", "window"))),
        ["a copy, TB/s", *(short(copied(results, share), 2) for share in shares)]])


def window_time(results, region, arm):
    return results.cases(WINDOW)[f"l2_window/region_{region}/{arm}"]["real_time"]


def windows(results):
    arms = (("nothing set aside", "nothing_aside"), ("no window", "none"), ("the window of `tune_window`", "tuned"), ("the window of `l2_plan`", "plan"))
    return table(["region / largest set-aside", *(words for words, _ in arms)], [
        [region, *(short(window_time(results, region, arm)) for _, arm in arms)] for region in ("0.1", "0.25", "0.5", "1.0", "1.5", "2.0")])


def of_the_best(results):
    """Compares tune_window with the best window of the sweep. Returns the smallest and the largest ratio of the times."""
    cases = results.cases(WINDOW)
    ratios = []
    for name in cases:
        if name.endswith("/tuned"):
            region = name.split("/")[1]
            best = min(case["real_time"] for other, case in cases.items() if other.startswith(f"l2_window/{region}/sweep_"))
            ratios.append(best / cases[name]["real_time"])
    return [f"{min(ratios):.3f}", short(max(ratios))]


def three_streams(results):
    cases = results.cases(WINDOW)
    return table(["three kernels at once", "µs"], [
        [words, short(cases[f"l2_window/three_streams/at_once/{arm}"]["real_time"])]
        for words, arm in (("nothing set aside", "nothing_aside"), ("set aside, no window", "none"), ("`plan_windows`", "planned"),
                           ("a whole window each", "each_whole"))])


def host(results):
    cases = results.cases("h200/zero_copy")
    arms = (("in place, mapped", "mapped"), ("copy from pinned memory, then read", "copy_from_pinned"),
            ("copy from pageable memory, then read", "copy_from_pageable"), ("managed, prefetched", "managed_prefetched"),
            ("managed, by page faults", "managed_faults"))
    passes = (1, 2, 4, 8, 32)
    return table(["ms, by number of passes over the data", *map(str, passes)], [
        [words, *(short(cases[f"zero_copy/{each}_passes/{arm}"]["real_time"] / 1000) for each in passes)] for words, arm in arms])


def atomics(results):
    cases = results.cases(LEVELS)
    levels = (("shared memory", "shared"), ("distributed shared", "distributed_shared"), ("L2", "l2"), ("peer, NVLink", "peer"),
              ("host, PCIe", "host"))
    return table(["", *(words for words, _ in levels)], [
        ["load, cycles", *(short(cases[f"levels/latency/load/{level}"]["cycles"]) for _, level in levels)],
        ["`fetch_add`, cycles", *(short(cases[f"levels/latency/fetch_add/{level}"]["cycles"]) for _, level in levels)],
        ["`fetch_add` per ns, each thread on its own object",
         *(short(cases[f"levels/throughput/own_objects/fetch_add/{level}"]["operations_per_ns"]) for _, level in levels)],
        ["`fetch_add` per ns, all on one object (one per block in shared memory)",
         *(short(cases[f"levels/throughput/one_object/fetch_add/{level}"]["operations_per_ns"]) for _, level in levels)]])


def histogram(results):
    cases = results.cases(LEVELS)
    bins = (1, 16, 64, 256, 1024, 4096)
    return table(["values per ns, by number of bins", *map(str, bins)], [
        [words, *(short(cases[f"histogram/{number}_bins/{arm}"]["values_per_ns"]) for number in bins)]
        for words, arm in (("one atomic per value", "direct"), ("one atomic per warp and bin", "aggregated"), ("bins per block, including the merge", "privatized"))])


TABLES = {"docs/fences_and_scopes.md": {"fences alone": fences_idle, "fences beside traffic": fences_beside, "kernel boundaries": boundaries},
          "docs/memory_guide.md": {"kinds of memory": kinds, "spills": spills, "bank conflicts": bank_conflicts, "strides": strides,
                                   "constants": constants, "restrict": restrict, "hints": hints, "set aside": set_aside, "streams": streams,
                                   "windows": windows,
                                   "three streams": three_streams, "host": host, "atomics": atomics, "histogram": histogram},
          "docs/headers/fence.md": {"fences": fences_of_header},
          "docs/headers/constant.md": {"constant addresses": header_costs, "constant sizes": header_sizes}}


def table_lookup(results):
    return [short(cycles(results, "global", 16)), short(cycles(results, "shared", 16)), short(constant(results, 1, 1, 32, "constant"))]


def terabytes(value):
    return short(value / 1000)


def read_only(results, name):
    return results.cases("h200/read_only_load")[f"read_only_load/{name}"]["GB_per_s"]


def level(results, name, key="operations_per_ns"):
    return short(results.cases(LEVELS)[name][key])


def passes(results, arm):
    return short(results.cases("h200/zero_copy")[f"zero_copy/1_passes/{arm}"]["real_time"] / 1000, 2)


def gain(results, region, arm):
    """Returns the time without a window, with the set-aside held, divided by the time of a variant."""
    cases = results.cases(WINDOW)
    return short(cases[f"l2_window/region_{region}/none"]["real_time"] / cases[f"l2_window/region_{region}/{arm}"]["real_time"])


def aggregation(results, case):
    return short(results.cases("h200/atomic_contention")[f"{case}/aggregated"]["membar_ratio"], 2)


def spilled(results, blocks):
    return short(results.cases("h200/register_spill")[f"register_spill/{blocks}_blocks_per_sm/loads"]["real_time"])


def spread(values):
    return [short(min(values)), short(max(values))]


def store_latencies(results):
    """Returns the nanoseconds of release stores at device scope by one thread, one for each of several objects."""
    return [case["ns"] for name, case in results.cases("h200/atomic_cost").items() if re.fullmatch("latency/store/.*/membar", name)]


def release_store(results):
    """Returns the smallest and the largest cost of a release store, at device scope and at system scope."""
    places = ("own_sm", "shared_sm")
    return [text for scope in ("device", "system") for text in spread(
        [fence(results, scope, "release", "after_store")] + [beside(results, f"release_store.{scope}.{place}") for place in places]
        + (store_latencies(results) if scope == "device" else []))]


def over_no_window(results, arm):
    cases = results.cases(WINDOW)
    return spread([cases[name.replace(arm, "none")]["real_time"] / case["real_time"] for name, case in cases.items()
                   if name.startswith("l2_window/region_") and name.endswith(f"/{arm}")])


SAYS = {
    "docs/measurements/README.md": {
        "the tuned window reached {} to {} of the speed of the best window in the sweep": of_the_best,
        "The kernel was {} to {} times as fast with the tuned window as with the same set-aside and no window.": lambda r: over_no_window(r, "tuned"),
        "the kernel was faster than in all of these cases: {} to {} times as fast as with the largest set-aside and no window.": lambda r: over_no_window(
            r, "nothing_aside"),
        "A copy runs at {} TB/s with nothing set aside and at {} TB/s with 37.5 MiB set aside.": lambda r: [short(copied(r, share), 2) for share in (0, 1)],
        "in a table of 2 KiB take {} + {} (k - 1) cycles": lambda r: [
            short(constant(r, 1, 1, 2, "constant")), short((constant(r, 32, 1, 2, "constant") - constant(r, 1, 1, 2, "constant")) / 31)],
    },
    "docs/fences_and_scopes.md": {
        "At block scope, a store followed by an acquire fence takes {} ns, so the store accounts for nearly all of the time in that column.": lambda r: [short(fence(r, "block", "acquire", "after_store"))],
        "On an idle H200, a release store takes {} to {} ns at device scope and {} to {} ns at system scope.": release_store,
        "only release stores at device scope, which take {} to {} ns each": lambda r: spread(store_latencies(r)),
        "which then takes {} ns at device scope and {} ns at system scope on one multiprocessor, and {} ns and {} ns on another": lambda r: [
            short(beside(r, f"release_store.{scope}.{place}")) for place in ("own_sm", "shared_sm") for scope in ("device", "system")],
        "an iteration in which each lane of a warp executes one relaxed store takes {} ns": lambda r: [short(r.cases(FENCES)["nothing/after_store/1/membar"]["ns"])],
        "A release at device scope costs {} ns: in `fence_cost`, an iteration with one store and one release fence takes {} ns, compared with {} ns for the store.": lambda r: [
            added_to_store(r, "release"), tenths(iteration(r, "fence/device/release/after_store")), tenths(iteration(r, "nothing/after_store"))],
        "At system scope, it costs {} ns: such an iteration takes {} ns.": lambda r: [
            added_to_store(r, "release", "system"), tenths(iteration(r, "fence/system/release/after_store"))],
        "`__threadfence()` also costs {} ns, because `--repair` assumes that a stronger fence costs at least as much as a weaker one. By itself, it adds {} ns to an iteration with a store.": lambda r: [
            added_to_store(r, "release"), added_to_store(r, "seq_cst")],
        "An acquire at device scope costs {} ns, the time of an iteration with one acquire fence and no store. Each further acquire fence in an iteration adds only {} ns": lambda r: [
            tenths(iteration(r, "fence/device/acquire/idle") - iteration(r, "nothing/idle")), short(fence(r, "device", "acquire", "idle"))],
        "The order of an acq_rel read-modify-write at device scope costs {} ns: in `atomic_cost`, `fetch_add` takes {} ns with acq_rel and {} ns if it is relaxed": update_order,
        "even a fence at block scope takes {} µs, compared with {} ns without traffic.": lambda r: [
            short(beside(r, "fence.block.acq_rel.shared_sm", "nvlink.saturating") / 1000), short(beside(r, "fence.block.acq_rel.shared_sm"))],
        "While NCCL's all-reduce runs, such a fence takes {} µs on another multiprocessor, and {} µs on the same one.": lambda r: [
            short(beside(r, f"fence.system.acq_rel.{place}", "nccl.saturating") / 1000) for place in ("own_sm", "shared_sm")],
        "While saturating stores run, such a fence takes {} µs in another domain instead of {} µs.": lambda r: [
            short(beside(r, "fence.device.acq_rel.shared_sm", "nvlink.saturating", arm) / 1000) for arm in ("separate", "same")],
        "During saturating stores to the host, it took {} µs on a machine with one H200.": lambda r: [
            short(beside(r, "fence.device.acq_rel.own_sm", "host.saturating", file=X1) / 1000)],
    },
    "docs/memory_guide.md": {
        "Cycles are multiprocessor cycles at {} MHz: a hundred cycles take {} ns.": lambda r: [
            f"{float(r.read(LADDER)['context']['clock_MHz']):,.0f}", short(100_000 / float(r.read(LADDER)["context"]["clock_MHz"]))],
        "An access took {} cycles with an array of 2 KiB per thread, and {} cycles with 16 KiB": lambda r: [
            short(cycles(r, "local", "2.000")), short(cycles(r, "local", "16.000"))],
        "A load takes {} cycles, compared with {} from the block's own shared memory and {} from L2.": lambda r: [
            short(cycles(r, "distributed_shared", 64)), short(cycles(r, "shared", 64)), short(cycles(r, "global_past_l1", 1024))],
        "a second plain load of such a line took {} cycles.": lambda r: [short(cycles(r, "mapped", 4))],
        "A gather from 64 KiB reached {} TB/s with plain loads, and {} TB/s with loads that bypass L1.": lambda r: [
            short(read_only(r, f"fits_l1/gather/{arm}") / 1000, 2) for arm in ("plain", "cg")],
        "Each additional address costs {} cycles. The shift that turns an index into an address costs {} more.": lambda r: [
            short((constant(r, 32, 1, 2, "constant") - constant(r, 1, 1, 2, "constant")) / 31),
            short(constant(r, 1, 1, 2, "indexed") - constant(r, 1, 1, 2, "constant"))],
        "it may load the constant into a uniform register. Such a load takes {} cycles, whatever the table's size.": lambda r: [short(cycles(r, "constant_uniform", 64))],
        "An access then takes {} cycles, for any size up to 64 KiB.": lambda r: [short(constant(r, 1, 1, 64, "constant"))],
        "L1 keeps the table, and a lookup takes {} cycles. If each block performs enough lookups to pay for the copy, put the table into shared "
        "memory, where a lookup takes {} cycles without [bank conflicts](#shared-memory), and a few more if two or four lanes access the same bank. Constant memory is the "
        "slowest at this size: {} cycles, and only if all lanes of a warp use the same index.": table_lookup,
        "For reads that use none of these, textures are slower: {} cycles, compared with {} for a plain load from L1.": lambda r: [short(cycles(r, "texture", 64)), short(cycles(r, "global", 64))],
        "a region of up to 48 MiB: the reads reach {} TB/s with the set-aside and {} TB/s without it. A set-aside that is full of other lines slows them down to {} TB/s.": lambda r: [
            short(reread(r, 48, state), 2) for state in ("aside_idle", "nothing_aside", "aside_full")],
        "a plain copy runs at {} TB/s instead of {} TB/s.": lambda r: [short(copied(r, 1), 2), short(copied(r, 0), 2)],
        "With a set-aside, the window that `tune_window` chooses reaches {} to {} times the speed of the best of 24 windows.": of_the_best,
        "The whole device reads global memory at {} TB/s, although a single load takes {} cycles": lambda r: [
            terabytes(r.cases(LADDER)["memory_ladder/bandwidth/global/2097152"]["GB_per_s"]), short(cycles(r, "global_past_l1", 524288))],
        "It carries {} GB/s, and a load takes {} cycles.": lambda r: [
            short(r.cases(LADDER)["memory_ladder/bandwidth/mapped/262144"]["GB_per_s"]), short(cycles(r, "mapped_past_l1", 65536))],
        "A first read of 64 MiB took {} ms with page faults, and {} ms with a prefetch before it.": lambda r: [passes(r, "managed_faults"), passes(r, "managed_prefetched")],
        "Over 18 NVLinks, a load takes {} cycles, and all threads together read {} GB/s.": lambda r: [
            short(cycles(r, "peer_past_l1", 65536)), short(r.cases(LADDER)["memory_ladder/bandwidth/peer/262144"]["GB_per_s"])],
    },
    "docs/headers/constant.md": {
        "takes {} more cycles, which are not included.": lambda r: [
            short(constant(r, 1, 1, 2, "indexed") - constant(r, 1, 1, 2, "constant"))],
    },
    "docs/headers/l2_set_aside.md": {
        "A region of 40 MiB was read again at {} TB/s with nothing set aside, and at {} TB/s with 37.5 MiB set aside but idle. When the set-aside was full of "
        "persisting lines, the rate was {} TB/s.": lambda r: [short(reread(r, 40, state), 2) for state in ("nothing_aside", "aside_idle", "aside_full")],
        "A copy ran at {} TB/s with up to a quarter of the largest set-aside, at {} TB/s with half, and at {} TB/s with all of it.": lambda r: [
            short(copied(r, share), 2) for share in (0, 0.5, 1)],
    },
    "docs/headers/access_policy_window.md": {
        "took {} µs with nothing set aside. With the largest set-aside it took {} µs without a window, and {} µs with the best window.": lambda r: [
            short(window_time(r, "1.0", arm)) for arm in ("nothing_aside", "none", "tuned")],
    },
    "docs/older_notes.md": {
        "An access takes {} cycles if all lanes use the same index and the table has at most 2 KiB; with a larger table, it takes {} cycles. In a chain of register "
        "operations, each takes {} cycles. An access to shared memory takes {} cycles at any index without [bank conflicts](memory_guide.md#shared-memory). With 32 different "
        "indices in a warp, an access to constant memory takes {} cycles.": lambda r: [
            short(constant(r, 1, 1, 2, "constant")), short(constant(r, 1, 1, 64, "constant")), short(cycles(r, "register", 0)),
            short(cycles(r, "shared", 64)), short(constant(r, 32, 1, 2, "constant"))],
        "A read-only load from L1 takes {} cycles, and a plain load takes {} cycles. A gather from 64 KiB reached {} GB/s with `__ldg` and {} GB/s with plain loads.": lambda r: [
            short(cycles(r, "read_only", 64)), short(cycles(r, "global", 64)), short(read_only(r, "fits_l1/gather/raw_ldg")),
            short(read_only(r, "fits_l1/gather/plain"))],
        "A texture fetch takes {} cycles, and a plain load takes {} cycles.": lambda r: [short(cycles(r, "texture", 64)), short(cycles(r, "global", 64))],
        "the best window made a kernel up to {} times as fast as no window.": lambda r: [gain(r, "1.0", "tuned")],
        "The same kernel took {} µs with nothing set aside. With the set-aside, it took {} µs without a window, and {} µs with the best window.": lambda r: [
            short(window_time(r, "1.0", arm)) for arm in ("nothing_aside", "none", "tuned")],
        "A region of 40 MiB is read repeatedly at {} TB/s with nothing set aside, and at {} TB/s with an idle set-aside of 37.5 MiB. If the set-aside is "
        "full of other lines, the rate is {} TB/s.": lambda r: [short(reread(r, 40, state), 2) for state in ("nothing_aside", "aside_idle", "aside_full")],
        "A copy runs at {} TB/s with nothing or a quarter of the 37.5 MiB set aside, at {} TB/s with half, and at {} TB/s with all of it.": lambda r: [
            short(copied(r, share), 2) for share in (0, 0.5, 1)],
        "a window over a hot region of a quarter of the largest set-aside still reduced the time of a kernel from {} to {} µs.": lambda r: [
            short(beside_stream(r, "changes", 0.25, 0, window)) for window in ("none", "window")],
        "the kernel ran {} times as fast with that ratio as without a window, and {} times as fast with a ratio of 1.": lambda r: [
            gain(r, "1.0", "guide"), gain(r, "1.0", "ratio_1")],
        "A kernel with such a region was still {} times as fast as without a window. With the ratio at which the lines fit, it was {} times as fast.": lambda r: [
            gain(r, "2.0", "ratio_1"), gain(r, "2.0", "plan")],
        "In that case, merging by hand changes the speed by a factor of {}, because there is nothing left to gain. The factor is {} for float additions at such an address, "
        "{} for integer maxima, and {} for additions to an address that the compiler does not know.": lambda r: [
            aggregation(r, "fetch_add/u32/relaxed/global/used/known"), aggregation(r, "fetch_add/f32/relaxed/global/used/known"),
            aggregation(r, "fetch_max/u32/relaxed/global/used/known"),
            aggregation(r, "fetch_add/u32/relaxed/global/used/one")],
        "A load from L2 takes {} cycles, and a `fetch_add` in L2 takes {} cycles. All threads together performed {} `fetch_add`s per nanosecond on objects of "
        "their own, compared with {} loads. On a single object, they performed {} per nanosecond.": lambda r: [
            level(r, "levels/latency/load/l2", "cycles"), level(r, "levels/latency/fetch_add/l2", "cycles"),
            level(r, "levels/throughput/own_objects/fetch_add/l2"), level(r, "levels/throughput/own_objects/load/l2"),
            level(r, "levels/throughput/one_object/fetch_add/l2")],
        "A histogram with 256 bins counted {} values per nanosecond with separate bins for each block in shared memory, and {} with one atomic per value.": lambda r: [
            level(r, f"histogram/256_bins/{arm}", "values_per_ns") for arm in ("privatized", "direct")],
        "A kernel with 96 live values took {} µs with 512 threads per multiprocessor and no spills. With 2,048 threads and 32 registers, it took "
        "{} µs.": lambda r: [spilled(r, 2), spilled(r, 8)],
        "A second plain load of a line takes {} cycles, because L1 holds the line. A load that bypasses L1 takes {} cycles": lambda r: [
            short(cycles(r, "mapped", 4)), short(cycles(r, "mapped_past_l1", 64 * 1024))],
        "On an idle device, it costs {} ns.": lambda r: [short(fence(r, "block", "seq_cst", "idle"))],
        "A fence at system scope takes {} ns on an idle device. During saturating NVLink stores on its multiprocessor, it took {} µs.": lambda r: [
            short(beside(r, "fence.system.acq_rel.shared_sm")), short(beside(r, "fence.system.acq_rel.shared_sm", "nvlink.saturating") / 1000)],
    },
}
