#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The page of the site that shows every test of tests/litmus/catalogue, by families. As a program it prints the page."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
CATALOGUE = ROOT / "tests" / "litmus" / "catalogue"

# The words about each family, and the test that is shown in full: the first one if none is named.
FAMILIES = {
    "MP": ("Message passing: data, then a flag; a reader that sees the flag looks at the data.", "MP.gpu.two_blocks"),
    "SB": ("Store buffering: each thread stores one location and loads the other's.", "SB+fence.sc.gpu.two_blocks"),
    "LB": ("Load buffering: each thread loads one location and then stores the other's.", "LB+ld.acquire.gpu+st.release.gpu"),
    "S": ("A store, then a flag; the thread that sees the flag stores the same location.", "S+release+acquire"),
    "R": ("Two stores of one location: one comes after a store, the other before a load, of a second location.", "R+fence.sc.gpu"),
    "2+2W": ("Two threads store the same two locations in opposite order.", None),
    "WRC": ("Write to read causality: a second thread passes on what it has read.", "WRC+relaxed-first-hop"),
    "RWC": ("Read to write causality: what a second thread has read, against a third thread's store.", None),
    "WWC": ("Write to write causality: what a second thread has read, against a third thread's store of the same location.", None),
    "ISA2": ("Message passing in two hops.", "ISA2.domains-001.gpu+sys"),
    "IRIW": ("Independent reads of independent writes.", "IRIW+fence.sc"),
    "CoWW": ("Coherence of two stores.", None),
    "CoWR-init": ("Coherence of a store and a load of one thread.", None),
    "CoRW1": ("Coherence of a load and a store of one thread.", None),
    "CoRR": ("Coherence of two loads.", "CoRR.relaxed"),
    "CoWR": ("Coherence of a store, a load and another thread's store.", "CoWR+st.weak"),
    "CoRW2": ("Coherence of a load, a store and another thread's store.", "CoRW2+st.weak"),
    "CoTotal": ("Whether two readers agree on the order of two stores.", None),
    "CoTransitive": ("Transitivity of coherence.", None),
    "Atomicity": ("No write that is morally strong with an update comes between its read and its write.", "Atomicity.increments.gpu.two_domains"),
    "Cas": ("Compare-and-swap.", None),
    "Lock": ("Locks.", "Lock.cas-acquire+release"),
    "Hang": ("Barriers that are never complete: no execution ends.", None),
    "NoHang": ("Barriers that complete, although they look like those of Hang.", None),
    "Proxy": ("Generic, surface, texture and constant proxies.", "Proxy.MP.destination-fence"),
    "Alias": ("Virtual addresses of the same memory.", "Alias.MP+fence-at-writer"),
    "Vector": ("Vector accesses.", None),
    "MixedSize": ("Accesses of different size of the same memory.", "MixedSize.lost-update"),
    "Shared": ("Shared memory: each block has its own.", "Shared.two-blocks"),
    "Predicate": ("Instructions with a predicate.", "Predicate.LB+stores"),
    "Shuffle": ("Shuffles among the lanes of a warp.", "Shuffle.LB+data"),
    "ReadOnly": ("Loads through the read-only path, `ld.nc`.", "ReadOnly.MP+release+acquire"),
    "Bulk": ("Bulk copies, which read and write through the async proxy.", "Bulk.load+wait"),
    "Parity": ("Waits that name a phase of an mbarrier by its parity.", "Parity.third-phase"),
    "Transaction": ("Bytes that a phase of an mbarrier expects.", "Transaction.expect-before-arrival"),
    "Init": ("The initialization of an mbarrier, before other threads use it.", "Init.cluster+fence"),
    "OneWay": ("Proxy fences from ordinary accesses to bulk copies of shared memory, and not back.", "OneWay.flag"),
    "TensorMap": ("Tensor maps that a kernel changes.", "TensorMap.flag"),
    "CpAsync": ("`cp.async`, which is asynchronous and in the generic proxy.", "CpAsync.mbarrier"),
    "StAsync": ("`st.async`, into shared memory of another block of the cluster.", "StAsync.wait"),
    "RedAsync": ("`red.async`, into shared memory of another block of the cluster.", "RedAsync.sum"),
    "Dependent": ("Kernels launched to overlap the one before them.", "Dependent.write-after-wait"),
    "Boundary": ("What the end of a kernel orders of asynchronous copies.", "Boundary.store-then-bulk-load"),
    "Report": ("Faults that users of other libraries reported, and their repair.", "Report.bulk-load-after-flag.repaired"),
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
        f"{count} tests, each a file `VERDICT/TEST.litmus` of the folder `tests/litmus/catalogue`:",
        "[allowed](../tests/litmus/catalogue/allowed), [forbidden](../tests/litmus/catalogue/forbidden). Unless",
        "a reason says otherwise, threads are in different blocks of one GPU and one memory synchronization domain. How to read a test is in",
        "[litmus_files.md](litmus_files.md), the rules that decide them in [model.md](model.md).",
        "",
    ]
    for name, (words, in_full) in FAMILIES.items():
        group = sorted(tests.get(name, []))
        if not group:
            continue
        shown = next((t for t in group if t[0] == in_full), group[0])
        out += [f"## {name}", "", words, "", "```", re.sub(r"\(\*.*?\*\)\n", "", shown[3], flags=re.S).strip(), "```", ""]
        out += ["test|verdict|why", "---|---|---"]
        rows = {}  # tests for one reason share a row
        for test, verdict, why, _ in group:
            rows.setdefault((verdict, why.replace("|", "\\|")), []).append(test)
        out += [f"{'<br>'.join(those)}|{verdict}|{why}" for (verdict, why), those in rows.items()]
        out += [""]
    return "\n".join(out)


if __name__ == "__main__":
    print(gallery(), end="")
