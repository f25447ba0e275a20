#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares membar-check with the oracle in this folder on random programs.

usage: oracle_test.py <membar-check> [--features=NAME,...] [--count=N] [--seed=N] [--conditions=N] [--keep=FOLDER] [--hand-made]
       oracle_test.py --self-test
       oracle_test.py --show=SEED:FEATURE

If the oracle finds a fault in a program, membar-check must report a finding of that kind; otherwise, membar-check must answer `verified`.
The final values of clean programs are also compared: membar-check must verify the condition that one of the oracle's final states holds,
and must report the negation of each state (for at most --conditions states) as violated. If the weak model may have more executions than
the interleavings, only the negations are checked. The answer `gave up` is counted, but is not a disagreement.
"""

import argparse
import collections
import pathlib
import subprocess
import sys
import tempfile

import hand_made
import model
import programs

BATCH = 100
FINDINGS = {"undefined", "race", "hang", "uninitialised", "violated", "out of bounds"}


class Case:
    def __init__(self, seed, feature, launch, conditions):
        self.seed, self.feature = seed, feature
        self.launch = launch
        self.verdict = model.decide(self.launch.program())
        self.text = programs.Text(self.launch)
        self.ptx = self.text.kernel()
        self.asked = []  # (condition or "", expected answer)
        if self.verdict.findings:
            self.asked = [("", None)]
        else:
            finals = sorted(self.verdict.finals)
            step = max(1, len(finals) // conditions) if conditions else 1
            if self.verdict.exact:
                self.asked = [(" \\/ ".join(map(self.text.condition, finals)), {"verified"})]
            else:
                self.asked = [("", {"verified", "race", "hang", "uninitialised"})]
            for final in finals[::step][:conditions or len(finals)]:
                weak = set() if self.verdict.exact else {"race", "hang", "uninitialised"}
                self.asked.append(("~" + self.text.condition(final), {"violated"} | weak))

    def write(self, folder, name):
        (folder / f"{name}.ptx").write_text(self.ptx)
        paths = []
        for n, (condition, _) in enumerate(self.asked):
            path = folder / f"{name}.{n}.scenario"
            path.write_text(self.text.scenario(f"{name}.ptx") + (f"final {condition}\n" if condition else ""))
            paths.append(path)
        return paths

    def disagreement(self, answers):
        """Returns the error in membar-check's statuses for this program, or None. It is not an error if membar-check gave up, or if a race
        depends on whether the two halves of a read-modify-write are one operation."""
        found = self.verdict.findings
        for (condition, expected), status in zip(self.asked, answers):
            if status == "gave up" or (status == "race" and self.verdict.open):
                continue
            if found:
                if not (status in found or ("undefined" in found and status in FINDINGS)):
                    return f"{status}, but the oracle finds: {', '.join(sorted(found))}"
            elif status not in expected:
                what = "clean" if self.verdict.exact else "clean in every interleaving"
                return f"{status}, but the oracle finds it {what}" + (f"; condition {condition}" if condition else "")
        return None


def ask(checker, paths):
    """Returns the status of each file. The command prints one line per file, and the text of the finding below it."""
    run = subprocess.run(checker + ["--quiet"] + [str(p) for p in paths], capture_output=True, text=True)
    answers = {}
    for line in run.stdout.splitlines() + run.stderr.splitlines():
        parts = line.split("\t")
        if len(parts) >= 2 and not line.startswith(" "):
            answers.setdefault(parts[0], (parts[1], line))
    return [answers.get(str(p), ("no answer", run.stdout[-500:] + run.stderr[-500:])) for p in paths]


def report(case, why, lines, folder):
    print(f"DISAGREE {case.seed}:{case.feature}: {why}" + (f" ({case.verdict.why})" if case.verdict.why else ""))
    for line in lines:
        print("   ", line)
    if folder:
        folder.mkdir(parents=True, exist_ok=True)
        case.write(folder, f"{case.feature}.{case.seed}")


def compare(options):
    features = options.features.split(",")
    unknown = [f for f in features if f not in programs.FEATURES]
    if unknown:
        sys.exit(f"no such feature: {', '.join(unknown)}; there are {', '.join(programs.FEATURES)}")
    counts, wrong = {f: collections.Counter() for f in features}, 0
    done = 0
    while done < options.count:
        with tempfile.TemporaryDirectory() as temporary:
            folder, batch, paths = pathlib.Path(temporary), [], []
            while done < options.count and len(batch) < BATCH:
                try:
                    seed, feature = options.seed + done, features[done % len(features)]
                    case = Case(seed, feature, programs.make(seed, [feature]), options.conditions)
                except model.TooLarge:
                    counts[feature]["too large"] += 1
                    done += 1
                    continue
                own = case.write(folder, str(done))
                batch.append((case, len(paths), len(own)))
                paths += own
                done += 1
            answers = ask([options.checker] + options.checker_option, paths)
            for case, first, size in batch:
                statuses = [a[0] for a in answers[first:first + size]]
                count = counts[case.feature]
                kind = "+".join(sorted(case.verdict.findings)) or ("clean" if case.verdict.exact else "clean, weak outcomes possible")
                count[kind] += 1
                if "gave up" in statuses:
                    count["(gave up)"] += 1
                why = case.disagreement(statuses)
                if why:
                    count["(DISAGREE)"] += 1
                    wrong += 1
                    if count["(DISAGREE)"] <= options.examples:
                        report(case, why, [a[1].replace(str(folder) + "/", "") for a in answers[first:first + size]], options.keep)
    for feature, count in counts.items():
        print(f"{feature}: " + ", ".join(f"{n} {kind}" for kind, n in sorted(count.items(), key=lambda x: -x[1])))
    print(f"{done} programs, {wrong} disagreements")
    return 1 if wrong else 0


def compare_hand_made(options):
    """Returns membar-check's answers for the hand-made programs."""
    wrong = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or pathlib.Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        for name, (launch, _, _) in hand_made.PROGRAMS.items():
            case = Case(0, name, launch, 0)
            answers = ask([options.checker] + options.checker_option, case.write(folder, name))
            why = case.disagreement([a[0] for a in answers])
            wrong += why is not None
            if why:
                report(case, why, [], None)
    print(f"{len(hand_made.PROGRAMS)} hand-made programs, {wrong} disagreements")
    return 1 if wrong else 0


