#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Rewrites bench results in the format of docs/measurements: one line per case, with the median of its repetitions.

    keep.py --output <folder> <bench.json>...

The format is Google Benchmark's: `real_time` is the median over `repetitions`, in `time_unit`. `cv`, the repetitions'
coefficient of variation, is added; counters keep all their digits. Google Benchmark's data about the host's processor is left
out. Host times are also left out if the bench measured GPU times.
"""
import argparse
import pathlib
import statistics

import results

FIRST = ("name", "real_time", "time_unit", "cv", "repetitions")
DROPPED = ("family_index", "per_family_instance_index", "run_name", "repetition_index", "threads", "iterations", "aggregate_unit")
HOST = ("host_name", "caches", "load_avg", "cpu_scaling_enabled", "library_build_type")


def entry_of(case, variations):
    """Returns the single entry that is kept for a case."""
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
    keys = [key for key in FIRST if key in entry] + [key for key in entry if key not in FIRST + DROPPED]
    return {key: entry[key] for key in keys if key != "cpu_time" or "/manual_time" not in entry["name"]}


def kept(path):
    """Returns the text of the file for docs/measurements."""
    document = results.read(path, "whose result it is")
    variations = {results.name_of(entry): entry["real_time"] for entry in document["benchmarks"] if entry.get("aggregate_name") == "cv"}
    variations.update({results.name_of(entry): entry["cv"] for entry in document["benchmarks"] if "cv" in entry})
    entries = [entry_of(case, variations) for case in results.load(path, "").cases.values()]
    context = {key: value for key, value in document.get("context", {}).items() if key not in HOST}
    return results.text_of({"context": context, "benchmarks": entries})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the folder for the files to keep")
    parser.add_argument("files", type=pathlib.Path, nargs="+", metavar="bench.json")
    options = parser.parse_args()
    options.output.mkdir(parents=True, exist_ok=True)
    for path in options.files:
        (options.output / path.name).write_text(kept(path), encoding="utf-8")


if __name__ == "__main__":
    try:
        main()
    except results.ResultError as failure:
        raise SystemExit(str(failure)) from None
