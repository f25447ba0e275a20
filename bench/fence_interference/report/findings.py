# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Summarizes the figures: one headline and at most five findings, ranked by the time lost per event."""
import math
import re

import cases
import controls as control_rules
import words

MOST = 5
LIMIT = 1.0 + control_rules.TOLERANCE  # A ratio below this counts as no wait and no gain.

_QUEUE = "kernel_boundary.shared_queue"
# (name, what waits, the names of the victims, the advice if no domain helps)
FAMILIES = (
    ("kernel_boundary", "kernel boundaries", re.compile(r"kernel_boundary\.(stream|graph)"),
     "Launch fewer and longer kernels while this traffic runs, or pace the traffic."),
    ("system", "system-scope fences and release stores", re.compile(r"(fence|release_store)\.system\..*"),
     "Keep these operations off the critical path: execute one fence for many stores, or let one publisher warp per block execute "
     "the fences (`membar/sync/publisher.cuh`)."),
    ("device", "device-scope and cluster-scope fences and release stores", re.compile(r"(fence|release_store)\.(device|cluster)\..*"),
     "Keep the kernels that cause this traffic on separate SMs, or pace them; execute one fence for many stores."),
    ("block", "block-scope fences", re.compile(r"fence\.block\..*"),
     "Keep the kernels that cause this traffic on separate SMs: a block-scope fence orders only its own block's accesses, and need not wait for this traffic."),
    ("acquire_load", "acquire loads", re.compile(r"acquire_load\..*"),
     "Keep this traffic on separate SMs, and poll less often. Acquire loads are delayed by contention in the memory system, not by memory ordering."),
    ("queue", "kernels in a stream that shares a hardware queue with NCCL's stream", re.compile(re.escape(_QUEUE)),
     "Create another stream: CUDA assigns streams to the hardware queues in turn, and domains do not remove the delay on a shared queue."))
_DOMAINS_HELP = ("kernel_boundary", "device")  # Operations that wait for the stores of one domain.


def time(ns):
    divisor, unit = words.unit_of(ns)
    return f"{words.duration(ns, divisor)} {unit}"


class Effect:
    """One victim during one noise. An unknown ratio is None."""

    def __init__(self, results, victim, noise):
        self.victim, self.noise = victim, noise
        base = ("kernel_boundary.stream", noise, "same") if victim == _QUEUE else (victim, noise, "alone")
        here, apart = (victim, noise, "same"), (victim, noise, "separate")
        self.alone, self.same, self.separate = (results.p50(*case) for case in (base, here, apart))
        self.spread, self.relief_spread = results.spread(base, here), results.spread(here, apart)
        self.measured = bool(self.alone and self.same)
        known = self.measured and self.spread <= cases.MOST_SPREAD
        self.interference = self.same / self.alone if known else None
        self.lost = self.same - self.alone if known and self.interference > LIMIT else 0.0
        separable = self.separate and self.same and not results.one_domain and victim != _QUEUE
        self.relief = self.same / self.separate if separable and self.relief_spread <= cases.MOST_SPREAD else None
        self.relief_unknown = bool(separable) and self.relief is None

    @property
    def given_back(self):
        return self.same - self.separate if self.lost and (self.relief or 0.0) > LIMIT else 0.0

    def where(self, determiner="a"):
        return words.event(self.victim, self.noise, determiner)


class Finding:
    """The time that one family of victims loses, and the advice. `effects` lists the effects on the victim that loses the most
    time, for the picture."""

    def __init__(self, name, what, advice, effects, all_effects):
        self.name, self.what, self.effects = name, what, effects
        self.worst = max(effects, key=lambda effect: effect.lost)
        self.lost = self.worst.lost
        self._all, self._advice = all_effects, advice

    def title(self):
        return f"{time(self.lost)} lost at {self.what}"

    def text(self):
        worst = self.worst
        event, place = worst.where()
        said = (f"{words.sentence_case(event)} takes {time(worst.same)} instead of {time(worst.alone)} "
                f"({words.times(worst.interference)}) {place}.")
        if worst.relief is not None:
            said += f" With this traffic in a separate domain, it takes {time(worst.separate)}."
        elif worst.relief_unknown and self.name in _DOMAINS_HELP:
            said += f" Its time with this traffic in a separate domain is not known ({_apart(worst.relief_spread)})."
        own = [effect for effect in self._all if effect.victim.endswith(".own_sm") and effect.noise == worst.noise]
        if worst.victim.endswith(".shared_sm") and own and all((effect.interference or 9.0) <= LIMIT for effect in own):
            said += " On an SM without this traffic, this delay does not occur."
        return said

    def remedy(self):
        """Returns the advice, which may include a domain."""
        best = max(self._all, key=lambda effect: effect.given_back)
        if best.given_back:
            said = ("Move the kernels that cause this traffic to a separate memory synchronization domain: set `membar::sync_domain::remote` "
                    f"on their launches or their stream. With this change, {' '.join(best.where())} took {time(best.separate)} "
                    f"instead of {time(best.same)}.")
            return said + ("" if best.separate <= LIMIT * best.alone
                           else f" To reduce the remaining delay, {self._advice[:1].lower()}{self._advice[1:]}"), True
        tried = [effect for effect in self._all if effect.lost]
        if self.name in _DOMAINS_HELP and any(effect.relief_unknown for effect in tried):
            return f"{self._advice} It is not known whether a separate domain for this traffic helps.", False
        if any(effect.relief is not None for effect in tried):
            return f"{self._advice} Where the ratio could be measured, moving this traffic to a separate domain does not reduce the delay.", False
        return self._advice, False


