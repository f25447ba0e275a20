# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Reads what the benches write: Google Benchmark's JSON, as it comes from --benchmark_out or as compact.py has rewritten it.

A case is one name. Its figures are the medians of its repetitions: those that the file has, or else those of the single repetitions.
"""
import json
import math
import os
import re
import statistics

_SCALE = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}
# What Google Benchmark appends to a name: how the case was run.
_SETTING = re.compile(r"/(iterations|repeats|min_time|min_warmup_time):[^/]*$|/(real|manual|process)_time$")
# What an entry has besides figures.
_BOOKKEEPING = {"family_index", "per_family_instance_index", "repetitions", "repetition_index", "threads", "iterations", "real_time"}


class ResultError(Exception):
    """One sentence for the user: what is wrong with a file, with its value, and what to do."""


class MissingFile(ResultError):
    """There is no such file."""


def number(value):
    """A finite number as float; None for everything else."""
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if good else None


class Case:
    """One case: its name, without how it was run; its figures; why it was waived or how it failed; how often it was repeated.

    `ns` among the figures is the time, unless the bench itself has a counter of that name."""

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
    """The cases of one file by name, in the order of the bench's code, and the machine's context as text."""

    def __init__(self, path, context, cases):
        self.path, self.context = path, context
        # Repetitions may be interleaved at random, so a file's order is that in which cases ended.
        self.cases = dict(sorted(((case.name, case) for case in cases), key=lambda item: item[1].order))

    @property
    def measured(self):
        return {name: case for name, case in self.cases.items() if case.measured}

    @property
    def waivers(self):
        return list(dict.fromkeys(case.waived for case in self.cases.values() if case.waived is not None))


def name_of(entry):
    """The name of the case that an entry of the file is about; None if it has none."""
    name = entry.get("run_name", entry.get("name"))
    if not isinstance(name, str):
        return None
    if entry.get("run_type") == "aggregate" and "run_name" not in entry:
        ending = f"_{entry.get('aggregate_name')!s}"
        name = name[:-len(ending)] if name.endswith(ending) else name
    while _SETTING.search(name):
        name = _SETTING.sub("", name)
    return name


def table_of(objects):
    """A list of objects as compact.py writes it: what all say alike, the other keys, and a row of values for each; null is no value,
    and so is what a row lacks at its end. The fewer have a key, the later is its column.

    "ends" has what all names of a column begin and end with, up to a slash and from one on; the rows have what is between. "words" has
    the texts of a column with few of them; the rows have the number of theirs. "equal" has columns of which every row has the value of another. A
    text among the rows is what the names in the rows after it begin with, up to the next text, or what stands around them: `{}` is their place.
    Names are in the first column that differs."""
    keys = list(dict.fromkeys(key for one in objects for key in one))
    same = {key: objects[0][key] for key in keys if all(key in one and one[key] == objects[0][key] for one in objects)}
    equal = {}
    for key in keys:
        other = next((other for other in keys[:keys.index(key)] if other not in equal and all(one.get(other) == one.get(key) for one in objects)), None)
        if key not in same and other is not None:
            equal[key] = other
    keys = [key for key in keys if key not in equal]
    columns = sorted((key for key in keys if key not in same), key=lambda key: sum(one.get(key) is None for one in objects))
    ends = {}
    for key in columns:
        texts = [one.get(key) for one in objects]
        if all(isinstance(text, str) for text in texts):
            begin = re.match(r"(.*/)?", os.path.commonprefix(texts)).group()
            end = re.search(r"(/.*)?$", os.path.commonprefix([text[:len(begin) - 1:-1] if begin else text[::-1] for text in texts])[::-1]).group()
            if begin or end:
                ends[key] = [begin, end]
    words = {}
    for key in columns:
        texts = [one.get(key) for one in objects]
        if key not in ends and all(isinstance(text, str) for text in texts) and 8 * len(set(texts)) <= len(texts):
            words[key] = sorted(set(texts))

    def shown(one, key):
        if key in ends:
            return one[key][len(ends[key][0]):len(one[key]) - len(ends[key][1])]
        return words[key].index(one[key]) if key in words else one.get(key)

    some = {"ends": ends, "words": words, "equal": equal}
    return {"same": same, **{key: value for key, value in some.items() if value}, "columns": columns,
            "rows": _with_headings([_without_end([shown(one, key) for key in columns]) for one in objects])}


def _without_end(row):
    """A row without the nulls that it ends with."""
    return row[:max((i + 1 for i, value in enumerate(row) if value is not None), default=0)]


def _cuts(name):
    """What a name and its neighbours may begin and end with: whole parts between slashes, at signs, pluses and dots."""
    at = [i for i, c in enumerate(name) if c in "/@+."]
    return [(name[:begin], name[end:]) for begin in (0, *(i + 1 for i in at)) for end in (*at, len(name))
            if begin <= end and (begin or end < len(name))]


def _with_headings(rows):
    """The rows with what several names in a row begin or end with in a text before them, chosen so that all are shortest."""
    names = [row[0] if row and isinstance(row[0], str) else "" for row in rows]
    best = [None] * len(rows) + [(0, None)]  # from a row on: the length, and the cut of its run and where that ends
    for i in reversed(range(len(rows))):
        best[i] = (len(names[i]) + best[i + 1][0], ("", "", i + 1))
        for begin, end in _cuts(names[i]):
            j = i
            while j < len(rows) and len(names[j]) >= len(begin + end) and names[j].startswith(begin) and names[j].endswith(end):
                j += 1
            length = 10 + len(begin + end) + sum(len(name) - len(begin + end) for name in names[i:j]) + best[j][0]
            if length < best[i][0]:
                best[i] = (length, (begin, end, j))
    result, current, i = [], ("", ""), 0
    while i < len(rows):
        begin, end, j = best[i][1]
        if (begin, end) != current:
            result.append(begin + ("{}" + end if end else ""))
            current = (begin, end)
        result += [[row[0][len(begin):len(row[0]) - len(end)], *row[1:]] if begin or end else row for row in rows[i:j]]
        i = j
    return result


def _without_headings(rows):
    begin, end, result = "", "", []
    for row in rows:
        if isinstance(row, str):
            begin, _, end = row.partition("{}")
        else:
            result.append([begin + row[0] + end, *row[1:]] if begin or end else row)
    return result


def _objects_of(table):
    rows = _without_headings(table["rows"])
    if any(len(row) > len(table["columns"]) for row in rows):
        raise ValueError("a row has more values than \"columns\" has names")
    ends, words = table.get("ends", {}), table.get("words", {})

    def whole_of(key, value):
        return ends[key][0] + value + ends[key][1] if key in ends else words[key][value] if key in words else value

    whole = [[whole_of(key, value) for key, value in zip(table["columns"], row)] for row in rows]
    objects = [{**{key: value for key, value in zip(table["columns"], row) if value is not None}, **table["same"]} for row in whole]
    for one in objects:
        one.update({key: one[other] for key, other in table.get("equal", {}).items() if other in one})
    return objects


def slope(points):
    """Of the straight line through the points, by least squares; not a number if it has none."""
    n = len(points)
    x, y = sum(p[0] for p in points) / n, sum(p[1] for p in points) / n
    width = sum((p[0] - x) ** 2 for p in points)
    return sum((p[0] - x) * (p[1] - y) for p in points) / width if width else float("nan")


def document_of(text):
    """The JSON of a result, in which the tables of compact.py are lists of objects again."""
    document = json.loads(text)
    if isinstance(document, dict):
        for key, value in document.items():
            if isinstance(value, dict) and value.keys() - {"ends", "words", "equal"} == {"same", "columns", "rows"}:
                document[key] = _objects_of(value)
    return document


def read(path, bench):
    """The JSON of a file whose "benchmarks" is a list of objects; `bench` says in errors what should have written it."""
    try:
        with open(path, encoding="utf-8") as stream:
            document = document_of(stream.read())
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
    """The results of a file; `bench` says in errors what should have written it."""
    document = read(path, bench)
    cases = {}
    for index, entry in enumerate(document["benchmarks"]):
        name = name_of(entry)
        if name is None:
            raise ResultError("%s: entry %d of \"benchmarks\" has no name; write the file anew with the bench %s and --benchmark_out"
                              % (path, index, bench))
        if entry.get("run_type") != "aggregate" or entry.get("aggregate_name") == "median":
            cases.setdefault(name, Case(name)).add(entry)
    for case in cases.values():
        case.finish()
    raw = document.get("context")
    context = {key: str(value).strip() for key, value in (raw.items() if isinstance(raw, dict) else ())
               if isinstance(value, (str, int, float)) and str(value).strip()}
    return Results(path, context, cases.values())
