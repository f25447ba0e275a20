#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the report on the symmetric-memory benches: round trips, bandwidth, atomics, barriers and domains, compared with other
libraries.

    report.py --output <folder> <bench.json>...

The files are the outputs of --benchmark_out; the case names identify each file's bench. If a variant was measured with several groups or
grids, the report uses the fastest of them, and a table lists them all. Without matplotlib, the page has a note instead of
pictures.
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "common"))
from report_page import NONE, limit_row, limit_table, table, write_report  # noqa: E402

RATE = "GB/s"
MOST_SIGNAL, MOST_PACKED_16, MOST_PACKED_1024, LEAST_SIGNAL_GAIN, LEAST_PACKED_GAIN, MOST_OF_NVSHMEM, LEAST_OF_COPY = (
    3.6, 1.5, 1.65, 1.5, 3.0, 1.03, 0.95)

# The name of each line in the picture, with variants: the line shows the fastest of them.
ROUND_TRIPS = {
    "put_signal": ["membar_peer"],
    "put_signal from shared memory": ["membar_peer_from_shared"],
    "written by hand": ["by_hand"],
    "packed": ["membar_peer_packed", "membar_peer_packed_in_memory"],
    "packed in pieces": ["membar_peer_packed_pieces"],
    "NVSHMEM": ["nvshmem"],
    "NVSHMEM and acquire": ["nvshmem_and_acquire"],
    "put_signal over NVSHMEM": ["membar_nvshmem"],
    "NCCL send, receive": ["nccl_send_recv"],
}
COPY = "cudaMemcpyPeerAsync"
# The puts by membar's kernels that are compared with the copy engine.
PUTS = ["membar_peer", "membar_peer_tiles"]


def number(part, unit):
    """Returns the number in a part of a name such as `bytes:16`."""
    name, _, value = part.partition(":")
    if name != unit:
        raise ValueError(f"{part} where {unit}:<n> is expected")
    return int(value)


def cell(value):
    """Formats a figure; returns an empty string if nothing was measured."""
    return value if value == value else ""


def ratio(a, b):
    return a / b if b == b and b else NONE


def by_size(results, unit, figure, scale=1.0):
    """Returns {variant: {size: {how: figure}}} from names <variant>[/<how>...]/<unit>:<size>."""
    arms = {}
    for name, figures in results.cases.items():
        _, arm, *how, size = name.split("/")
        arms.setdefault(arm, {}).setdefault(number(size, unit), {})["/".join(how)] = scale * figures[figure]
    return arms


def put_signal_latency(results, page):
    arms = by_size(results, "bytes", "ns", 1e-3)
    sizes = sorted({size for of in arms.values() for size in of if size})

    def quickest(names, size):
        return min((us for name in names for us in arms.get(name, {}).get(size, {}).values()), default=NONE)

    lines = {line: {size: quickest(names, size) for size in sizes} for line, names in ROUND_TRIPS.items()}
    acquiring = arms.get("nvshmem_and_acquire", {})
    beside = [us / acquiring[size][how] for size, of in arms.get("membar_nvshmem", {}).items() for how, us in of.items()
              if how in acquiring.get(size, {})]
    raw = lines["NVSHMEM"]
    signal, packed = lines["put_signal"], lines["packed"]
    text = limit_table([
        limit_row("put_signal at 16 B, µs", signal.get(16, NONE), MOST_SIGNAL),
        limit_row("the same from shared memory, µs", lines["put_signal from shared memory"].get(16, NONE), MOST_SIGNAL),
        limit_row("packed at 16 B, µs", packed.get(16, NONE), MOST_PACKED_16),
        limit_row("packed at 1 KiB, one piece per thread, µs", lines["packed in pieces"].get(1024, NONE), MOST_PACKED_1024),
        limit_row("packed at 1 KiB, whole message by the group, µs", packed.get(1024, NONE), MOST_PACKED_1024),
        limit_row("NVSHMEM without an acquire / put_signal, 16 B", ratio(raw.get(16, NONE), signal.get(16, NONE)), LEAST_SIGNAL_GAIN,
                at_most=False),
        limit_row("NVSHMEM without an acquire / packed, 16 B", ratio(raw.get(16, NONE), packed.get(16, NONE)), LEAST_PACKED_GAIN,
                at_most=False),
        limit_row(f"membar over NVSHMEM / NVSHMEM with an acquire, the largest ratio of {len(beside)} cases", max(beside, default=NONE),
                MOST_OF_NVSHMEM)])
    text += ("\n\nThe table shows round-trip times in microseconds, with the fastest group for each method. NVSHMEM's wait does not acquire, so "
             "data read after the wait may be stale.\n\n")
    text += page.lines("round_trip.png", results.titled("A message there and back"), "bytes", "µs",
                          {line: [(size, us) for size, us in of.items() if us == us] for line, of in lines.items()
                           if any(us == us for us in of.values())}, doubling=True)
    text += table(["bytes", *lines], [[str(size), *[cell(of[size]) for of in lines.values()]] for size in sizes])
    text += "\n\nThe next table shows the times in microseconds by group and number of threads.\n\n"
    sizes = sorted({size for of in arms.values() for size in of})
    return text + table(["arm", *[f"{size} B" for size in sizes]],
                        [[f"`{arm}/{how}`", *[of.get(size, {}).get(how, "") for size in sizes]]
                         for arm, of in arms.items() for how in dict.fromkeys(how for hows in of.values() for how in hows)])


