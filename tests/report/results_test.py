#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests bench/common/results.py, which reads and writes all results, and keep.py, which makes the results in docs/measurements."""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "common"))

import include_hash  # noqa: E402
import keep  # noqa: E402
import results  # noqa: E402

NAME = "question/arm/threads:32/bytes:16"


def repeated(times, **more):
    return [{"name": NAME + "/iterations:1/repeats:3/manual_time", "run_name": NAME + "/iterations:1/repeats:3/manual_time",
             "run_type": "iteration", "family_index": 0, "repetitions": len(times), "real_time": time, "cpu_time": 1.0, "time_unit": "us",
             "GB/s": 10.123456789 * time, **more} for time in times]


def aggregates(**values):
    return [dict(repeated([value])[0], name=f"{NAME}/iterations:1/repeats:3/manual_time_{which}", run_type="aggregate",
                 aggregate_name=which, repetitions=3) for which, value in values.items()]


class ResultFiles(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name, "r.json")

    def write(self, document):
        self.path.write_text(document if isinstance(document, str) else json.dumps(document), encoding="utf-8")
        return self.path

    def load(self, entries):
        return results.load(self.write({"context": {"gpu": "Fake GPU"}, "benchmarks": entries}), "question")

    def test_the_name_of_a_case_is_without_how_it_was_run(self):
        self.assertEqual([NAME], list(self.load(repeated([1.0])).cases))
        self.assertEqual(["rate/MP"], list(self.load([{"name": "rate/MP/iterations:1/min_time:0.5/real_time"}]).cases))

    def test_medians_are_those_of_the_file_or_of_its_repetitions(self):
        for entries in (repeated([1.0, 2.0, 9.0]), aggregates(mean=4.0, median=2.0, cv=1.1),
                        repeated([7.0]) + aggregates(mean=4.0, median=2.0)):
            case = self.load(entries).cases[NAME]
            self.assertEqual((case.figures["ns"], case.figures["GB/s"]), (2000.0, 20.246913578))

    def test_waived_and_failed_cases_are_told_apart(self):
        read = self.load([{"name": "a", "label": "waived: no GPU"}, {"name": "b", "error_occurred": True, "error_message": "late"},
                          {"name": "c", "skipped": True, "skip_message": "no peer"}, {"name": "d", "real_time": 1.0, "time_unit": "ns"}])
        self.assertEqual([(case.waived, case.failed) for case in read.cases.values()],
                         [("no GPU", None), (None, "late"), ("no peer", None), (None, None)])
        self.assertEqual((list(read.measured), read.waivers), (["d"], ["no GPU", "no peer"]))

    def test_what_is_no_result_is_refused_in_a_sentence(self):
        for document in ("no json", "[]", {}, {"benchmarks": {}}, {"benchmarks": [1]}, {"benchmarks": [{}]}):
            with self.assertRaises(results.ResultError) as refused:
                results.load(self.write(document), "question")
            self.assertIn(str(self.path), str(refused.exception))
        with self.assertRaises(results.MissingFile):
            results.load(self.path.with_name("none.json"), "question")

    def test_a_kept_file_has_the_median_and_its_spread_in_a_line_for_each_case(self):
        for entries in (repeated([1.0, 2.0, 3.0]), aggregates(mean=2.0, median=2.0, stddev=1.0, cv=0.5)):
            before = self.load(entries).cases[NAME]
            text = keep.kept(self.path)
            line, = [line for line in text.splitlines() if NAME in line]
            entry = json.loads(line)
            self.assertEqual(["name", "real_time", "time_unit", "cv", "repetitions"], list(entry)[:5])
            self.assertEqual((2.0, "us", 0.5, 3), tuple(entry[key] for key in ("real_time", "time_unit", "cv", "repetitions")))
            read = results.load(self.write(text), "question")
            after = read.cases[NAME]
            self.assertEqual(read.context, {"gpu": "Fake GPU"})
            self.assertEqual(after.figures, {"ns": before.figures["ns"], "GB/s": before.figures["GB/s"], "cv": 0.5})
            self.assertTrue(after.entries[0]["name"].endswith("/iterations:1/repeats:3/manual_time_median"))
            self.assertEqual(keep.kept(self.path), text)

    def test_a_kept_file_keeps_all_digits(self):
        self.load(aggregates(median=1234.56789012345, cv=0.0123456789))
        self.assertEqual([(1234.56789012345, 0.0123456789)],
                         [(one["real_time"], one["cv"]) for one in results.read(self.write(keep.kept(self.path)), "question")["benchmarks"]])

    def test_the_time_of_the_host_stays_where_the_bench_measured_no_other(self):
        self.load([{"name": "parsing", "real_time": 4, "cpu_time": 3, "time_unit": "us"}, {**repeated([1.0])[0], "cpu_time": 3}])
        kept = results.read(self.write(keep.kept(self.path)), "question")["benchmarks"]
        self.assertEqual({one["name"].split("/")[0]: one.get("cpu_time") for one in kept}, {"parsing": 3, NAME.split("/")[0]: None})

    def test_the_machine_is_kept_without_the_name_of_its_host(self):
        self.write({"context": {"gpu": "Fake GPU", "host_name": "secret", "load_avg": [1]}, "benchmarks": repeated([1.0])})
        self.assertEqual({"gpu": "Fake GPU"}, json.loads(keep.kept(self.path))["context"])

    def test_a_text_has_a_line_for_each_case_and_each_object_that_fits_in_one(self):
        document = {"context": {"gpu": "Fake", "text": "x" * results.WIDTH}, "benchmarks": [{"name": "a" * 200, "b": {"c": [1, 2]}}, {"name": "b"}],
                    "small": {"p50": 1, "p99": 2}, "none": []}
        text = results.text_of(document)
        self.assertEqual({"format_version": results.FORMAT_VERSION, **document}, json.loads(text))
        self.assertEqual(text, results.text_of(json.loads(text)))
        lines = text.splitlines()
        self.assertIn('  {"name": "' + "a" * 200 + '", "b": {"c": [1, 2]}},', lines)
        self.assertIn('  {"name": "b"}', lines)
        self.assertIn('  "gpu": "Fake",', lines)
        self.assertIn(' "small": {"p50": 1, "p99": 2},', lines)

    def test_a_file_of_another_version_is_refused(self):
        with self.assertRaisesRegex(results.ResultError, "format_version is 2, but only 1 is supported"):
            results.load(self.write({"format_version": 2, "benchmarks": []}), "question")

    @unittest.skipUnless(shutil.which("git"), "git names the hashes")
    def test_the_hash_of_a_folder_is_the_one_that_git_names(self):
        folder = self.path.parent / "include"
        for name, text in (("b/c.hpp", "1\n"), ("b.hpp", "2\n"), ("b-c.hpp", ""), ("run.py", "3\n")):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        (folder / "run.py").chmod(0o755)
        for command in (("init", "-q"), ("-c", "core.fileMode=true", "add", ".")):
            subprocess.run(["git", *command], cwd=folder, check=True)
        tree = subprocess.run(["git", "write-tree"], cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
        shutil.rmtree(folder / ".git")
        (folder / "__pycache__").mkdir()
        self.assertEqual(tree, include_hash.tree_hash(folder).hexdigest())

    def test_what_is_recorded_is_plain(self):
        """Each case has a line with its full name. For a bench, the line also has the median, the unit and, if the case was repeated, the
        spread."""
        checked = 0
        for path in sorted((ROOT / "docs" / "measurements").rglob("*.json")):
            with self.subTest(path.relative_to(ROOT).as_posix()):
                text = path.read_text(encoding="utf-8")
                document = json.loads(text)
                self.assertEqual(results.FORMAT_VERSION, document["format_version"])
                self.assertEqual(results.text_of(document), text)
                for case in document.get("benchmarks", ()):
                    checked += 1
                    self.assertTrue({"real_time", "time_unit"} <= case.keys() or {"runs", "wrong", "hangs"} <= case.keys(), case)
                    if case.get("repetitions", 1) > 1 and case["real_time"]:
                        self.assertTrue({"cv", "interval", "spread"} & case.keys(), case)
                for case in document.get("tests", ()):
                    checked += 1
                    self.assertTrue({"test", "role", "verdict", "instances", "weak", "forbidden"} <= case.keys(), case)
                    self.assertTrue(re.search(r"\+.*@\w+$", case["test"]), case)
        self.assertGreater(checked, 3000)


if __name__ == "__main__":
    unittest.main()
