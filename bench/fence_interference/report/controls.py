# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The controls: what must hold if the bench measured domains and nothing else."""

import words

TOLERANCE = 0.1     # of medians that must be equal
STORED_TOLERANCE = 0.01   # of the ratios in the file against its own medians
_ROUNDING = 1e-9


class Control:
    """One rule, with the value it took in every case where both of its sides were measured."""

    def __init__(self, name, rule, holds, target=1.0):
        self.name, self.rule, self._holds, self._target = name, rule, holds, target
        self.values = []  # (where, value)

    def add(self, where, value):
        if value is not None:
            self.values.append((where, value))

    @property
    def failing(self):
        return [(where, value) for where, value in self.values if not self._holds(value)]

    @property
    def state(self):
        return "not measured" if not self.values else "fails" if self.failing else "holds"

    @property
    def worst(self):
        return max(self.values, key=lambda item: abs(item[1] - self._target))

    def numbers(self):
        if not self.values:
            return "—"
        values = [value for _, value in self.values]
        where, worst = self.worst
        if len(values) == 1:
            return "%.2f (%s)" % (worst, where)
        return "%.2f to %.2f in %d cases; farthest from 1: %.2f (%s)" % (min(values), max(values), len(values), worst, where)


def _near_one(value):
    return abs(value - 1.0) <= TOLERANCE + _ROUNDING


def _not_above(value):
    return value <= 1.0 + TOLERANCE + _ROUNDING


def check(results):
    spin = Control("spin interference", "a spinning kernel costs the victim nothing: interference ≤ 1.1", _not_above)
    spin_relief = Control("spin relief", "domains change nothing beside a spinning kernel: relief 1 ± 0.1", _near_one)
    local_relief = Control("local relief", "domains change nothing beside local stores: relief 1 ± 0.1", _near_one)
    alias = Control("alias equals same", "both in the remote domain is as good as both in the default one: "
                    "alias/same 1 ± 0.1", _near_one)
    mapped = Control("map equals separate", "physical domains 2 and 3 are as good as 0 and 1: map/separate 1 ± 0.1", _near_one)
    swapped = Control("swapped equals separate", "it does not matter which side is the remote one: swapped/separate 1 ± 0.1",
                      _near_one)
    env0 = Control("env0 equals same", "NCCL_MEM_SYNC_DOMAIN=0 is as good as mapping NCCL's stream onto the same "
                   "domain: env0/same 1 ± 0.1", _near_one)
    stored = Control("stored ratios", "the ratios in the file agree with its own medians: stored/recomputed 1 ± 0.01",
                     lambda value: abs(value - 1.0) <= STORED_TOLERANCE + _ROUNDING)

    for victim in results.victims():
        for noise in results.noises(victim):
            where = "%s beside %s" % (victim, noise)
            kind = noise.partition(".")[0]
            if kind == "spin":
                spin.add(where, results.interference(victim, noise))
                spin_relief.add(where, results.relief(victim, noise))
            elif kind == "local":
                local_relief.add(where, results.relief(victim, noise))
            alias.add(where, results.shown(victim, noise, "alias", "same"))
            mapped.add(where, results.shown(victim, noise, "map", "separate"))
            swapped.add(where, results.shown(victim, noise, "swapped", "separate"))
            env0.add(where, results.shown(victim, noise, "env0", "same"))

    for case in results.measured:
        formed = {
            "interference": results.interference(case.victim, case.noise) if case.arm == "same" else None,
            "slowdown": results.ratio(case.victim, case.noise, case.arm, "alone"),
            "relief": results.relief(case.victim, case.noise) if case.arm == "separate" else None,
            "residual": results.residual(case.victim, case.noise) if case.arm == "separate" else None,
        }
        for name, value in sorted(case.stored.items()):
            if formed[name] is not None:
                stored.add("%s of %s" % (name, case.name), value / formed[name])
    return [spin, spin_relief, local_relief, alias, swapped, mapped, env0, stored]


def warning(controls):
    """The sentence with which the verdict begins if a control fails, else ''."""
    failed = [control for control in controls if control.state == "fails"]
    if not failed:
        return ""
    said = []
    for control in failed:
        where, worst = max(control.failing, key=lambda item: abs(item[1] - 1.0))
        said.append("\"%s\" in %d of %s (worst %s: %.2f)"
                    % (control.name, len(control.failing), words.counted(len(control.values), "case"), where, worst))
    return ("Warning: %s: %s; do not rely on the figures of these cases before the cause is known."
            % ("a control fails" if len(said) == 1 else "%d controls fail" % len(said), words.listed(said)))
