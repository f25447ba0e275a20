#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks --repair on the wrong kernels in the bug corpus, and checks the built-in cost table.

usage: repairs_test.py <membar-check>

The kernels in REPAIRED have incorrect orders, scopes, fences or barriers. For any other kernel, --repair must not claim to have found a
repair.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# For each repair, the cost table's lines for its changes, one line per change. Barriers have no cost in the table.
BARRIER = "a barrier"
ACQUIRE, RELEASE, ADD = "fence acquire device", "fence release device", "atomic acq_rel device"
REPAIRED = {
    "fence_after_barrier": [None],
    "flag_before_copy": ["proxy global"],
    "last_block_reads": [ADD],
    "leader_scalar": [BARRIER],
    "lock_without_fences": [ACQUIRE, ADD],
    "look_back": [ACQUIRE, RELEASE],
    "no_acquire": [ACQUIRE],
    "polling_cache_hint": [None],
    "red_without_release": [ADD],
    "reduce_in_a_loop": [BARRIER],
    "scan_without_fence": [ADD],
    "serial_reduction": [RELEASE],
    "signal_of_a_peer": [None],
    "skipped_tiles": [BARRIER],
    "stores_before_copy": ["proxy shared"],
    "volatile_flags": ["fence release system", "fence acquire system"],
    "warp_in_step": [BARRIER],
}


def main():
    check, wrong = pathlib.Path(sys.argv[1]).resolve(), []
    header = (ROOT / "tools/check/order_costs.hpp").read_text(encoding="utf-8")
    built_in = "".join(re.findall(r'^    "(.*)\\n";?$', header, re.M)).replace("\\n", "")
    price = {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in re.findall(r'^    "((?:fence|atomic|proxy) .*)\\n";?$', header, re.M)}
    repaired = {name: (1, BARRIER) if changes == [BARRIER] else (len(changes), f"+{sum(price[c] for c in changes if c):.1f} ns" if any(changes) else "no extra cost")
                for name, changes in REPAIRED.items()}
    results = [ROOT / "docs/measurements/h200" / f"{bench}.json" for bench in ("fence_cost", "atomic_cost", "proxy_fence_cost")]
    written = subprocess.run([sys.executable, ROOT / "bench/check/order_costs.py", *results], capture_output=True, text=True)
    if written.returncode != 0 or written.stdout.replace("\n", "") != built_in:
        wrong.append(f"the built-in table differs from the measurements:\n{written.stdout}{written.stderr}{built_in}")
    swapped = subprocess.run([sys.executable, ROOT / "bench/check/order_costs.py", *reversed(results[:2])], capture_output=True, text=True)
    if swapped.returncode != 2 or "has no time for 'fence/block/acquire/idle/1/membar': run the whole bench" not in swapped.stderr:
        wrong.append(f"results without one of the cases: {swapped.stdout}{swapped.stderr}")
    names = sorted(path.name.split(".")[0] for path in (ROOT / "examples/bugs").glob("*.wrong.scenario"))
    found = {}
    for name in names:
        done = subprocess.run([check, "--quiet", "--repair", f"{name}.wrong.scenario"], cwd=ROOT / "examples/bugs", capture_output=True,
                              text=True, env=dict(os.environ))
        first = re.search(r"^  repair 1 of \d+: (\S+ ns|no extra cost|a barrier)(?: on NVIDIA H200)?; verified, [1-9]\d* executions?.*\n((?:    .*\n)*)", done.stdout, re.M)
        if first:
            found[name] = (len(re.findall(r"^         (?!in C\+\+: |    or: )", first[2], re.M)), first[1])
            print(f"{name}: {found[name]}\n{first[2]}", end="")
        elif not re.search("  no repair: no set of up to 3 changes to orders, scopes, fences or barriers lets the scenario pass|  no repair was found, but not all sets of changes ", done.stdout):
            wrong.append(f"{name}: {done.stdout}{done.stderr}")
    if found != repaired:
        wrong.append(f"--repair repaired {found}, but it should repair {repaired}")
    print(f"{len(found)} of {len(names)} wrong kernels repaired by orders, scopes, fences and barriers; {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
