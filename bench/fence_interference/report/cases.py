# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads the JSON of bench/fence_interference into cases, and forms the ratios from their medians."""

import json
import math
import re

import words

COUNTERS = ("p50_ns", "p90_ns", "p99_ns", "max_ns", "p50_cycles", "p90_cycles", "p99_cycles", "max_cycles",
            "samples", "spread", "noise_gbps")
# What the memory model requires of the victim, 1 or 0: known of waived cases, too.
REQUIRED = ("orders_own", "orders_noise", "orders_noise_seen_at_device_scope", "orders_noise_seen_at_system_scope")
STORED = ("interference", "slowdown", "relief", "residual")

# Google Benchmark appends the way a case was run to its name.
_APPENDED = re.compile(r"/(iterations|repeats|threads|min_time|min_warmup_time):[^/]*$|/(real|manual|process)_time$")


class ReportError(Exception):
    """One sentence for the user: what is wrong, with its value, and what to do."""


class Case:
    def __init__(self, victim, noise, arm):
        self.victim, self.noise, self.arm = victim, noise, arm
        self.kind, _, self.pace = noise.partition(".")
        self.counters = {}
        self.stored = {}
        self.required = None  # the answers to REQUIRED, as a tuple of bool
        self.waived = None  # the reason, in words
        self.failed = None

    @property
    def name(self):
        return "/".join((self.victim, self.noise, self.arm))

    @property
    def measured(self):
        return self.waived is None and self.failed is None

    def get(self, counter):
        return self.counters.get(counter)


class Results:
    """The cases of one file. Ratios are formed here, from p50_ns, whatever the file says about them."""

    def __init__(self, cases, context):
        self.cases, self.context = cases, context
        self._by_name = {(c.victim, c.noise, c.arm): c for c in cases}
        self.measured = [c for c in cases if c.measured]
        self.waived = [c for c in cases if c.waived is not None]
        self.failed = [c for c in cases if c.failed is not None]
        self.one_domain = context.get("sync_domain_count", "").strip() == "1"

    def victims(self):
        seen = {c.victim for c in self.measured}
        return [v for v in words.VICTIMS if v in seen]

    def noises(self, victim=None):
        seen = {c.noise for c in self.measured if victim in (None, c.victim)}
        return [n for n in words.NOISES if n in seen]

    def case(self, victim, noise, arm):
        """The case, if it was measured."""
        found = self._by_name.get((victim, noise, arm))
        return found if found is not None and found.measured else None

    def alone(self, victim):
        return self.case(victim, "none", "alone")

    def required(self, victim, arm):
        """What the model requires of the victim in an arm, whatever the noise; None if the file does not say."""
        for case in self.cases:
            if case.victim == victim and case.arm == arm and case.required is not None:
                return case.required
        return None

    def ratio(self, victim, noise, arm, over):
        """p50 of one arm over p50 of another; `over` may be 'alone'. None unless both were measured."""
        top = self.case(victim, noise, arm)
        bottom = self.alone(victim) if over == "alone" else self.case(victim, noise, over)
        return top.get("p50_ns") / bottom.get("p50_ns") if top and bottom else None

    def shown(self, victim, noise, arm, over):
        """The ratio, or 1 where the repetitions of its two cases are spread more widely than it is away from 1: a difference
        smaller than the spread means nothing."""
        ratio = self.ratio(victim, noise, arm, over)
        if ratio is None:
            return None
        bottom = self.alone(victim) if over == "alone" else self.case(victim, noise, over)
        spread = max(case.get("spread") or 0.0 for case in (self.case(victim, noise, arm), bottom))
        return ratio if abs(ratio - 1.0) > spread else 1.0

    def interference(self, victim, noise):
        return self.ratio(victim, noise, "same", "alone")

    def relief(self, victim, noise):
        # With one domain both arms run in it: their ratio says nothing about domains.
        return None if self.one_domain else self.ratio(victim, noise, "same", "separate")

    def residual(self, victim, noise):
        return None if self.one_domain else self.ratio(victim, noise, "separate", "alone")


