# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""One paragraph in plain language, said by the data: who waits, what a separate domain gives back, what is left."""

import re
import statistics

import controls as control_rules
import words

LIMIT = 1.0 + control_rules.TOLERANCE  # below this no victim waits, and nothing is gained or left

# (subject, the names of the family's victims, advice where domains do not help)
_FAMILIES = (
    ("kernel boundaries", re.compile(r"kernel_boundary\.(stream|graph)"), ""),
    ("device-scope fences that share an SM with the noise", re.compile(r"fence\.device\..*\.shared_sm"), ""),
    ("device-scope fences on an SM of their own", re.compile(r"fence\.device\..*\.own_sm"), ""),
    ("system-scope fences", re.compile(r"fence\.system\..*"), "keep them off the critical path"))
_OTHERS = tuple(
    (f"{scope}-scope {plural}", re.compile(rf"{operation}\.{scope}\..*"))
    for operation, plural in (("fence", "fences"), ("release_store", "release stores"), ("acquire_load", "acquire loads"))
    for scope in words.SCOPES if (operation, scope) not in (("fence", "device"), ("fence", "system")))


def _within(ratio, tolerances):
    return abs(ratio - 1.0) <= tolerances * control_rules.TOLERANCE


class _Beside:
    """What a family of victims does beside one kind and pace of noise."""

    def __init__(self, results, victims, kind, pace):
        noise = f"{kind}.{pace}"
        self.kind, self.pace = kind, pace
        self.all = [value for v in victims if (value := results.interference(v, noise)) is not None]
        waiting = [v for v in victims if (results.shown(v, noise, "same", "alone") or 0) > LIMIT]
        self.waits = [results.interference(v, noise) for v in waiting]
        pairs = [(results.relief(v, noise) and results.shown(v, noise, "same", "separate"), results.residual(v, noise))
                 for v in waiting]
        self.relief = [relief for relief, _ in pairs if relief is not None]
        self.residual = [residual for _, residual in pairs if residual is not None]
        same = [results.case(v, noise, "same") for v in victims]
        self.gbps = [c.get("noise_gbps") for c in same if c and c.get("noise_gbps")]
        self.outcome = self._outcome(results)

    def _outcome(self, results):
        if not self.all:
            return "missing"
        if not self.waits:
            return "unaffected"
        if results.one_domain:
            return "waits"
        if len(self.relief) < len(self.waits):
            return "unknown"
        # Of several victims one may lie farther out by chance; the range is then said, too.
        if _within(statistics.median(self.relief), 1) and all(_within(relief, 2) for relief in self.relief):
            return "nothing"
        if not _within(min(min(self.relief), 1.0), 1):
            return "worse"
        if _within(min(self.relief), 1):
            return "mixed"
        return "full" if max(self.residual) <= LIMIT else "part"

    @property
    def noise(self):
        return words.NOISE[self.kind] + (" (paced)" if self.pace == "paced" else "")

    def wait(self):
        return "up to " * (min(self.all) * 1.15 < max(self.waits)) + words.times(max(self.waits))

    def left(self):
        return "up to " * (max(self.residual) > 1.15 * min(self.residual)) + words.times(max(self.residual))

    def paced_remark(self):
        """The paced noise in a parenthesis, where it comes out differently from the saturating one."""
        rate = f" at {words.bandwidth(sum(self.gbps) / len(self.gbps))} GB/s" if self.gbps else ""
        if self.outcome == "unaffected":
            return f" (paced{rate}: no wait)"
        relief = f", relief {words.span(self.relief)}" if self.relief else ""
        ending = {"nothing": ", nothing gained", "full": ", all of it taken back", "part": relief, "mixed": relief,
                  "worse": ", and worse in a separate domain"}.get(self.outcome, "")
        return f" (paced{rate}: {self.wait()}{ending})"


def _all_besides(results, victims):
    found = [_Beside(results, victims, kind, pace) for kind in words.FOREIGN for pace in words.PACES]
    return [beside for beside in found if beside.outcome != "missing"]


def _besides(results, victims):
    """Per kind of foreign noise the main case (saturating where measured), and the paced one if it differs."""
    found = {}
    for beside in _all_besides(results, victims):
        main, _ = found.setdefault(beside.kind, (beside, ""))
        if beside.outcome != main.outcome:
            found[beside.kind] = (main, beside.paced_remark())
    return list(found.values())


