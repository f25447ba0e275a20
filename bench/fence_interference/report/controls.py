# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The controls: what must hold if the bench measured domains and nothing else."""
import cases
import words

TOLERANCE = 0.1  # of medians that must be equal
_ROUNDING = 1e-9


class Control:
    """One rule, with the value it took in every case where both of its sides were measured."""

    def __init__(self, name, rule, tolerance=TOLERANCE, only_above=False):
        self.name, self.rule, self._tolerance, self._only_above = name, rule, tolerance, only_above
        self.values = []  # (where, value)

    def add(self, where, value):
        if value is not None:
            self.values.append((where, value))

    @property
    def failing(self):
        return [(where, value) for where, value in self.values
                if (value - 1.0 if self._only_above else abs(value - 1.0)) > self._tolerance + _ROUNDING]

    @property
    def state(self):
        return "not measured" if not self.values else "fails" if self.failing else "holds"

    @staticmethod
    def worst_of(values):
        return max(values, key=lambda item: abs(item[1] - 1.0))

    def numbers(self):
        if not self.values:
            return "—"
        values = [value for _, value in self.values]
        where, worst = self.worst_of(self.values)
        if len(values) == 1:
            return f"{worst:.2f} ({where})"
        return f"{min(values):.2f} to {max(values):.2f} in {len(values)} cases; farthest from 1: {worst:.2f} ({where})"


def check(results):
    def shown(arm, same):
        return lambda victim, noise: results.shown(victim, noise, arm, same)

    rules = (  # the control, the kind of noise that it is about or "", its value
        (Control("spin interference", "a spinning kernel costs the victim nothing: interference ≤ 1.1", only_above=True), "spin",
         results.interference),
        (Control("spin relief", "domains change nothing beside a spinning kernel: relief 1 ± 0.1"), "spin", results.relief),
        (Control("local relief", "domains change nothing beside local stores: relief 1 ± 0.1"), "local", results.relief),
        (Control("alias equals same", "both in the remote domain is as good as both in the default one: alias/same 1 ± 0.1"), "",
         shown("alias", "same")),
        (Control("swapped equals separate", "it does not matter which side is the remote one: swapped/separate 1 ± 0.1"), "",
         shown("swapped", "separate")),
        (Control("map equals separate", "physical domains 2 and 3 are as good as 0 and 1: map/separate 1 ± 0.1"), "",
         shown("map", "separate")),
        (Control("env0 equals same", "NCCL_MEM_SYNC_DOMAIN=0 is as good as mapping NCCL's stream onto the same domain: env0/same 1 ± 0.1"),
         "", shown("env0", "same")))
    for control, kind, value in rules:
        for victim in results.victims():
            for noise in results.noises(victim):
                if noise.startswith(kind):
                    control.add(f"{victim} beside {noise}", value(victim, noise))
    stored = Control("stored ratios", "the ratios in the file agree with its own medians: stored/recomputed 1 ± 0.01", tolerance=0.01)
    for case in results.measured:
        formed = results.ratios_of(case)
        for name in sorted(cases.RATIOS):
            if formed[name] is not None and case.get(name) is not None:
                stored.add(f"{name} of {case.name}", case.get(name) / formed[name])
    return [*[control for control, _, _ in rules], stored]


def warning(controls):
    """The sentence with which the verdict begins if a control fails, else ''."""
    said = []
    for control in controls:
        if control.state == "fails":
            where, worst = control.worst_of(control.failing)
            said.append("\"%s\" in %d of %s (worst %s: %.2f)"
                        % (control.name, len(control.failing), words.counted(len(control.values), "case"), where, worst))
    if not said:
        return ""
    return ("Warning: %s: %s; do not rely on the figures of these cases before the cause is known."
            % ("a control fails" if len(said) == 1 else "%d controls fail" % len(said), words.listed(said)))
