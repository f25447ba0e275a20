# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes fake results in the bench's format. None of the figures here was measured."""

import json

CONTEXT = {"membar_version": "0.0.0-synthetic", "gpu": "Synthetic GPU", "gpu_count": "2", "compute_capability": "9.0",
           "sm_count": "100", "driver": "0.0", "cuda_runtime": "0.0", "sm_clock_mhz": "2000", "link": "fake link",
           "sync_domain_count": "4", "numa": "node 0", "nccl_version": "0.0", "date": "2001-01-01",
           "command": "fence_interference --synthetic"}
CYCLES_PER_NS = 2.0


class Synthetic:
    """Builds a result file case by case."""

    def __init__(self, **context):
        self.context = dict(CONTEXT, **context)
        self.entries = []

    def case(self, victim, noise, arm, p50, gbps=None, **stored):
        entry = {"name": "/".join((victim, noise, arm)), "run_type": "iteration", "samples": 9.0, "spread": 0.01}
        for name, factor in (("p50", 1.0), ("p90", 1.08), ("p99", 1.3), ("max", 1.9)):
            entry[name + "_ns"] = p50 * factor
            entry[name + "_cycles"] = p50 * factor * CYCLES_PER_NS
        if noise != "none":
            entry["noise_gbps"] = 0.0 if gbps is None else gbps
        entry.update(stored)
        self.entries.append(entry)
        return self

    def alone(self, victim, p50):
        return self.case(victim, "none", "alone", p50)

    def beside(self, victim, noise, same, separate=None, gbps=100.0, controls=()):
        """Adds both main variants, and the given control variants with values that satisfy the controls."""
        self.case(victim, noise, "same", same, gbps)
        if separate is not None:
            self.case(victim, noise, "separate", separate, gbps)
        for arm in controls:
            equal = same if arm in ("alias", "env0") else separate
            self.case(victim, noise, arm, equal * {"alias": 1.02, "env0": 0.99, "swapped": 1.03, "map": 0.98}[arm], gbps)
        return self

    def requires(self, victim, arm, own, noise, at_device, at_system):
        """Adds the model's answers to every case of this victim and variant."""
        for entry in self.entries:
            parts = entry["name"].split("/")
            if parts[0] == victim and parts[2] == arm:
                entry.update(orders_own=own, orders_noise=noise, orders_noise_seen_at_device_scope=at_device,
                             orders_noise_seen_at_system_scope=at_system)
        return self

    def waived(self, victim, noise, arm, reason):
        self.entries.append({"name": "/".join((victim, noise, arm)), "run_type": "iteration", "label": "waived: " + reason})
        return self

    def failed(self, victim, noise, arm, message):
        self.entries.append({"name": "/".join((victim, noise, arm)), "run_type": "iteration", "error_occurred": True,
                             "error_message": message})
        return self

    def data(self):
        return {"context": self.context, "benchmarks": self.entries}

    def write(self, path):
        with open(path, "w", encoding="utf-8") as stream:
            json.dump(self.data(), stream)
        return path


def everything(**context):
    """Adds all victims of a default run with all background loads, with fake factors of plausible size."""
    made = Synthetic(**context)
    arms = ("swapped", "alias", "map")

    def add(victim, base, factors, full):
        made.alone(victim, base)
        for noise, (same, separate, gbps) in factors.items():
            extra = arms if full else ()
            if noise == "nccl.saturating":
                extra = extra + ("env0",)
            made.beside(victim, noise, base * same, base * separate, gbps, extra)

    quiet = {"spin": (1.01, 1.0, 0.0), "local.saturating": (1.3, 1.28, 3000.0), "local.paced": (1.05, 1.04, 600.0)}
    for kind, base in (("stream", 3200.0), ("graph", 2100.0)):
        add("kernel_boundary." + kind, base, dict(
            quiet, **{"host.saturating": (45.0, 31.0, 35.0), "host.paced": (3.1, 1.9, 8.0), "nvlink.saturating": (4.7, 1.5, 330.0),
                      "nvlink.paced": (1.6, 1.03, 66.0), "nccl.saturating": (1.7, 1.0, 310.0), "nccl.paced": (1.2, 1.0, 90.0)}), True)
    for scope, base in (("block", 12.0), ("cluster", 250.0), ("device", 251.0), ("system", 590.0)):
        for order in ("acq_rel", "seq_cst"):
            for place in ("own_sm", "shared_sm"):
                slow = {n: (1.0, 1.0, g) for n, g in (("host.saturating", 35.0), ("host.paced", 8.0), ("nvlink.saturating", 330.0),
                                                      ("nvlink.paced", 66.0))}
                if scope in ("cluster", "device"):
                    slow["host.saturating"] = (40.0, 39.0, 35.0)
                    if place == "shared_sm":
                        slow.update({"nvlink.saturating": (48.0, 22.0, 330.0), "nvlink.paced": (1.25, 1.01, 66.0)})
                if scope == "system":
                    slow.update({"host.saturating": (167.0, 166.0, 35.0), "host.paced": (2.7, 2.7, 8.0),
                                 "nvlink.saturating": (27.0, 26.5, 330.0), "nvlink.paced": (2.1, 2.1, 66.0)})
                add("fence.%s.%s.%s" % (scope, order, place), base, dict(quiet, **slow),
                    scope == "device" and place == "shared_sm")
    for operation, base in (("release_store", 240.0), ("acquire_load", 390.0)):
        for scope in ("device", "system"):
            for place in ("own_sm", "shared_sm"):
                hit = 20.0 if operation == "release_store" and (scope == "system" or place == "shared_sm") else 1.02
                gain = 2.0 if scope == "device" and hit > 2 else 1.0
                add("%s.%s.%s" % (operation, scope, place), base, dict(quiet, **{
                    "host.saturating": (hit * 3, hit * 3, 35.0), "nvlink.saturating": (hit, hit / gain, 330.0)}), False)
    return made
