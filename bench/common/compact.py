#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites results of the benches compactly, as docs/measurements keeps them: a row for each case, with the median of its repetitions.

    compact.py [--expand] --output <folder> <bench.json>...

Names, units and counters stay, and results.py reads the files as before. `cv` is the coefficient of variation of the time over the
repetitions. Numbers have six digits, spreads over repetitions two. What Google Benchmark says of the host's processor goes, and so do the host's time where the bench
measured that of the GPU, and how often a comparison took turns, which its uncertainty says. Of a campaign of the conformance suite each test keeps what it counted, in the order of the names; of a count from a
million on four digits, the rest cut off; of each mutant what became of it. --expand writes an object for each case
again, which Google Benchmark's compare.py reads; it asks for a host's time and gets the other one.
"""
import argparse
import json
import pathlib
import re
import statistics

import results

DIGITS = 6
KEPT = ("name", "run_type", "aggregate_name", "repetitions", "real_time", "cpu_time", "time_unit", "label", "error_occurred", "error_message")
DROPPED = ("family_index", "per_family_instance_index", "run_name", "repetition_index", "threads", "iterations", "aggregate_unit", "pairs", "turns")
SPREADS = ("cv", "ratio_spread", "ratio_uncertainty")
HOST = ("host_name", "caches", "load_avg", "cpu_scaling_enabled", "library_build_type")
HUNT = ("mutant", "seconds", "revealed", "by", "instances", "forbidden", "tests", "reason")
CAMPAIGN = ("test", "role", "verdict", "instances", "weak", "forbidden")


def rounded(key, value):
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return value
    short = float(f"{value:.{2 if key in SPREADS else DIGITS}g}")
    return int(short) if short == int(short) else short


def entry_of(case, variations):
    """The one entry that stands for a case."""
    median = next((entry for entry in case.entries if entry.get("aggregate_name") == "median"), None)
    entry = dict(median or case.entries[0])
    if median is None and len(case.entries) > 1:
        for key in entry:
            values = [results.number(each.get(key)) for each in case.entries]
            if None not in values and key not in DROPPED:
                entry[key] = statistics.median(values)
        times = [each["real_time"] for each in case.entries]
        entry.update(name=entry["name"] + "_median", run_type="aggregate", aggregate_name="median", repetitions=len(times))
        variations = {case.name: statistics.stdev(times) / statistics.mean(times) if statistics.mean(times) else 0}
    if case.name in variations:
        entry["cv"] = variations[case.name]
    if entry.get("repetitions") == 1:
        del entry["repetitions"]
    keys = [key for key in KEPT if key in entry] + [key for key in entry if key not in KEPT + DROPPED]
    return {key: rounded(key, entry[key]) for key in keys if key != "cpu_time" or "/manual_time" not in entry["name"]}


def lines_of(items):
    """A list with its items in a line each."""
    return "[\n" + ",\n".join(json.dumps(item, ensure_ascii=False, separators=(",", ":")) for item in items) + "\n]"


def lines_with_short_counts(rows):
    """The rows of a campaign, with 1683e6 for 1683909184."""
    return re.sub(r"(?<=,)(\d{4})(\d{3,})(?:\.0)?(?=[,\]])", lambda count: f"{count[1]}e{len(count[2])}", lines_of(rows))


def text_of(key, objects, head, expand, rows_of=lines_of):
    """A document with its list of objects as a table, whose rows `rows_of` writes, or with --expand as it was."""
    parts = [json.dumps(name) + ": " + json.dumps(value, indent=1, ensure_ascii=False) for name, value in head.items()]
    if expand:
        text = lines_of([{**one, "cpu_time": one["real_time"]} if "real_time" in one and "cpu_time" not in one else one for one in objects])
    else:
        table = results.table_of(objects)
        text = "{" + ",\n".join(f'"{name}": {json.dumps(table[name])}' for name in table if name != "rows") + ',\n"rows": ' + rows_of(table["rows"]) + "}"
    return "{\n" + ",\n".join([*parts, json.dumps(key) + ": " + text]) + "\n}\n"


def compact(path, expand=False):
    """The text of the compact file."""
    document = results.document_of(path.read_text(encoding="utf-8"))
    if "tests" in document:
        tests = sorted(({key: test[key] for key in CAMPAIGN} for test in document["tests"]), key=lambda test: test["test"])
        return text_of("tests", tests, {key: document[key] for key in ("context", "plan")}, expand, lines_with_short_counts)
    if "mutants" in document:
        hunts = [{key: mutant.get(key) for key in HUNT} for mutant in document["mutants"]]
        return text_of("mutants", hunts, {key: document[key] for key in ("context", "seed")}, expand, lines_with_short_counts)
    document = results.read(path, "whose result it is")
    variations = {results.name_of(entry): entry["real_time"] for entry in document["benchmarks"] if entry.get("aggregate_name") == "cv"}
    variations.update({results.name_of(entry): entry["cv"] for entry in document["benchmarks"] if "cv" in entry})
    entries = [entry_of(case, variations) for case in results.load(path, "").cases.values()]
    context = {key: value for key, value in document["context"].items() if key not in HOST}
    return text_of("benchmarks", entries, {"context": context}, expand)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--expand", action="store_true", help="an object for each case, not a row")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the folder for the compact files")
    parser.add_argument("files", type=pathlib.Path, nargs="+", metavar="bench.json")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for path in options.files:
        (options.output / path.name).write_text(compact(path, options.expand), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except results.ResultError as failure:
        raise SystemExit(str(failure)) from None
