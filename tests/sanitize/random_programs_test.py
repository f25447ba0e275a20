#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares membar-check sanitize with the oracle in tests/oracle on random programs.

usage: random_programs_test.py <membar-check> [--count=N] [--seed=N] [--schedules=N] [--features=NAME,...] [--keep=FOLDER]

The oracle enumerates every interleaving of a program, and reports the races and other faults that some interleaving shows. The
sanitizer may report only kinds of faults that the oracle reports: a false alarm fails the test. The checker must confirm each
finding by replaying its schedule. The sanitizer must also find a race, within the given schedules, in at least 95 % of the
programs in which an interleaving shows one.
"""

import argparse
import collections
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "oracle"))
import model  # noqa: E402
import programs  # noqa: E402

BATCH = 100
LEAST_FOUND = 0.95


class Case:
    def __init__(self, seed, feature):
        self.name, self.feature = f"{feature}.{seed}", feature
        launch = programs.make(seed, [feature])
        self.verdict = model.decide(launch.program())
        text = programs.Text(launch)
        self.ptx, self.scenario = text.kernel(), text.scenario(f"{self.name}.ptx")

    def write(self, folder):
        (folder / f"{self.name}.ptx").write_text(self.ptx)
        path = folder / f"{self.name}.scenario"
        path.write_text(self.scenario)
        return str(path)


def sanitized(checker, paths, schedules):
    """Returns a pair for each file: the statuses of its findings, or None if the file cannot be sanitized, and the
    findings that were not confirmed."""
    done = subprocess.run([checker, "sanitize", "--confirm", f"--schedules={schedules}", "--format=json", *paths], capture_output=True, text=True)
    try:
        files = json.loads(done.stdout)["files"]
    except ValueError:
        sys.exit(f"no JSON: {done.stdout[-500:]}{done.stderr[-500:]}")
    return [(None, []) if f["status"] == "error" else
            ({x["status"]: x["message"] for x in f["findings"]},
             [f"{x['status']}: {x['message']}: {x['confirmed']}" for x in f["findings"]
              if x["status"] != "gave up" and not x["confirmed"].startswith("confirmed")]) for f in files]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checker")
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--schedules", type=int, default=200)
    parser.add_argument("--features", default=",".join(programs.FEATURES))
    parser.add_argument("--keep", type=pathlib.Path)
    how = parser.parse_args()
    features = how.features.split(",")
    counts, wrong, unconfirmed, racy, found, compared = collections.defaultdict(collections.Counter), [], [], 0, 0, 0
    for begin in range(0, how.count, BATCH):
        cases = []
        for n in range(begin, min(how.count, begin + BATCH)):
            try:
                cases.append(Case(how.seed + n, features[n % len(features)]))
            except model.TooLarge:
                pass
        with tempfile.TemporaryDirectory() as temporary:
            folder = pathlib.Path(temporary)
            answers = sanitized(how.checker, [c.write(folder) for c in cases], how.schedules)
        for case, (answer, not_confirmed) in zip(cases, answers):
            count, expected = counts[case.feature], case.verdict.findings
            unconfirmed += [f"{case.name}: {text}" for text in not_confirmed]
            if not_confirmed and how.keep:
                how.keep.mkdir(parents=True, exist_ok=True)
                case.write(how.keep)
            if answer is None or "gave up" in answer:
                count["gave up"] += 1
                continue
            compared += 1
            alarms = {k: m for k, m in answer.items() if k not in expected}
            if alarms and "undefined" not in expected and not (case.verdict.open and set(alarms) == {"race"}):
                count["FALSE ALARM"] += 1
                wrong.append(f"{case.name}: {alarms}, but the oracle finds {', '.join(sorted(expected)) or 'nothing'}")
                if how.keep:
                    how.keep.mkdir(parents=True, exist_ok=True)
                    case.write(how.keep)
            if "race" in expected:
                racy += 1
                found += "race" in answer or ("undefined" in expected and bool(answer))
            missed = expected - set(answer)
            count["found" if not missed and expected else "clean" if not missed else "missed " + "+".join(sorted(missed))] += 1
            if missed and how.keep:
                how.keep.mkdir(parents=True, exist_ok=True)
                case.write(how.keep)
    for feature, count in counts.items():
        print(f"{feature}: " + ", ".join(f"{n} {kind}" for kind, n in sorted(count.items(), key=lambda x: -x[1])))
    print("\n".join(wrong[:20] + unconfirmed[:20]))
    share = found / racy if racy else 1
    print(f"{compared} programs compared, {len(wrong)} false alarms, {len(unconfirmed)} findings not confirmed; a race was found in "
          f"{found} of {racy} racy programs within {how.schedules} schedules")
    return 1 if wrong or unconfirmed or share < LEAST_FOUND or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
