#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the scenarios in this folder and runs membar-check on each, first unchanged and then with a single order weakened.

usage: scenarios_test.py <membar-check> <nvcc> <include folder>

Every scenario must have the result that EXPECTED gives. In the scenarios for the library's own patterns, the test weakens each order
stronger than relaxed, one at a time. membar-check must then report a finding, except for as many orders as NOT_NEEDED gives. The answers
with --no-symmetry must be the same; this is checked where equal threads are exchanged.
"""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

FOLDER = pathlib.Path(__file__).parent / "scenarios"
EXPECTED = {
    "message_passing": "verified",
    "message_passing.volatile": "race",
    "message_passing.fences": "verified",
    "message_passing.block_scope": "race",
    "message_passing.no_sender": "hang",
    "message_passing.plain": "race",
    "message_passing.plain.no_sender": "hang",
    "different_barriers": "undefined",
    "grid_sync": "verified",
    "fenced_barrier": "verified",
    "grid_sync.left_out": "race",
    "named_barriers": "verified",
    "named_barriers.early": "race",
    "pipeline_ends": "race",
    "pipeline_ends.met": "verified",
    "aggregated": "verified",
    "early_return": "verified",
    "tensor_pipeline": "verified",
    "tensor_pipeline.full": "uninitialised",
    "tensor_pipeline.products": "race",
    "tensor_pipeline.registers": "undefined",
    "tensor_pipeline.empty": "undefined",
    "tensor_pipeline.expected": "uninitialised",
    "poll_together.barrier": "verified",
    "poll_together.barrier.no_sender": "hang",
    "poll_together.vote": "verified",
    "poll_together.vote.no_sender": "hang",
    "poll_together.shuffle": "verified",
    "poll_together.shuffle.no_sender": "hang",
    "poll_together.shared": "verified",
    "poll_together.shared.no_sender": "hang",
    "poll_together.turns": "verified",
    "poll_together.look_back": "verified",
    "poll_together.look_back.256": "verified",
    "many_threads": "verified",
    "many_threads.512": "verified",
    "arrivals": "verified",
    "arrivals.consumers": "verified",
    "arrivals.consumers.early": "undefined",
    "arrivals.fences": "verified",
    "ticket_lock": "verified",
    "ticket_lock.wrap": "verified",
    "ticket_lock.4x2": "verified",
    "spsc_channel.3": "verified",
    "spsc_channel.8": "verified",
    "queue_lock": "verified",
    "queue_lock.2x2": "verified",
    "grid_barrier": "verified",
    "grid_barrier.6": "verified",
    "grid_barrier.rounds": "verified",
    "grid_barrier.wrap": "verified",
    "last_block": "verified",
    "last_block.8": "verified",
    "mpsc_channel": "verified",
    "mpsc_channel.2x2": "verified",
    "mpsc_channel.3": "verified",
    "mpsc_channel.3x3": "verified",
    "mpmc_channel": "verified",
    "mpmc_channel.wrap": "verified",
    "mpmc_channel.closed": "verified",
    "sequence_lock": "verified",
    "sequence_lock.2": "verified",
    "cross_barrier": "verified",
    "cross_barrier.wrap": "verified",
    "packed_channel": "verified",
    "publisher": "verified",
    "split_barrier": "verified",
    "split_barrier.three": "verified",
    "aborted_barrier": "verified",
    "signals": "verified",
    "signals.gather": "verified",
    "signals.fence": "verified",
    "all_reduce.one_shot": "verified",
    "all_reduce.one_shot.ones": "verified",
    "all_reduce.one_shot.wrap": "verified",
    "all_reduce.one_shot.3": "verified",
    "all_reduce.one_shot.5": "verified",
    "all_reduce.one_shot.7": "verified",
    "all_reduce.two_shots": "verified",
    "all_reduce.two_shots.again": "verified",
    "all_reduce.two_shots.3": "verified",
    "all_reduce.two_shots.3.again": "verified",
    "all_reduce.two_shots.5": "verified",
    "all_reduce.two_shots.7": "verified",
    "bulk_pipeline": "verified",
    "bulk_pipeline.2": "verified",
    "cluster_broadcast.relayed": "verified",
    "cluster_broadcast.relayed_and_written": "race",
    "cluster_broadcast.multicast": "verified",
    "dependent_chain": "verified",
    "host_announce": "verified",
    "host_announce.answer": "verified",
    "host_announce.device_scope": "race",
    "host_announce.no_reader": "verified",
    "variable_per_device": "verified",
    "variable_per_device.managed": "race",
    "stage_filled_again": "race",
    "stage_filled_again.fixed": "verified",
    "timed_wait": "verified",
    "timed_wait.no_time": "race",
    "timed_wait.fixed.no_time": "verified",
}
# Scenarios in which orders are weakened, though not in kernels that the scenario does not launch.
WEAKENED = ["message_passing", "message_passing.fences", "ticket_lock", "spsc_channel.3", "queue_lock", "grid_barrier.rounds", "last_block",
            "aggregated", "mpsc_channel.2x2", "mpmc_channel.wrap", "sequence_lock", "cross_barrier.wrap", "packed_channel", "publisher", "split_barrier",
            "split_barrier.three", "all_reduce.one_shot", "all_reduce.two_shots", "signals", "signals.gather", "signals.fence", "bulk_pipeline",
            "cluster_broadcast.relayed", "cluster_broadcast.multicast", "dependent_chain", "host_announce", "host_announce.answer"]
# For each scenario, the number of orders that can be weakened without a finding, and the reason. The headers need these orders for
# guarantees that the scenario does not test.
NOT_NEEDED = {"publisher": (2, "the source and the server close the channel with release, but no later access depends on it"),
              "bulk_pipeline": (1, "the block barrier after the fence also orders the mbarriers' initialization"),
              "cluster_broadcast.relayed": (3, "the first cluster barrier orders the initialization as well as the fence does, and no "
                                               "access follows the last one"),
              "cluster_broadcast.multicast": (3, "as relayed"),
              "all_reduce.two_shots": (2, "the fence covers stores to several PEs, and this scenario has only one other PE")}
ORDER = re.compile(r"\b(ld|st|atom|red|mbarrier\.arrive|mbarrier\.arrive\.expect_tx|mbarrier\.try_wait\.parity|barrier\.cluster\.arrive)"
                   r"\.(acquire|release|acq_rel)\b|\b(fence\.(acquire|release|acq_rel|sc)\.\w+|membar\.\w+|fence\.proxy\.[\w.:]+|"
                   r"fence\.mbarrier_init\.[\w.]+|griddepcontrol\.wait|bar\.warp\.sync\s+[^;]+);")


def run(check, folder, name, ptx, text, *options):
    (folder / "kernel.ptx").write_text(ptx, encoding="utf-8")
    scenario = folder / f"{name}.scenario"
    scenario.write_text(re.sub(r"(?m)^source .*$", "source kernel.ptx", text), encoding="utf-8")
    done = subprocess.run([check, "--quiet", "--format=json", *options, scenario], capture_output=True, text=True)
    try:
        result = json.loads(done.stdout)["files"][0]
    except ValueError:
        result = {"status": "no answer", "error": done.stderr}
    said = result.get("finding", {}).get("message", result.get("error", ""))
    return result["status"], done.returncode, f"{result['status']}: {said}", result.get("equal_threads_exchanged", False)


def without_symmetry(check, folder, name, ptx, text, first):
    """Returns the result with --no-symmetry, which can differ from the first result only if equal threads were exchanged."""
    return run(check, folder, name, ptx, text, "--no-symmetry") if first[3] else first


def is_kernel(mangled, name):
    """Returns whether a kernel's PTX name belongs to a scenario. The kernel may be a template instance with a number."""
    plain, _, number = name.partition("<")
    return mangled == name or (number != "" and f"{len(plain)}{plain}ILi{number.rstrip('>')}E" in str(mangled))


