# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The controls: conditions that must hold if the bench measured only the effect of domains."""
import typing

import cases
import words

TOLERANCE = 0.1  # The tolerance for medians that should be equal.
_ROUNDING = 1e-9


class Value(typing.NamedTuple):
    """The measured ratio of a rule in one case."""
    where: str
    ratio: float
    spread: float = 0.0  # the larger spread of the two cases that form the ratio


class Control:
    """One rule, with its ratio in every case in which both of the compared medians were measured. With `beyond_spread`, a case
    fails only if its ratio also deviates from 1 by more than its spread. If the spread exceeds the
    tolerance, a ratio beyond the tolerance is not a failure, and the case is inconclusive."""

    def __init__(self, name, rule, tolerance=TOLERANCE, only_above=False, beyond_spread=False):
        self.name, self.rule, self._tolerance, self._only_above, self._beyond_spread = name, rule, tolerance, only_above, beyond_spread
        self.values = []

    def add(self, where, ratio, spread=0.0):
        if ratio is not None:
            self.values.append(Value(where, ratio, spread))

    def _off(self, value):
        return value.ratio - 1.0 if self._only_above else abs(value.ratio - 1.0)

    @property
    def failing(self):
        return [v for v in self.values if self._off(v) > max(self._tolerance, v.spread if self._beyond_spread else 0.0) + _ROUNDING]

    @property
    def blind(self):
        """Returns the inconclusive cases."""
        return [v for v in self.values if self._beyond_spread and v.spread > self._tolerance and v not in self.failing]

    @property
    def state(self):
        if not self.values:
            return "not measured"
        return "fails" if self.failing else "inconclusive" if len(self.blind) == len(self.values) else "holds"

    @staticmethod
    def worst_of(values):
        return max(values, key=lambda value: abs(value.ratio - 1.0))

    def numbers(self):
        def span(values):
            ratios = [v.ratio for v in values]
            return f"{ratios[0]:.3f}" if len(ratios) == 1 else f"{min(ratios):.3f} to {max(ratios):.3f}"

        told = [v for v in self.values if v not in self.blind]
        said = []
        if told:
            worst = self.worst_of(told)
            where = f"{worst.ratio:.3f}, spread {100 * worst.spread:.0f} % ({worst.where})"
            said.append(where if len(told) == 1 else f"{span(told)} in {len(told)} cases; farthest from 1: {where}")
        if self.blind:
            said.append(f"{words.counted(len(self.blind), 'case')} at {span(self.blind)} {'is' if len(self.blind) == 1 else 'are'} "
                        "inconclusive: the spread is larger than the rule's tolerance")
        return "; ".join(said) or "—"


def check(results):
    def equal(name, rule):
        return Control(name, rule, beyond_spread=True)

    rules = (  # The control, the kind of noise that it concerns or "", and the two arms of its ratio.
        (Control("spin interference", "a spinning kernel costs the victim nothing: interference ≤ 1.1", only_above=True), "spin",
         ("same", "alone")),
        (Control("spin relief", "domains change nothing during a spinning kernel: relief 1 ± 0.1"), "spin", ("same", "separate")),
        (Control("local relief", "domains change nothing during local stores: relief 1 ± 0.1"), "local", ("same", "separate")),
        (equal("alias equals same", "running victim and noise in the remote domain has the same effect as running them in the default domain: alias/same 1 ± 0.1"), "",
         ("alias", "same")),
        (equal("swapped equals separate", "it does not matter which side runs in the remote domain: swapped/separate 1 ± 0.1"), "",
         ("swapped", "separate")),
        (equal("map equals separate", "physical domains 2 and 3 behave like 0 and 1: map/separate 1 ± 0.1"), "",
         ("map", "separate")),
        (equal("env0 equals same", "NCCL_MEM_SYNC_DOMAIN=0 has the same effect as mapping NCCL's stream to the same domain: env0/same 1 ± 0.1"),
         "", ("env0", "same")))
    for control, kind, arms in rules:
        if results.one_domain and arms == ("same", "separate"):
            continue  # Both arms run in the only domain, so their ratio does not measure the effect of domains.
        for victim in results.victims():
            for noise in results.noises(victim):
                ratio = results.ratio(victim, noise, *arms) if noise.startswith(kind) else None
                if ratio is not None:
                    control.add(f"{victim} during {noise}", ratio, results.widest_spread(victim, noise, *arms))
    stored = Control("stored ratios", "the ratios stored in the file agree with its medians: stored/recomputed 1 ± 0.01", tolerance=0.01)
    for case in results.measured:
        formed = results.ratios_of(case)
        for name in sorted(cases.RATIOS):
            if formed[name] is not None and case.get(name) is not None:
                stored.add(f"{name} of {case.name}", case.get(name) / formed[name])
    return [*[control for control, _, _ in rules], stored]


def warning(controls):
    """Returns the opening sentence of the verdict if a control fails, otherwise ''."""
    said = []
    for control in controls:
        if control.state == "fails":
            worst = control.worst_of(control.failing)
            said.append("\"%s\" in %d of %s (worst %s: %.2f)"
                        % (control.name, len(control.failing), words.counted(len(control.values), "case"), worst.where, worst.ratio))
    if not said:
        return ""
    return ("Warning: %s: %s; do not rely on the figures of these cases until the cause is known."
            % ("a control fails" if len(said) == 1 else "%d controls fail" % len(said), words.listed(said)))