def put_bandwidth(results, page):
    arms = by_size(results, "MiB", RATE)
    sizes = sorted({size for of in arms.values() for size in of})
    best = {arm: {size: max(hows.values()) for size, hows in of.items()} for arm, of in arms.items()}
    copy = best.get(COPY, {})
    large = [size for size in sizes if size >= 64]
    text = limit_table([
        limit_row(f"a put by a kernel / the copy engine, {size} MiB",
                ratio(max((best[arm][size] for arm in PUTS if size in best.get(arm, {})), default=NONE), copy.get(size, NONE)),
                LEAST_OF_COPY, at_most=False) for size in large])
    text += "\n\nThe table shows the rate in GB/s with the fastest grid for each method, and its ratio to the copy engine's rate (`cudaMemcpyPeerAsync`).\n\n"
    if large:
        text += page.panels("bandwidth.png", results.titled("One way, large messages"), {
            f"{size} MiB, GB/s": {"": {arm: of.get(size, NONE) for arm, of in best.items()}} for size in large})
    rows = []
    for arm, of in best.items():
        share = [ratio(of.get(size, NONE), copy.get(size, NONE)) for size in sizes]
        last = arms[arm].get(sizes[-1], {})
        rows.append([f"`{arm}`", *[of.get(size, "") for size in sizes], *[f"{each:.3f}" if each == each else "" for each in share[-2:]],
                     max(last, key=last.get, default="")])
    return text + table(["method", *[f"{size} MiB" for size in sizes], *[f"share at {size} MiB" for size in sizes[-2:]], "grid for the largest size"],
                        rows)


def amo_latency(results, _):
    whose = {}
    for (arm, where), figures in results.rows(2).items():
        whose.setdefault(arm, {})[where] = figures["ns"]
    return ("The table shows nanoseconds per operation. The operations run one after the other, and each waits for the previous operation's value; "
            "`add_and_quiet` waits only once, at the end.\n\n" +
            table(["arm", "own counter", "other PE's counter"],
                  [[f"`{arm}`", of.get("own_pe", ""), of.get("other_pe", "")] for arm, of in whose.items()]))


def barrier_latency(results, page):
    arms = {}
    for name, figures in results.cases.items():
        _, arm, *how = name.split("/")
        arms.setdefault(arm, {})[number(how[0], "threads") if how else 0] = 1e-3 * figures["ns"]
    threads = sorted({count for of in arms.values() for count in of if count})
    text = "The table shows the time of a barrier between two PEs, in microseconds. NVSHMEM's own barrier does not acquire.\n\n"
    blocks = {f"{count} threads": {arm: of[count] for arm, of in arms.items() if "by_block" in arm and count in of} for count in threads}
    text += page.bars("barrier.png", results.titled("A barrier of two PEs, by one block of each"), "µs",
                         {count: of for count, of in blocks.items() if of})
    return text + table(["arm", *[f"{count} threads" if count != 1 else "1 thread" for count in threads], "on a stream"],
                        [[f"`{arm}`", *[of.get(count, "") for count in threads], of.get(0, "")] for arm, of in arms.items()])


FLOOR = ("empty", "exchange", "captured_empty", "captured_exchange")


def all_reduce_latency(results, _):
    arms = by_size(results, "bytes", "ns", 1e-3)  # {variant: {bytes: {"gpus:2": us}}}
    text = ("The table shows the time of an all-reduce of floats, in microseconds; the all-reduces run one after the other in each GPU's stream. "
            "`NCCL /` is NCCL's time divided by the time of membar's faster variant, `one shot` or `two shots`. The kernels `empty` (which does "
            "nothing) and `exchange` (which sends and receives one word) show the minimum times; `captured` kernels run in a graph. In this "
            "measurement, NVSHMEM uses neither NCCL nor multicast.\n\n")
    rows = []
    for gpus in sorted({how for of in arms.values() for at in of.values() for how in at}):
        for size in sorted({size for of in arms.values() for size in of}):
            times = [arms.get(arm, {}).get(size, {}).get(gpus, NONE) for arm in ("one_shot", "two_shots", "nccl", "nvshmem", "captured_one_shot", *FLOOR)]
            if any(time == time for time in times):
                own = min((time for time in times[:2] if time == time), default=NONE)
                rows.append([number(gpus, "gpus"), size, *map(cell, times), cell(ratio(times[2], own))])
    return text + table(["GPUs", "bytes", "one shot", "two shots", "NCCL", "NVSHMEM", "one shot in a graph", *(each.replace("_", " ") for each in FLOOR), "NCCL /"], rows)


def domain_overlap(results, _):
    times = {arm: 1e-3 * figures["ns"] for (arm,), figures in results.rows(1).items()}
    return ("The table shows the time per kernel in a local chain while communication runs in the default or in the remote domain.\n\n" +
            table(["during", "µs", "relative to alone"], [[arm.replace("_", " "), us, cell(ratio(us, times.get("alone", NONE)))] for arm, us in times.items()]))


DRAW = {"put_signal_latency": put_signal_latency, "put_bandwidth": put_bandwidth, "amo_latency": amo_latency,
        "barrier_latency": barrier_latency, "domain_overlap": domain_overlap, "all_reduce_latency": all_reduce_latency}


if __name__ == "__main__":
    write_report(__doc__, "Symmetric memory, measured", DRAW)
