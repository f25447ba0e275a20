#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes the tables in docs/conformance.md from the suite's list of tests and from the JSON that its runs wrote.

usage: table.py [--check] [--page FILE] [--results JSON]... LIST

LIST is the output of `conformance --list --json`. Results are files of `conformance --json=FILE` and `mutants.py run --json FILE`;
the default is docs/measurements/*/conformance*.json. A cell without a result contains "not measured yet". --check writes nothing and
fails if the page is out of date.
"""

import argparse
import collections
import json
import pathlib
import re
import sys

import guarantees
import mutants
from mutants import short

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "common"))
from results import parsed  # noqa: E402

PAGE = ROOT / "docs" / "conformance.md"
NOT_YET = "not measured yet"


def cell(text):
    return text.replace("|", "\\|")


def place_of(test):
    return test.rsplit("@", 1)[1]


def rows_of(listed):
    """Yields each row of guarantees.py with the suite's guarantees that it covers."""
    for row in guarantees.ROWS:
        yield row, [g for g in listed["guarantees"] if re.search(row.tests, f"{g['family']}/{g['test']}")]


class Results:
    """Adds up the counts of several campaigns, test by test."""

    def __init__(self, files):
        told = [parsed(pathlib.Path(file).read_text(encoding="utf-8")) for file in files]
        self.hunts = [each for each in told if "mutants" in each]
        self.campaigns = [each for each in told if "mutants" not in each]
        self.tests = collections.defaultdict(collections.Counter)
        for test in (test for campaign in self.campaigns for test in campaign["tests"]):
            self.tests[test["test"]].update({key: test[key] for key in ("instances", "weak", "forbidden")})

    def sum(self, names, key):
        return sum(self.tests[name][key] for name in names)

    def seen(self, guarantee):
        """Returns whether a control was observed at the guarantee's own place."""
        return self.sum([c for c in guarantee["controls"] if place_of(c) == place_of(guarantee["test"])], "weak") != 0

    def seen_elsewhere(self, guarantee):
        """Returns whether controls were observed only at other places, where they do not support the guarantee at this
        place."""
        return not self.seen(guarantee) and self.sum(guarantee["controls"], "weak") != 0

    def ran(self, guarantee):
        return self.sum([guarantee["test"]], "instances") != 0


def table(header, lines):
    return "\n".join(["|" + "|".join(header) + "|", "|" + "-|" * len(header), *("|" + "|".join(line) + "|" for line in lines)])


def guarantee_table(listed, results):
    lines = []
    for row, found in rows_of(listed):
        tests = [g["test"] for g in found]
        # The example is preferably on one device, with a control at the same place.
        shown = min(found, key=lambda g: not g["test"].endswith("@one_device"))
        control = min(shown["controls"], key=lambda name: place_of(name) != place_of(shown["test"]))
        ran = [g for g in found if results.ran(g)]
        some = f", {len(ran)} of {len(found)} tests" if len(ran) < len(found) else ""
        measured = [short(results.sum(tests, "instances")) + some, short(results.sum(tests, "forbidden")),
                    f"{sum(results.seen(g) for g in ran)} of {len(ran)}",
                    str(sum(results.seen_elsewhere(g) for g in ran))] if ran else [NOT_YET] * 4
        lines.append([cell(f"{row.words} (`{row.file}`)"), str(len(tests)), f"`{cell(shown['test'])}`", f"`{cell(control)}`",
                      str(len({control for g in found for control in g["controls"]})), *measured])
    return table(["guarantee", "tests", "example", "one of its controls", "number of controls", "instances run", "forbidden outcomes",
                  "tests with a control observed at the same place", "only at another place"], lines)


def place_table(listed, results):
    """Returns a table with counts of guarantees per place: those that ran, and those for which a control was observed."""
    lines = []
    for place in sorted({place_of(g["test"]) for g in listed["guarantees"]}):
        ran = [g for g in listed["guarantees"] if place_of(g["test"]) == place and results.ran(g)]
        lines.append([place, *(map(str, (len(ran), sum(map(results.seen, ran)), sum(map(results.seen_elsewhere, ran)))) if ran else [NOT_YET] * 3)])
    return table(["place", "guarantees that ran", "with a control observed at this place", "with a control observed only at another place"], lines)


def best_known_controls(results):
    """Returns a table of controls per shape and place: how many were observed, and the highest rate."""
    controls = collections.defaultdict(lambda: [0, 0])
    for test in (test for campaign in results.campaigns for test in campaign["tests"]):
        if test["role"] == "control" and test["instances"]:
            controls[test["test"]][0] += test["weak"]
            controls[test["test"]][1] += test["instances"]
    if not controls:
        return f"Rates of controls: {NOT_YET}."
    shapes = collections.defaultdict(list)
    for name, (weak, instances) in controls.items():
        shapes[re.match(r"2\+2W|[^+]+", name).group(), place_of(name)].append((weak / instances, name, weak, instances))
    lines = []
    for (shape, place), found in sorted(shapes.items()):
        rate, name, weak, instances = max(found)
        often = f"{weak / instances:.2g}" if weak else f"not observed in {short(sum(f[3] for f in found))} instances"
        lines.append([shape, place, f"{sum(f[2] != 0 for f in found)} of {len(found)}", often, f"`{cell(name)}`" if weak else ""])
    return table(["shape", "place", "controls observed", "highest rate", "control with this rate"], lines)


def mutant_table(results):
    rows = {row["mutant"]: row for hunt in results.hunts for row in hunt["mutants"]}

    def outcome(row):
        return cell(mutants.outcome_of(row, "`{}`")) if row else NOT_YET

    return table(["mutant", "what is wrong", "header", "result on hardware"],
                 [[f"`{m.name}`", cell(m.says), f"`{m.header}`", outcome(rows.get(m.name))] for m in mutants.MUTANTS])


def command_of(campaign):
    """Returns the command that ran a campaign. Old results contain only its plan, without the options that selected the
    tests."""
    plan = campaign["plan"]
    return campaign["context"].get("command") or (
        f"conformance ... --seconds={plan['seconds']:g} --draws={plan['draws']}" + (f" --minutes={plan['minutes']:g}" if plan["minutes"] < 1e6 else ""))


def machines(results):
    if not results.campaigns:
        return f"Machine, driver, instances: {NOT_YET}."
    lines = []
    for campaign in results.campaigns:
        context, tests = campaign["context"], campaign["tests"]
        lines.append([f"`{cell(command_of(campaign))}`", context["include"], f"{context['gpu_count']} × {context['gpu']}", context["driver"],
                      context["cuda_runtime"], context["date"],
                      short(sum(t["instances"] for t in tests)), short(sum(t["forbidden"] for t in tests)), str(campaign["plan"]["seed"])])
    return table(["command", "hash of `include`", "machine", "driver", "CUDA", "date", "instances", "forbidden outcomes", "seed"], lines)


def not_run():
    lines = [[f"`{header}`", cell(words), reason] for header, all_words in guarantees.ELSEWHERE.items()
             for words, reason in all_words.items()]
    lines += [[f"`{folder}/`", "", reason] for folder, reason in guarantees.FOLDERS.items()]
    return table(["header", "sentence or part of it", "tested by"], lines)


def filled(page, listed, results):
    """Returns the page with every table between its marks."""
    tables = {"machines": machines(results), "guarantees": guarantee_table(listed, results),
              "places": place_table(listed, results), "controls": best_known_controls(results),
              "mutants": mutant_table(results), "not run": not_run()}
    for name, text in tables.items():
        begin, end = f"<!-- table.py: {name} -->", "<!-- end -->"
        parts = page.split(begin)
        if len(parts) != 2 or end not in parts[1]:
            sys.exit(f"table.py: the page needs {begin}, followed by {end}, exactly once")
        page = f"{parts[0]}{begin}\n{text}\n{end}{parts[1].split(end, 1)[1]}"
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    parser.add_argument("--results", action="append", type=pathlib.Path, metavar="JSON")
    parser.add_argument("list", type=pathlib.Path)
    arguments = parser.parse_args()
    files = arguments.results or sorted((ROOT / "docs" / "measurements").glob("*/conformance*.json"))
    page = arguments.page.read_text(encoding="utf-8")
    new = filled(page, json.loads(arguments.list.read_text(encoding="utf-8")), Results(files))
    if not arguments.check:
        arguments.page.write_text(new, encoding="utf-8")
    elif new != page:
        print(f"{arguments.page} is out of date with the suite and its results: run tests/conformance/table.py", file=sys.stderr)
        return 1
    else:
        print(f"{arguments.page} is up to date")
    return 0


if __name__ == "__main__":
    sys.exit(main())
