#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What --repair says of the museum's wrong kernels, and of the built-in table of costs.

usage: repairs_test.py <membar-check>

The kernels of REPAIRED are those whose fault is one of orders, scopes and fences. Of the others none may be said to be repaired.
"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
# How many changes, and what they cost on H200.
REPAIRED = {
    "fence_after_barrier": (1, "+0.0 ns"),
    "last_block_reads": (1, "+201.4 ns"),
    "lock_without_fences": (2, "+216.2 ns"),
    "look_back": (2, "+341.4 ns"),
    "no_acquire": (2, "+29.6 ns"),
    "polling_cache_hint": (2, "+0.0 ns"),
    "red_without_release": (1, "+201.4 ns"),
    "scan_without_fence": (1, "+201.4 ns"),
    "serial_reduction": (1, "+326.6 ns"),
    "signal_of_a_peer": (1, "+0.0 ns"),
    "volatile_flags": (2, "+632.2 ns"),
}


def main():
    check, wrong = pathlib.Path(sys.argv[1]).resolve(), []
    header = (ROOT / "include/membar/check/order_costs.hpp").read_text(encoding="utf-8")
    built_in = "".join(re.findall(r'^    "(.*)\\n";?$', header, re.M)).replace("\\n", "")
    results = [ROOT / "docs/measurements/h200" / f"{bench}.json" for bench in ("fence_cost", "atomic_cost")]
    written = subprocess.run([sys.executable, ROOT / "bench/check/order_costs.py", *results], capture_output=True, text=True)
    if written.returncode != 0 or written.stdout.replace("\n", "") != built_in:
        wrong.append(f"the built-in table is not that of the measurements:\n{written.stdout}{written.stderr}{built_in}")
    swapped = subprocess.run([sys.executable, ROOT / "bench/check/order_costs.py", *reversed(results)], capture_output=True, text=True)
    if swapped.returncode != 2 or "has no time of 'fence/block/acquire/idle/1/membar': run the whole bench" not in swapped.stderr:
        wrong.append(f"results that lack a case: {swapped.stdout}{swapped.stderr}")
    names = sorted(path.name.split(".")[0] for path in (ROOT / "examples/bugs").glob("*.wrong.scenario"))
    found = {}
    for name in names:
        done = subprocess.run([check, "--quiet", "--repair", f"{name}.wrong.scenario"], cwd=ROOT / "examples/bugs", capture_output=True,
                              text=True, env=dict(os.environ))
        first = re.search(r"^  repair 1 of \d+: (\S+ ns) on NVIDIA H200; verified, [1-9]\d* executions.*\n((?:    .*\n)*)", done.stdout, re.M)
        if first:
            found[name] = (len(re.findall(r"^         ", first[2], re.M)), first[1])
            print(f"{name}: {found[name]}\n{first[2]}", end="")
        elif "  no repair: no 3 orders, scopes and fences verify it" not in done.stdout:
            wrong.append(f"{name}: {done.stdout}{done.stderr}")
    if found != REPAIRED:
        wrong.append(f"repaired are {found}, and should be {REPAIRED}")
    print(f"{len(found)} of {len(names)} wrong kernels repaired by orders, scopes and fences; {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