def weakened(ptx, kernels):
    """For each order in a launched kernel, yields the PTX with this order weakened, and the line that was weakened."""
    lines, kernel = ptx.split("\n"), None
    for number, line in enumerate(lines):
        if found := re.search(r"\.entry (\w+)\(", line):
            kernel = found[1]
        if any(is_kernel(kernel, name) for name in kernels) and (found := ORDER.search(line)):
            new = line[:found.start()] + line[found.end():] if found[3] else ORDER.sub(rf"{found[1]}.relaxed", line)
            yield line.strip(), "\n".join(lines[:number] + [new] + lines[number + 1:])


def main():
    check, nvcc, include = sys.argv[1:4]
    wrong, compiled, mutants = [], {}, 0
    scenarios = {path.name.removesuffix(".scenario"): path.read_text(encoding="utf-8") for path in FOLDER.glob("*.scenario")}
    if set(scenarios) != set(EXPECTED):
        wrong.append(f"scenarios without an expectation, or expectations without a scenario: {sorted(set(scenarios) ^ set(EXPECTED))}")
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        for name, text in sorted(scenarios.items()):
            source = re.search(r"(?m)^source (.*)$", text)[1]
            if source not in compiled:
                target = folder / "compiled.ptx"
                file, *options = source.split()
                options = [option for option in options if not option.startswith("-I")]
                if not any(option.startswith("-arch=") for option in options):  # Some instructions exist on only one architecture.
                    options.append("-arch=sm_90")
                subprocess.run([nvcc, "-std=c++20", "-ptx", *options, f"-I{include}", "-o", target, FOLDER / file], check=True)
                compiled[source] = target.read_text(encoding="utf-8")
            result = run(check, folder, name, compiled[source], text)
            status, code, output, _ = result
            if status != EXPECTED[name] or code != (0 if status == "verified" else 1):
                wrong.append(f"{name}: expected {EXPECTED[name]}, exit status {code}: {output}")
            again = without_symmetry(check, folder, name, compiled[source], text, result)
            if again[0] != status:
                wrong.append(f"{name}: without symmetry {again[2]}")
            if name not in WEAKENED:
                continue
            kernels, without = re.findall(r"(?m)^launch (\S+)", text), []
            for line, ptx in weakened(compiled[source], kernels):
                mutants += 1
                result = run(check, folder, name, ptx, text)
                status, _, output, _ = result
                print(f"{name}: without the order of '{line}': {status}")
                again = without_symmetry(check, folder, name, ptx, text, result)
                if (again[0] == "verified") != (status == "verified"):
                    wrong.append(f"{name}: without the order of '{line}', without symmetry: {again[2]}")
                if status not in ("race", "violated", "hang"):
                    without.append(f"{name}: without the order of '{line}': {output}")
            if len(without) != NOT_NEEDED.get(name, (0, ""))[0]:
                wrong += without or [f"{name}: every order is needed, but NOT_NEEDED lists orders of this scenario"]
    print(f"{len(scenarios)} scenarios, {mutants} orders weakened, {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong or mutants == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
