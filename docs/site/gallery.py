#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Generates the site's page that shows every test in tests/litmus/catalogue, grouped by family. Run as a program, it prints the page."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "tests" / "litmus" / "catalogue"

# The description of each family, and the test that is shown in full: the first test if none is named.
FAMILIES = {
    "MP": ("Message passing: a thread writes data and then a flag; a reader that sees the flag reads the data.", "MP.gpu.two_blocks"),
    "SB": ("Store buffering: each of two threads stores to one location and loads from the other thread's location.", "SB+fence.sc.gpu.two_blocks"),
    "LB": ("Load buffering: each of two threads loads from one location and then stores to the other thread's location.", "LB+ld.acquire.gpu+st.release.gpu"),
    "S": ("A store, then a flag; the thread that sees the flag stores to the same location.", "S+release+acquire"),
    "R": ("Two stores to one location: one comes after a store to a second location, the other before a load from that location.", "R+fence.sc.gpu"),
    "2+2W": ("Two threads store to the same two locations in opposite order.", None),
    "WRC": ("Write to read causality: a second thread passes on what it has read.", "WRC+relaxed-first-hop"),
    "RWC": ("Read to write causality: a second thread's read must be ordered before a third thread's store.", None),
    "WWC": ("Write to write causality: a write that a second thread has read must be ordered before a third thread's store to the same location.", None),
    "ISA2": ("Message passing in two hops.", "ISA2.domains-001.gpu+sys"),
    "IRIW": ("Independent reads of independent writes.", "IRIW+fence.sc"),
    "CoWW": ("Coherence of two stores.", None),
    "CoWR-init": ("Coherence of a store and a load in one thread.", None),
    "CoRW1": ("Coherence of a load and a store in one thread.", None),
    "CoRR": ("Coherence of two loads.", "CoRR.relaxed"),
    "CoWR": ("Coherence of a store, a load and another thread's store.", "CoWR+st.weak"),
    "CoRW2": ("Coherence of a load, a store and another thread's store.", "CoRW2+st.weak"),
    "CoTotal": ("Whether two readers agree on the order of two stores.", None),
    "CoTransitive": ("Transitivity of coherence.", None),
    "Atomicity": ("No write that is morally strong with an update comes between the update's read and its write.", "Atomicity.increments.gpu.two_domains"),
    "Cas": ("Compare-and-swap.", None),
    "Lock": ("Locks.", "Lock.cas-acquire+release"),
    "Hang": ("Barriers that are never completed, so that no execution ends.", None),
    "NoHang": ("Barriers that are completed, although they look like the barriers in Hang.", None),
    "Proxy": ("Generic, surface, texture and constant proxies.", "Proxy.MP.destination-fence"),
    "Alias": ("Several virtual addresses for the same memory.", "Alias.MP+fence-at-writer"),
    "Vector": ("Vector accesses.", None),
    "MixedSize": ("Accesses with different sizes to the same memory.", "MixedSize.lost-update"),
    "Shared": ("Shared memory: each block has its own.", "Shared.two-blocks"),
    "Predicate": ("Instructions with a predicate.", "Predicate.LB+stores"),
    "Shuffle": ("Shuffles between the lanes of a warp.", "Shuffle.LB+data"),
    "ReadOnly": ("Loads through the non-coherent (read-only) path, `ld.nc`.", "ReadOnly.MP+release+acquire"),
    "Bulk": ("Bulk copies, which read and write through the async proxy.", "Bulk.load+wait"),
    "Parity": ("Waits that specify an mbarrier's phase by its parity.", "Parity.third-phase"),
    "Transaction": ("Transaction counts: the bytes that an mbarrier's phase expects.", "Transaction.expect-before-arrival"),
    "Init": ("The initialization of an mbarrier before other threads use it.", "Init.cluster+fence"),
    "OneWay": ("One-way proxy fences, which order ordinary accesses to shared memory before bulk copies, but not the reverse.", "OneWay.flag"),
    "TensorMap": ("Tensor maps that a kernel modifies.", "TensorMap.flag"),
    "CpAsync": ("`cp.async`, which is asynchronous but uses the generic proxy.", "CpAsync.mbarrier"),
    "StAsync": ("`st.async` to the shared memory of another block in the cluster.", "StAsync.wait"),
    "RedAsync": ("`red.async` on the shared memory of another block in the cluster.", "RedAsync.sum"),
    "Dependent": ("Kernels that are launched to overlap with the previous kernel.", "Dependent.write-after-wait"),
    "Boundary": ("How the end of a kernel orders asynchronous copies.", "Boundary.store-then-bulk-load"),
    "Report": ("Faults that users of other libraries reported, and their fixes.", "Report.bulk-load-after-flag.repaired"),
    "Put": ("Symmetric memory between GPUs: puts, signals, counters, barriers and packed messages.", "Put.signal"),
}


def family(name):
    known = [f for f in FAMILIES if name == f or name.startswith((f + "+", f + "."))]
    if not known:
        sys.exit(f"gallery.py: no family for {name}; add it to FAMILIES")
    return max(known, key=len)


def gallery():
    tests = {}
    for path in CATALOGUE.glob("*/*.litmus"):
        text = path.read_text()
        reason = " ".join(re.search(r"\(\*(.*?)\*\)", text, re.S).group(1).split())
        tests.setdefault(family(path.stem), []).append((path.stem, path.parent.name, reason, text))
    count = sum(len(group) for group in tests.values())
    out = [
        "# Gallery of litmus tests",
        "",
        f"This page shows {count} tests. Each is a file `VERDICT/TEST.litmus` in the folder `tests/litmus/catalogue`:",
        "[allowed](../tests/litmus/catalogue/allowed) or [forbidden](../tests/litmus/catalogue/forbidden). Unless the column \"why\" says",
        "otherwise, the threads are in different blocks on one GPU and in one memory synchronization domain. [Litmus files](litmus_files.md)",
        "explains how to read a test, and [the model](model.md) explains the rules that decide it.",
        "",
    ]
    for name, (words, in_full) in FAMILIES.items():
        group = sorted(tests.get(name, []))
        if not group:
            continue
        shown = next((t for t in group if t[0] == in_full), group[0])
        out += [f"## {name}", "", words, "", "```", re.sub(r"\(\*.*?\*\)\n", "", shown[3], flags=re.S).strip(), "```", ""]
        out += ["test|verdict|why", "---|---|---"]
        rows = {}  # Tests with the same reason share a row.
        for test, verdict, why, _ in group:
            rows.setdefault((verdict, why.replace("|", "\\|")), []).append(test)
        out += [f"{'<br>'.join(those)}|{verdict}|{why}" for (verdict, why), those in rows.items()]
        out += [""]
    return "\n".join(out)


if __name__ == "__main__":
    print(gallery(), end="")
