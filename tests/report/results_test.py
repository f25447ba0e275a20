#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of bench/common/results.py, which reads all results, and of compact.py, which shortens them."""
import json
import pathlib
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench" / "common"))

import compact  # noqa: E402
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

    def test_a_compact_file_says_the_same_in_a_line_for_each_case(self):
        for entries in (repeated([1.0, 2.0, 3.0]), aggregates(mean=2.0, median=2.0, stddev=1.0, cv=0.5)):
            before = self.load(entries).cases[NAME]
            text = compact.compact(self.path)
            self.assertEqual(1, sum(NAME in line for line in text.splitlines()))
            read = results.load(self.write(text), "question")
            after = read.cases[NAME]
            self.assertEqual(read.context, {"gpu": "Fake GPU"})
            self.assertEqual((after.figures["ns"], after.figures["GB/s"], after.repetitions, after.figures["cv"]),
                             (before.figures["ns"], 20.2469, 3, 0.5))
            self.assertTrue(after.entries[0]["name"].endswith("/iterations:1/repeats:3/manual_time_median"))
            self.assertEqual(compact.compact(self.path), text)

    def test_a_compact_file_is_expanded_to_an_object_for_each_case(self):
        self.load(repeated([1.0, 2.0, 3.0]) + [{"name": "other", "real_time": 4, "time_unit": "us", "label": "waived: no GPU"}])
        expanded = json.loads(compact.compact(self.path, expand=True))
        self.assertEqual([(one["name"], one["real_time"], one.get("label")) for one in expanded["benchmarks"]],
                         [(NAME + "/iterations:1/repeats:3/manual_time_median", 2, None), ("other", 4, "waived: no GPU")])
        self.assertTrue(all(one["cpu_time"] == one["real_time"] for one in expanded["benchmarks"]))
        for one in expanded["benchmarks"]:
            del one["cpu_time"]
        self.assertEqual(results.read(self.write(compact.compact(self.path)), "question"), expanded)

    def test_the_time_of_the_host_stays_where_the_bench_measured_no_other(self):
        self.load([{"name": "parsing", "real_time": 4, "cpu_time": 3, "time_unit": "us"}, {**repeated([1.0])[0], "cpu_time": 3}])
        kept = results.read(self.write(compact.compact(self.path)), "question")["benchmarks"]
        self.assertEqual({one["name"].split("/")[0]: one.get("cpu_time") for one in kept}, {"parsing": 3, NAME.split("/")[0]: None})

    def test_few_texts_of_a_column_stand_once(self):
        objects = [{"name": f"n{i}", "verdict": ("seen", "not seen")[i % 2]} for i in range(16)]
        table = results.table_of(objects)
        self.assertEqual(table["words"], {"verdict": ["not seen", "seen"]})
        self.assertEqual(table["rows"][0], ["n0", 1])
        self.assertEqual(objects, results.document_of(json.dumps({"benchmarks": table}))["benchmarks"])
        self.assertNotIn("words", results.table_of(objects[:15]))

    def test_what_several_names_in_a_row_begin_with_stands_once_before_them(self):
        names = ["b/one/x", "b/one/yy", "b/one/z", "b/other/x", "c", "MP+release+acquire@one_block", "MP+release+acquire@two_blocks"]
        table = results.table_of([{"name": name, "real_time": i} for i, name in enumerate(names)])
        self.assertEqual(["b/one/", ["x", 0], ["yy", 1], ["z", 2], "", ["b/other/x", 3], ["c", 4], "MP+release+acquire@", ["one_block", 5],
                          ["two_blocks", 6]], table["rows"])
        self.assertEqual(names, [one["name"] for one in results.document_of(json.dumps({"benchmarks": table}))["benchmarks"]])

    def test_what_several_names_in_a_row_end_with_stands_around_their_place(self):
        names = ["1/stride_1/constant", "2/stride_1/constant", "3/stride_1/constant", "a/x/global", "a/y/global", "a/z", "b"]
        table = results.table_of([{"name": name, "real_time": i} for i, name in enumerate(names)])
        self.assertEqual(["{}/stride_1/constant", ["1", 0], ["2", 1], ["3", 2], "", ["a/x/global", 3], ["a/y/global", 4]], table["rows"][:7])
        self.assertEqual(names, [one["name"] for one in results.document_of(json.dumps({"benchmarks": table}))["benchmarks"]])

    def test_a_column_that_equals_another_is_named_and_left_out(self):
        objects = [{"name": f"n{i}", "real_time": i, "ns": i, "cycles": 2 * i} for i in range(3)]
        table = results.table_of(objects)
        self.assertEqual(({"ns": "real_time"}, ["name", "real_time", "cycles"]), (table["equal"], table["columns"]))
        self.assertEqual(objects, results.document_of(json.dumps({"benchmarks": table}))["benchmarks"])
        self.assertNotIn("equal", results.table_of([*objects, {"name": "n3", "real_time": 3, "cycles": 3}]))

    def test_what_all_names_begin_and_end_with_stands_once(self):
        for names, ends in ((("b/a/x/i:1", "b/c/i:1"), ["b/", "/i:1"]), (("b/b/b", "b/b"), ["b/", ""]), (("b", "b/b"), None), (("ab/x", "ac/x"), ["", "/x"])):
            objects = [{"name": name, "real_time": i} for i, name in enumerate(names)]
            table = results.table_of(objects)
            self.assertEqual(ends, table.get("ends", {}).get("name"), names)
            self.assertEqual(objects, results.document_of(json.dumps({"benchmarks": table}))["benchmarks"])

    def test_nulls_at_the_end_of_a_row_are_left_out_and_rare_columns_come_last(self):
        objects = [{"name": "a", "rare": 1, "real_time": 2}, {"name": "b", "real_time": 3}]
        table = results.table_of(objects)
        self.assertEqual((["name", "real_time", "rare"], [["a", 2, 1], ["b", 3]]), (table["columns"], table["rows"]))
        self.assertEqual(objects, results.document_of(json.dumps({"benchmarks": table}))["benchmarks"])

    def test_a_row_that_is_too_long_is_refused(self):
        with self.assertRaisesRegex(results.ResultError, 'a row has more values than "columns" has names'):
            results.load(self.write({"benchmarks": {"same": {}, "columns": ["name", "real_time"], "rows": [["a", 1, 2]]}}), "question")

    def test_what_is_recorded_is_compact(self):
        checked = 0
        for path in sorted((ROOT / "docs" / "measurements").glob("*/*.json")):
            text = path.read_text(encoding="utf-8")
            if '"benchmarks"' in text or '"plan"' in text:
                self.assertEqual(compact.compact(path), text, path)
                checked += 1
        self.assertGreater(checked, 20)


if __name__ == "__main__":
    unittest.main()
