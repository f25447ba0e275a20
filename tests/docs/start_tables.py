# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the cost tables in docs/start, and a table of fences during stores, from the results in docs/measurements. TABLES lists the tables
by page and name, for figures.py.
"""


def table(header, lines):
    return "\n".join(["| " + " | ".join(header) + " |", "|" + " --- |" * len(header), *("| " + " | ".join(line) + " |" for line in lines)])


def time_of(nanoseconds):
    """Formats a time with three digits, in the unit that suits it."""
    if nanoseconds < 1:
        return f"{nanoseconds * 1000:.3g} ps"
    if nanoseconds < 1000:
        return f"{nanoseconds:.3g} ns"
    return f"{nanoseconds / 1000:.3g} µs"


def times(results, name, rows):
    cases = results.cases(name)
    return [[words, time_of(cases[case]["real_time"])] for words, case in rows]


def counter(results):
    latency = times(results, "h200/atomic_cost", [
        ("a single thread, until it has the old value", "latency/fetch_add/u32/relaxed/device/membar")])
    rest = times(results, "h200/atomic_contention", [
        ("all threads of the GPU on one counter, per addition", "add/u32/relaxed/global/unused/one/membar"),
        ("the same, with the additions of each warp combined into one", "add/u32/relaxed/global/unused/one/aggregated"),
        ("all threads, each with its own counter", "add/u32/relaxed/global/unused/per_lane/membar")])
    return table(["addition", "time"], latency + rest)


def flag(results):
    return table(["fence, on an idle GPU", "time"], times(results, "h200-x2/fence_interference", [
        ("at block scope, `acq_rel`", "fence.block.acq_rel.own_sm/none/alone"),
        ("at device scope, `acq_rel`", "fence.device.acq_rel.own_sm/none/alone")]))


def two_blocks(results):
    fences = times(results, "h200-x2/fence_interference", [
        ("a release store at device scope", "release_store.device.own_sm/none/alone"),
        ("an acquire load at device scope", "acquire_load.device.own_sm/none/alone")])
    return table(["operation", "time"], fences + times(results, "h200/sync_patterns", [
        ("a message between two blocks, through `spsc_channel`", "channel/spsc/pairs:1"),
        ("a barrier of 132 blocks, `grid_barrier`", "grid_barrier/membar/blocks_per_sm:1/threads:256")]))


def host_and_kernel(results):
    return table(["operation", "time"], times(results, "h200-x2/fence_interference", [
        ("a release store at device scope", "release_store.device.own_sm/none/alone"),
        ("a release store at system scope", "release_store.system.own_sm/none/alone"),
        ("a fence at system scope", "fence.system.acq_rel.own_sm/none/alone"),
        ("the same fence, while kernels on other multiprocessors store to a peer without pause", "fence.system.acq_rel.own_sm/nvlink.saturating/same")]))


def two_gpus(results):
    cases = results.cases("h100-x2/put_signal_latency")
    return table(["message, put by 256 threads", "round trip"], [
        [f"{size:,} bytes", time_of(cases[f"put_signal_latency/membar_peer/block:256/bytes:{size}"]["real_time"])]
        for size in (16, 1024, 16384, 262144, 1048576)])


def beside(results):
    cases = results.cases("h200-x2/fence_interference")
    times_of = {case: cases[f"kernel_boundary.stream/{case}"]["real_time"] for case in ("none/alone", "nvlink.saturating/same", "nvlink.saturating/separate")}
    return table(["a small kernel", "time per kernel", "relative to alone"], [
        [words, time_of(times_of[case]), f"{times_of[case] / times_of['none/alone']:.1f}"]
        for words, case in (("alone", "none/alone"), ("during stores to a second GPU, in one domain", "nvlink.saturating/same"),
                            ("during stores in the remote domain", "nvlink.saturating/separate"))])


def fences_beside_stores(results):
    cases = results.cases("h200-x2/fence_interference")
    lines = []
    for scope in ("block", "device", "system"):
        for order in ("acq_rel", "seq_cst"):
            alone, same, separate = (cases[f"fence.{scope}.{order}.shared_sm/{arm}"]["real_time"]
                                     for arm in ("none/alone", "nvlink.saturating/same", "nvlink.saturating/separate"))
            lines.append([f"{scope}, `{order}`", time_of(alone), time_of(same), f"{same / alone:.0f} times", time_of(separate)])
    return table(["fence", "alone", "on a multiprocessor that stores to a peer", "relative to alone", "with the stores in a separate domain"], lines)


TABLES = {"docs/start/1_counter.md": {"cost of a counter": counter},
          "docs/start/2_flag_and_data.md": {"cost of a flag": flag},
          "docs/start/3_two_blocks.md": {"cost between blocks": two_blocks},
          "docs/start/4_host_and_kernel.md": {"cost of a host": host_and_kernel},
          "docs/start/5_two_gpus.md": {"cost of a message": two_gpus},
          "docs/start/6_beside_communication.md": {"cost of a boundary": beside},
          "docs/memory_model_primer.md": {"fences beside stores": fences_beside_stores}}
