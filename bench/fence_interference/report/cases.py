# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The cases in the fence_interference bench, and the ratios of their medians."""
import json
import math

import words
from results import ResultError, load as load_file

COUNTERS = ("p50_ns", "p90_ns", "p99_ns", "max_ns", "p50_cycles", "p90_cycles", "p99_cycles", "max_cycles",
            "samples", "spread", "interval", "sets", "chain", "noise_gbps")
# Whether the memory model requires the victim to wait (1 or 0), which is known for waived cases as well.
REQUIRED = ("orders_own", "orders_noise", "orders_noise_seen_at_device_scope", "orders_noise_seen_at_system_scope")
RATIOS = ("interference", "slowdown", "relief", "residual")
MOST_SPREAD = 0.05  # The maximum spread of a known ratio.


class Results:
    """The cases in one file, keyed by (victim, noise, arm). Ratios are computed here from p50_ns; any ratios in the file are
    ignored."""

    def __init__(self, cases, context):
        self.context = context
        self.cases = list(cases)
        self._by_name = {(case.victim, case.noise, case.arm): case for case in self.cases}
        self.measured = [case for case in self.cases if case.measured]
        self.waived = [case for case in self.cases if case.waived is not None]
        self.failed = [case for case in self.cases if case.failed is not None]
        self.one_domain = context.get("sync_domain_count", "") == "1"

    def victims(self):
        seen = {case.victim for case in self.measured}
        return [victim for victim in words.VICTIMS if victim in seen]

    def noises(self, victim=None):
        seen = {case.noise for case in self.measured if victim in (None, case.victim)}
        return [noise for noise in words.NOISES if noise in seen]

    def case(self, victim, noise, arm):
        """Returns the case, if it was measured. The arm 'alone' is the victim without any noise."""
        found = self._by_name.get((victim, "none" if arm == "alone" else noise, arm))
        return found if found is not None and found.measured else None

    def p50(self, victim, noise, arm):
        case = self.case(victim, noise, arm)
        return case.get("p50_ns") if case else None

    def required(self, victim, arm):
        """Returns what the model requires of the victim in an arm, for any noise; None if the file does not contain the
        answer."""
        return next((case.required for case in self.cases if (case.victim, case.arm) == (victim, arm) and case.required), None)

    def ratio(self, victim, noise, arm, over):
        """Returns p50 of one arm divided by p50 of another; None unless both were measured."""
        top, bottom = self.p50(victim, noise, arm), self.p50(victim, noise, over)
        return top / bottom if top and bottom else None

    def widest_spread(self, victim, noise, *arms):
        """Returns the largest range of the repetitions' medians among these cases, all of which were measured."""
        return max(self.case(victim, noise, arm).get("spread") or 0.0 for arm in arms)

    def spread(self, *sides):
        """Returns the spread of the ratio of two cases, each (victim, noise, arm), combined from the cases' independent spreads. A case's
        spread is the 95 % interval of its median or, in files without intervals, the range of its repetitions' medians. If a case has too
        few repetitions for an interval, the result is infinity."""
        found = []
        for case in (self.case(*side) for side in sides):
            one = None if case is None else case.get("interval", None if "sets" in case.figures else case.get("spread"))
            found.append(math.inf if one is None else one)
        return math.hypot(*found)

    def interference(self, victim, noise):
        return self.ratio(victim, noise, "same", "alone")

    def relief(self, victim, noise):
        # With only one domain, both arms run in the same domain, so their ratio does not measure the effect of domains.
        return None if self.one_domain else self.ratio(victim, noise, "same", "separate")

    def residual(self, victim, noise):
        return None if self.one_domain else self.ratio(victim, noise, "separate", "alone")

    def ratios_of(self, case):
        """Returns the ratios of a measured case, keyed by name; a ratio that does not belong to the case's arm is None."""
        names = (case.victim, case.noise)
        return {"interference": self.interference(*names) if case.arm == "same" else None,
                "slowdown": self.ratio(*names, case.arm, "alone") if case.arm != "alone" else None,
                "relief": self.relief(*names) if case.arm == "separate" else None,
                "residual": self.residual(*names) if case.arm == "separate" else None}


def _split(case, path):
    """Sets a case's fields from its name."""
    parts = case.name.split("/")
    if len(parts) != 3:
        raise ResultError(f'{path}: case "{case.name}" is not named victim/noise/arm; pass the JSON of the bench fence_interference, '
                          "not of another bench")
    for part, what, values in zip(parts, ("victim", "noise", "arm"), (words.VICTIMS, words.NOISES, words.ARMS)):
        if part not in values:
            raise ResultError(f'{path}: case "{case.name}" has the unknown {what} "{part}"; use the report.py of the membar version '
                              "that wrote the file")
    case.victim, case.noise, case.arm = parts
    if (case.noise == "none") != (case.arm == "alone"):
        raise ResultError("%s: case \"%s\" is contradictory: arm \"alone\" must have noise \"none\", and the reverse; "
                          "write the file again with the bench fence_interference" % (path, case.name))
    case.kind, _, case.pace = case.noise.partition(".")
    case.get = case.figures.get
    answers = [case.get(counter) for counter in REQUIRED]
    case.required = None if None in answers else tuple(answer != 0 for answer in answers)


def load(path):
    """Reads the results of one file; raises ResultError with a message for the user."""
    read = load_file(path, "fence_interference")
    for case in read.cases.values():
        _split(case, path)
        if len(case.entries) != 1:
            raise ResultError("%s holds the case \"%s\" twice; run the bench without --benchmark_repetitions, because "
                              "it repeats by itself" % (path, case.name))
        if case.measured and not (case.get("p50_ns") or 0) > 0:
            raise ResultError("%s: case \"%s\" is neither waived nor failed, but its p50_ns is %s instead of a positive number; "
                              "run the bench again" % (path, case.name, json.dumps(case.entries[0].get("p50_ns"))))
    return Results(read.cases.values(), read.context)
