# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The figures of the guide: what figures.py writes into the pages on memory, on fences and scopes, and on older notes."""
import re

X2 = "h200-x2/fence_interference"
X1 = "h200/fence_interference"
FENCES = "h200/fence_cost"


def table(header, lines):
    return "\n".join(["| " + " | ".join(header) + " |", "|" + " --- |" * len(header), *("| " + " | ".join(line) + " |" for line in lines)])


def short(value, digits=3):
    """Three digits, or all before the point: 0.23, 4.05, 31.4, 266, 10,669."""
    if value == 0:
        return "0"
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}" if abs(value) >= 1 else f"{value:.2g}"


def nanoseconds(value):
    return f"{short(value)} ns" if value < 1000 else f"{short(value / 1000)} µs"


def slope(points):
    n = len(points)
    x, y = sum(p[0] for p in points) / n, sum(p[1] for p in points) / n
    return sum((a - x) * (b - y) for a, b in points) / sum((a - x) ** 2 for a, _ in points)


def fence(results, scope, order, stores, arm="membar"):
    """Nanoseconds of one fence of a ladder."""
    pattern = re.compile(re.escape(f"fence/{scope}/{order}/{stores}/") + r"(\d+)/" + re.escape(arm))
    found = [(int(match.group(1)), case["ns"]) for name, case in results.cases(FENCES).items() if (match := pattern.fullmatch(name))]
    return slope(found)


def beside(results, victim, noise="none", arm=None, file=X2):
    """Nanoseconds of a fence or another victim, alone or beside traffic of other kernels."""
    return results.cases(file)[f"{victim}/{noise}/{arm or ('alone' if noise == 'none' else 'same')}"]["p50_ns"]


def fences_idle(results):
    lines = []
    for scope in ("block", "cluster", "device", "system"):
        lines.append([f"`{scope}`", *(short(fence(results, scope, order, "idle")) for order in ("acquire", "release", "acq_rel", "seq_cst")),
                      short(fence(results, scope, "acq_rel", "after_store"))])
    return table(["scope, ns", "`acquire`", "`release`", "`acq_rel`", "`seq_cst`", "`acq_rel`, each after a store"], lines)


def fences_beside(results):
    def cell(scope, place, noise, arm="same"):
        name = f"fence.{scope}.acq_rel.{place}"
        cases = results.cases(X2)
        case = cases.get(f"{name}/{noise}/{arm}", {})
        return nanoseconds(case["p50_ns"]) if case.get("p50_ns") else "–"

    lines = []
    for scope in ("block", "cluster", "device", "system"):
        lines.append([f"`{scope}`", cell(scope, "shared_sm", "none", "alone"), cell(scope, "shared_sm", "nvlink.paced"),
                      cell(scope, "shared_sm", "nvlink.saturating"), cell(scope, "shared_sm", "nvlink.saturating", "separate"),
                      cell(scope, "own_sm", "nvlink.saturating"), cell(scope, "own_sm", "nvlink.paced"), cell(scope, "shared_sm", "host.saturating")])
    return table(["scope", "alone", "paced NVLink stores on its SM", "saturating NVLink stores on its SM", "those in another domain",
                  "saturating NVLink stores on other SMs", "paced NVLink stores on other SMs", "saturating stores to the host on its SM"], lines)


def boundaries(results):
    lines = []
    for words, noise in (("nothing", "none"), ("NCCL's all-reduces, paced", "nccl.paced"), ("NCCL's all-reduces, saturating", "nccl.saturating"),
                         ("NVLink stores, paced", "nvlink.paced"), ("NVLink stores, saturating", "nvlink.saturating"),
                         ("stores to the host, saturating", "host.saturating")):
        lines.append([words, nanoseconds(beside(results, "kernel_boundary.graph", noise)),
                      "" if noise == "none" else nanoseconds(beside(results, "kernel_boundary.graph", noise, "separate"))])
    return table(["beside", "a kernel of a graph", "with the traffic in another domain"], lines)


TABLES = {"docs/fences_and_scopes.md": {"fences alone": fences_idle, "fences beside traffic": fences_beside, "kernel boundaries": boundaries}}
SAYS = {}