def _number(value):
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None


def _parse_name(entry, index, path):
    name = entry.get("run_name", entry.get("name"))
    if not isinstance(name, str):
        raise ReportError("%s: entry %d of \"benchmarks\" has no name; write the file anew with the bench "
                          "fence_interference and --benchmark_out" % (path, index))
    short = name
    while _APPENDED.search(short):
        short = _APPENDED.sub("", short)
    parts = short.split("/")
    if len(parts) != 3:
        raise ReportError("%s: case \"%s\" is not named victim/noise/arm; pass the JSON of the bench "
                          "fence_interference, not of another bench" % (path, name))
    known = (("victim", words.VICTIMS), ("noise", words.NOISES), ("arm", words.ARMS))
    for part, (what, values) in zip(parts, known):
        if part not in values:
            raise ReportError("%s: case \"%s\" has the unknown %s \"%s\"; use the report.py of the membar version "
                              "that wrote the file" % (path, name, what, part))
    if (parts[1] == "none") != (parts[2] == "alone"):
        raise ReportError("%s: case \"%s\" is contradictory: arm \"alone\" and noise \"none\" go together; write the "
                          "file anew with the bench fence_interference" % (path, name))
    return parts


def _parse_case(entry, index, path):
    case = Case(*_parse_name(entry, index, path))
    answers = [_number(entry.get(counter)) for counter in REQUIRED]
    if None not in answers:
        case.required = tuple(answer != 0 for answer in answers)
    label = entry.get("label", "")
    if entry.get("error_occurred"):
        case.failed = str(entry.get("error_message") or "no message")
        return case
    if isinstance(label, str) and label.startswith("waived:"):
        case.waived = label[len("waived:"):].strip() or "no reason given"
        return case
    if entry.get("skipped"):  # Google Benchmark 1.8 and newer
        case.waived = str(entry.get("skip_message") or "no reason given")
        return case
    for counter in COUNTERS:
        value = _number(entry.get(counter))
        if value is not None:
            case.counters[counter] = value
    for ratio in STORED:
        value = _number(entry.get(ratio))
        if value is not None:
            case.stored[ratio] = value
    if not case.get("p50_ns") or case.get("p50_ns") <= 0:
        raise ReportError("%s: case \"%s\" is neither waived nor failed, yet its p50_ns is %s, not a positive number; "
                          "run the bench again" % (path, case.name, json.dumps(entry.get("p50_ns"))))
    return case


def load(path):
    """Reads one file; raises ReportError in the user's words, and FileNotFoundError if there is no file."""
    try:
        with open(path, encoding="utf-8") as stream:
            data = json.load(stream)
    except FileNotFoundError:
        raise
    except (ValueError, RecursionError) as error:
        raise ReportError("%s is not JSON (%s); write it with the bench fence_interference, "
                          "--benchmark_out=FILE and --benchmark_out_format=json" % (path, error))
    except OSError as error:
        raise ReportError("%s cannot be read (%s); pass a readable JSON file" % (path, error.strerror))
    entries = data.get("benchmarks") if isinstance(data, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ReportError("%s has no list \"benchmarks\" of cases; pass a file that the bench fence_interference "
                          "wrote with --benchmark_out" % path)
    raw = data.get("context")
    context = {}
    for key, value in (raw.items() if isinstance(raw, dict) else ()):
        if isinstance(value, (str, int, float)) and str(value).strip():
            context[key] = str(value).strip()
    cases, seen = [], set()
    for index, entry in enumerate(entries):
        if entry.get("run_type") == "aggregate":
            continue
        case = _parse_case(entry, index, path)
        if case.name in seen:
            raise ReportError("%s holds the case \"%s\" twice; run the bench without --benchmark_repetitions, it "
                              "repeats by itself" % (path, case.name))
        seen.add(case.name)
        cases.append(case)
    return Results(cases, context)