def _family(results, subject, victims, advice):
    """The sentences about one family, or none if nothing was measured."""
    besides = _besides(results, victims)
    if not besides:
        return []
    groups = {}
    for beside, remark in besides:
        groups.setdefault(beside.outcome, []).append((beside, remark))
    said = []

    def who(beginning):
        # "Kernel boundaries wait …", and from the second sentence on "Beside … they wait …".
        return words.sentence_case(subject) if not said else beginning

    def waits(*group):
        return f"{who('They')} wait " + words.listed(f"{b.wait()} longer beside {b.noise}{remark}" for b, remark in group)

    for beside, remark in groups.get("part", []) + groups.get("full", []):
        head = f"Beside {beside.noise} they wait {beside.wait()} longer{remark}" if said else waits((beside, remark))
        if beside.outcome == "full":
            said.append(f"{head}, and a separate domain takes all of it back (residual {beside.left()})")
        else:
            said.append(f"{head}; putting the noise in the remote domain makes them {words.span(beside.relief)} shorter again and "
                        f"leaves {beside.left()}")
    for beside, remark in groups.get("mixed", []):
        said.append(f"{waits((beside, remark))}; a separate domain helps some of them (relief {words.span(beside.relief)}) and leaves "
                    f"{beside.left()}")
    if "nothing" in groups:
        relief = [value for beside, _ in groups["nothing"] for value in beside.relief]
        spread = ("" if all(_within(value, 1) for value in relief) else
                  f" (relief {words.times(min(relief))} to {words.times(max(relief))})")
        said.append(f"{waits(*groups['nothing'])} and gain nothing from domains{' there' if len(groups) > 1 else ''}{spread}")
        if advice and len(said) == 1:
            said[-1] += f": {advice}"
            advice = ""
    for beside, remark in groups.get("worse", []):
        whom = "it" if max(beside.relief) < 1.0 else "it, for some of them,"
        said.append(f"{waits((beside, remark))}, and a separate domain makes {whom} worse (relief {words.span(beside.relief)})")
    if "waits" in groups:
        said.append(waits(*groups["waits"]) + (f": {advice}" if advice else ""))
    if "unknown" in groups:
        said.append(f"{waits(*groups['unknown'])}; what a separate domain gives back was not measured")
    if "unaffected" in groups:
        names = words.listed((b.noise + remark for b, remark in groups["unaffected"]), "or")
        said.append(f"{who('They')} do not wait for {names}")
    return [sentence + "." for sentence in said]


def _others(results):
    """The remaining families in two sentences: who waits most for what, and who does not wait."""
    idle, relieved, calm = [], [], []  # held up without and with relief; not held up
    for subject, names in _OTHERS:
        besides = _all_besides(results, [v for v in results.victims() if names.fullmatch(v)])
        affected = [b for b in besides if b.waits]
        if affected:
            worst = max(affected, key=lambda b: max(b.waits))
            relief = max(worst.relief, default=0)
            gain = f", relief up to {words.times(relief)}" if relief > LIMIT else ""
            (relieved if gain else idle).append(f"{subject} (up to {words.times(max(worst.waits))} beside {worst.noise}{gain})")
        elif besides:
            calm.append(subject)
    said = []
    if relieved:
        said.append(f"Also held up, and relieved in part: {words.listed(relieved)}.")
    if idle:
        known = not results.one_domain and any(results.relief(v, n) for v in results.victims() for n in results.noises(v))
        said.append(f"Also held up{', gaining nothing from domains' if known else ''}: {words.listed(idle)}.")
    if calm:
        said.append(f"Not held up by any of this: {words.listed(calm)}.")
    return said


def _queue(results):
    """What sharing a hardware queue costs on top, which is no matter of fences and which no domain takes back."""
    ratios = []
    for noise in results.noises("kernel_boundary.shared_queue"):
        for arm in ("same", "separate"):
            shared, own = (results.p50(f"kernel_boundary.{form}", noise, arm) for form in ("shared_queue", "stream"))
            if shared and own:
                ratios.append(shared / own)
    if max(ratios, default=0) <= LIMIT:
        return []
    return [f"A stream that falls on the hardware queue of NCCL's stream makes them up to {words.times(max(ratios))} longer still, in "
            "any domain: create another stream."]


def _not_measured(results):
    """Foreign noise beside which nothing was measured, with the reason if the bench gave one."""
    said = []
    for kind in words.FOREIGN:
        reasons = list(dict.fromkeys(case.waived if case.waived is not None else f"failed: {case.failed}"
                                     for case in results.waived + results.failed if case.kind == kind))
        if reasons and all(case.kind != kind for case in results.measured):
            said.append(f"{words.NOISE[kind]} ({'; '.join(reasons[:2])})")
    return [f"Not measured: {words.listed(said)}."] if said else []


def verdict(results, controls):
    """The paragraph."""
    warning = control_rules.warning(controls)
    said = [warning] if warning else []
    if not results.measured:
        reasons = list(dict.fromkeys(case.waived for case in results.waived))
        if results.failed:
            reasons.append(f"{words.counted(len(results.failed), 'case')} failed")
        return f"Nothing was measured{': ' + '; '.join(reasons) if reasons else ', the file holds no case'}."
    if results.one_domain:
        said.append("This GPU has one memory synchronization domain, so domains cannot help here; the run is a negative "
                    "control, and shows only who waits for foreign traffic.")

    known = {(v, n): value for v in results.victims() for n in results.noises(v)
             if n.partition(".")[0] in words.FOREIGN and (value := results.interference(v, n)) is not None}
    if not known:
        said.append("No victim was measured both alone and beside foreign traffic in its own domain, so there is no "
                    "interference to report.")
    elif max(known.values()) <= LIMIT:
        kinds = words.listed(words.NOISE[kind] for kind in words.FOREIGN if any(noise.startswith(kind) for _, noise in known))
        said.append(f"No victim waited for foreign traffic: beside {kinds} the interference stayed at or below "
                    f"{max(*known.values(), 1.0):.2f}"
                    f"{'' if results.one_domain else ', so there is nothing that domains could give back'}.")
    else:
        for subject, names, advice in _FAMILIES:
            said += _family(results, subject, [v for v in results.victims() if names.fullmatch(v)], advice)
            if subject == "kernel boundaries":
                said += _queue(results)
        said += _others(results)
    said += _not_measured(results)
    return " ".join(said)