def self_test():
    """Checks the oracle's answers for the hand-made programs, and checks that a wrong answer from membar-check would be detected."""
    wrong = []
    for name, (launch, findings, finals) in hand_made.PROGRAMS.items():
        case = Case(0, name, launch, 0)
        verdict = case.verdict
        if verdict.findings != frozenset(findings):
            wrong.append(f"{name}: {sorted(verdict.findings)} instead of {sorted(findings)}")
        if finals is not None and verdict.finals != frozenset(finals):
            wrong.append(f"{name}: final states {sorted(verdict.finals)} instead of {sorted(finals)}")
        right = [sorted(expected or verdict.findings)[0] for _, expected in case.asked]
        lies = ["verified"] if findings else ["undefined"] + right[1:]
        missed = case.verdict.exact and not findings and not case.disagreement(right[:-1] + ["verified"])
        if case.disagreement(right) or (not case.verdict.open and not case.disagreement(lies)) or missed:
            wrong.append(f"{name}: the comparison does not distinguish right from wrong answers")
    print("\n".join(wrong + [f"{len(hand_made.PROGRAMS)} hand-made programs, {len(wrong)} wrong"]))
    return 1 if wrong else 0


def show(text):
    seed, feature = text.split(":")
    case = Case(int(seed), feature, programs.make(int(seed), [feature]), 4)
    print(case.ptx + "\n" + case.text.scenario("x.ptx"))
    print(case.verdict)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checker", nargs="?")
    parser.add_argument("--features", default=",".join(programs.FEATURES), help="; ".join(f"{n}: {what}" for n, what in programs.FEATURES.items()))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--conditions", type=int, default=3, help="negated final states per clean program; 0 for all")
    parser.add_argument("--examples", type=int, default=5, help="how many disagreements per feature to print")
    parser.add_argument("--keep", type=pathlib.Path, help="a folder for the programs with disagreements")
    parser.add_argument("--checker-option", action="append", default=[], help="an option for membar-check")
    parser.add_argument("--show", metavar="SEED:FEATURE", help="print a program and the oracle's verdict")
    parser.add_argument("--hand-made", action="store_true", help="compare the hand-made programs as well")
    parser.add_argument("--self-test", action="store_true", help="check the oracle with the hand-made programs")
    options = parser.parse_args()
    if options.show:
        return show(options.show)
    if options.self_test:
        return self_test()
    if not options.checker:
        parser.error("the path of membar-check is needed")
    failed = self_test() + compare(options)
    if options.hand_made:
        failed += compare_hand_made(options)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
