# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads results of the benches: Google Benchmark's JSON, as written by --benchmark_out or shortened by keep.py.

A case is one name. Its figures are the medians of its repetitions: the medians in the file, if any, and otherwise medians
computed from the individual repetitions.
"""
import json
import math
import re
import statistics

FORMAT_VERSION = 1  # The format version of the files in docs/measurements.
WIDTH = 140  # The maximum length of a line that contains an object other than a case.
_SCALE = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
# Suffixes that Google Benchmark appends to a name to record how the case was run.
_SETTING = re.compile(r"/(iterations|repeats|min_time|min_warmup_time):[^/]*$|/(real|manual|process)_time$")
# The entry fields that are not figures.
_BOOKKEEPING = {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations", "real_time"}


class ResultError(Exception):
    """An error in a file, as one sentence for the user that states the problem, the value and the remedy."""


class MissingFile(ResultError):
    """The file does not exist."""


def number(value):
    """Returns a finite number as float, and None for any other value."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None


class Case:
    """One case: its name without run options, its figures, the reason why it was waived or failed, and the number of
    repetitions.

    The figure `ns` is the time, unless the bench has a counter of that name."""

    def __init__(self, name):
        self.name, self.figures, self.entries = name, {}, []
        self.waived = self.failed = self.label = None
        self.repetitions = 1
        self.order = math.inf

    @property
    def measured(self):
        return self.waived is None and self.failed is None

    def add(self, entry):
        label = entry.get("label", "")
        if entry.get("error_occurred"):
            self.failed = str(entry.get("error_message") or "no message")
        elif isinstance(label, str) and label.startswith("waived:"):
            self.waived = label[len("waived:"):].strip() or "no reason given"
        elif entry.get("skipped"):  # Google Benchmark 1.8 and newer
            self.waived = str(entry.get("skip_message") or "no reason given")
        self.label = label or self.label
        self.entries.append(entry)
        self.order = min(self.order, entry.get("family_index", math.inf))
        self.repetitions = max(self.repetitions, entry.get("repetitions", 1))

    def finish(self):
        medians = [entry for entry in self.entries if entry.get("aggregate_name") == "median"]
        samples = {}
        for entry in medians or self.entries:
            figures = {key: number(value) for key, value in entry.items() if key not in _BOOKKEEPING}
            time = number(entry.get("real_time"))
            if time is not None:
                figures.setdefault("ns", time * _SCALE.get(entry.get("time_unit"), 1.0))
            for key, value in figures.items():
                if value is not None:
                    samples.setdefault(key, []).append(value)
        self.figures = {key: statistics.median(values) for key, values in samples.items()}


class Results:
    """One file's cases, keyed by name in the order of the bench's code, and the machine's context as text."""

    def __init__(self, path, context, cases):
        self.path, self.context = path, context
        # Repetitions may be interleaved at random, so a file lists cases in the order in which they finished.
        self.cases = dict(sorted(((case.name, case) for case in cases), key=lambda item: item[1].order))

    @property
    def measured(self):
        return {name: case for name, case in self.cases.items() if case.measured}

    @property
    def waivers(self):
        return list(dict.fromkeys(case.waived for case in self.cases.values() if case.waived is not None))


def name_of(entry):
    """Returns the name of the case to which an entry of the file belongs, or None."""
    name = entry.get("run_name", entry.get("name"))
    if not isinstance(name, str):
        return None
    if entry.get("run_type") == "aggregate" and "run_name" not in entry:
        ending = f"_{entry.get('aggregate_name')!s}"
        name = name[:-len(ending)] if name.endswith(ending) else name
    while _SETTING.search(name):
        name = _SETTING.sub("", name)
    return name


def slope(points):
    """Returns the slope of the least-squares line through the points; NaN if there is no such line."""
    n = len(points)
    x, y = sum(p[0] for p in points) / n, sum(p[1] for p in points) / n
    width = sum((p[0] - x) ** 2 for p in points)
    return sum((p[0] - x) * (p[1] - y) for p in points) / width if width else float("nan")


def text_of(document):
    """Returns the JSON of a result in the format of docs/measurements: one line for each case and for each other object that
    fits into a line."""
    return _lines_of({"format_version": FORMAT_VERSION, **document}, 0) + "\n"


def _lines_of(value, depth):
    line = json.dumps(value, ensure_ascii=False)
    if isinstance(value, dict) and (depth == 0 or len(line) > WIDTH):
        parts = [f"{json.dumps(key, ensure_ascii=False)}: {_lines_of(each, depth + 1)}" for key, each in value.items()]
    elif isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        parts = [json.dumps(each, ensure_ascii=False) for each in value]
    else:
        return line
    begin, end = "{}" if isinstance(value, dict) else "[]"
    return begin + "\n" + ",\n".join(" " * (depth + 1) + part for part in parts) + "\n" + " " * depth + end


def parsed(text):
    """Returns the document of a result. Google Benchmark's own files have no format version."""
    document = json.loads(text)
    version = document.get("format_version", FORMAT_VERSION) if isinstance(document, dict) else FORMAT_VERSION
    if version != FORMAT_VERSION:
        raise ValueError(f"format_version is {version}, but only {FORMAT_VERSION} is supported")
    return document


def read(path, bench):
    """Returns the JSON of a file whose "benchmarks" is a list of objects; errors name `bench` as the program that writes such a file."""
    try:
        with open(path, encoding="utf-8") as stream:
            document = parsed(stream.read())
    except FileNotFoundError:
        raise MissingFile(f"{path} does not exist; write it with the bench {bench} and --benchmark_out=FILE") from None
    except (ValueError, RecursionError) as error:
        raise ResultError("%s is not JSON (%s); write it with the bench %s, --benchmark_out=FILE and --benchmark_out_format=json"
                          % (path, error, bench)) from None
    except OSError as error:
        raise ResultError(f"{path} cannot be read ({error.strerror}); pass a readable JSON file") from None
    entries = document.get("benchmarks") if isinstance(document, dict) else None
    if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
        raise ResultError("%s has no list \"benchmarks\" of cases; pass a file that the bench %s wrote with --benchmark_out"
                          % (path, bench))
    return document


def load(path, bench):
    """Returns the results of a file; errors name `bench` as the program that writes such a file."""
    document = read(path, bench)
    cases = {}
    for index, entry in enumerate(document["benchmarks"]):
        name = name_of(entry)
        if name is None:
            raise ResultError("%s: entry %d of \"benchmarks\" has no name; write the file again with the bench %s and --benchmark_out"
                              % (path, index, bench))
        if entry.get("run_type") != "aggregate" or entry.get("aggregate_name") == "median":
            cases.setdefault(name, Case(name)).add(entry)
    for case in cases.values():
        case.finish()
    raw = document.get("context")
    context = {key: str(value).strip() for key, value in (raw.items() if isinstance(raw, dict) else ())
               if isinstance(value, (str, int, float)) and str(value).strip()}
    return Results(path, context, cases.values())
