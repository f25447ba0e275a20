#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the table of costs that `membar-check --costs` reads, from results of fence_cost, atomic_cost and proxy_fence_cost.

usage: order_costs.py <fence_cost.json> <atomic_cost.json> [<proxy_fence_cost.json>]

The cost of a fence, in one warp of one block, is the time that it adds to an empty loop or to a loop with a store, whichever
is larger; the cost of a proxy fence is computed in the same way. The cost of a read-modify-write's order is the time that it
adds to the relaxed operation.
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "common"))
import results  # noqa: E402

SCOPES = ("block", "device", "system")


PROXIES = {"any": "async", "global": "async_global", "shared": "async_shared_block"}


def table(fences, atomics, proxies=None):
    def of(file, name):
        case = file.cases.get(name)
        if case is None or "ns" not in case.figures:
            raise results.ResultError(f"{file.path} has no time for '{name}': run the whole bench")
        return case.figures["ns"]

    lines = [f"device {fences.context.get('gpu', 'unknown')}"]
    for other in (atomics, proxies):
        if other is not None and fences.context.get("gpu") != other.context.get("gpu"):
            raise results.ResultError(f"{fences.path} was measured on {fences.context.get('gpu')}, but {other.path} on "
                                      f"{other.context.get('gpu')}: give results of one device")
    for scope in SCOPES:
        for order in ("acquire", "release", "acq_rel", "seq_cst"):
            added = max(of(fences, f"fence/{scope}/{order}/{after}/1/membar") - of(fences, f"nothing/{after}/1/membar")
                        for after in ("idle", "after_store"))
            lines.append(f"fence {order} {scope} {max(added, 0):.1f}")
    relaxed = of(atomics, "latency/fetch_add/u32/relaxed/device/membar")
    for scope in SCOPES:
        added = of(atomics, f"latency/fetch_add/u32/acq_rel_by_scope/{scope}/membar") - relaxed
        lines.append(f"atomic acq_rel {scope} {max(added, 0):.1f}")
    for name, fence in PROXIES.items() if proxies is not None else ():
        added = max(of(proxies, f"proxy_fence_cost/{case}/{fence}/membar") - of(proxies, f"proxy_fence_cost/{case}/{fence}/no_fence")
                    for case in ("alone", "after_shared_store", "after_global_store"))
        lines.append(f"proxy {name} {max(added, 0):.1f}")
    return "\n".join(lines) + "\n"


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__.split("\n\n")[1], file=sys.stderr)
        return 2
    try:
        proxies = results.load(sys.argv[3], "proxy_fence_cost") if len(sys.argv) == 4 else None
        print(table(results.load(sys.argv[1], "fence_cost"), results.load(sys.argv[2], "atomic_cost"), proxies), end="")
    except results.ResultError as error:
        print(f"order_costs.py: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