def _apart(spread):
    return "not repeated often enough" if math.isinf(spread) else f"spread by {100 * spread:.0f} %"


class Findings:
    """The findings of a report: `shown` holds those to show (at most five), and `remarks` holds sentences about the others."""

    def __init__(self, results, controls, publisher=""):
        self.results = results
        ranked, unknown, in_doubt, calm, self._highest, measured = [], [], [], [], 0.0, 0
        for name, what, names, advice in FAMILIES:
            effects = [Effect(results, victim, noise) for victim in results.victims() if names.fullmatch(victim)
                       for noise in results.noises(victim) if noise.partition(".")[0] in words.FOREIGN]
            effects = [effect for effect in effects if effect.measured]
            if not effects:
                continue
            measured += len(effects)
            worst = max(effects, key=lambda effect: effect.lost)
            self._highest = max([self._highest, *[effect.interference or 0.0 for effect in effects]])
            missing = [effect for effect in effects if effect.interference is None]
            if missing:
                unknown += missing
                if not worst.lost:
                    in_doubt.append(what)
            if worst.lost:
                if name == "system" and publisher:
                    advice += " " + publisher.strip()
                ranked.append(Finding(name, what, advice, [e for e in effects if e.victim == worst.victim], effects))
            elif not missing:
                calm.append(what)
        ranked.sort(key=lambda finding: -finding.lost)
        self._measured = measured
        self.shown, less = ranked[:MOST], ranked[MOST:]
        self.warning = control_rules.warning(controls) if results.measured else ""
        self.remarks = []
        if results.one_domain:
            self.remarks.append("This GPU has one memory synchronization domain, so domains cannot help here; the run is a negative "
                                "control, and shows only which operations wait for the traffic of other kernels.")
        if any(finding.remedy()[1] for finding in self.shown):
            self.remarks.append("Before you separate two kernels, note that device scope does not order anything between two domains: while "
                                "both kernels run, they must communicate at system scope.")
        if unknown:
            self.remarks.append(f"{len(unknown)} of {words.counted(measured, 'ratio')} {'is' if len(unknown) == 1 else 'are'} not known, because the "
                                "spread exceeds 5 %. The picture of all ratios shows a question mark for each unknown ratio."
                                + f" It is not known whether any time is lost at {words.listed(in_doubt, 'or')}." * bool(in_doubt))
        if less:
            self.remarks.append("Less is lost at " + words.listed(f"{f.what} ({time(f.lost)})" for f in less) + ".")
        if calm:
            self.remarks.append(f"Not delayed: {words.listed(calm)}.")
        self.remarks += _not_measured(results)

    def headline(self):
        """Returns one sentence with one number."""
        results = self.results
        if not results.measured:
            reasons = list(dict.fromkeys(case.waived for case in results.waived))
            if results.failed:
                reasons.append(f"{words.counted(len(results.failed), 'case')} failed")
            return f"Nothing was measured{': ' + '; '.join(reasons) if reasons else ': the file contains no cases'}."
        if self.shown:
            worst = self.shown[0].worst
            return f"{time(worst.lost)} is lost at {' '.join(worst.where('each'))}."
        if not self._measured:
            return "Nothing was measured both alone and during foreign traffic, so there is no interference to report."
        if not self._highest:
            return "Nothing is known: every ratio's spread exceeds 5 %."
        return f"Nothing needs to change: every known operation waits at most {max(self._highest, 1.0):.2f} times as long during foreign traffic."

    def change(self):
        """Returns the change that the headline recommends to the reader."""
        return self.shown[0].remedy()[0] if self.shown else ""


def _not_measured(results):
    """Returns the kinds of foreign noise during which nothing was measured, with the reason if the bench gave one."""
    said = []
    for kind in words.FOREIGN:
        reasons = list(dict.fromkeys(case.waived if case.waived is not None else f"failed: {case.failed}"
                                     for case in results.waived + results.failed if case.kind == kind))
        if results.measured and reasons and all(case.kind != kind for case in results.measured):
            said.append(f"{words.NOISE[kind]} ({'; '.join(reasons[:2])})")
    return [f"Not measured: {words.listed(said)}."] if said else []
