#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the suite is complete and that its scripts work. It needs no GPU.

usage: MEMBAR_CONFORMANCE=<program> suite_test.py [RULE...]

<program> is the suite, which lists its tests. The rules are the classes below.
"""

import contextlib
import functools
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest
from unittest import mock

import guarantees
import mutants
import table

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HEADERS = ROOT / "include" / "membar"
PROGRAM = os.environ.get("MEMBAR_CONFORMANCE")


def path_of(file):
    return (ROOT / "docs" if file.endswith(".md") else HEADERS) / file


def flat(text):
    """Returns the text on one line, without comment markers."""
    return " ".join(re.sub(r"^\s*//+", "", text, flags=re.MULTILINE).split())


@functools.lru_cache
def listed():
    return json.loads(subprocess.run([PROGRAM, "--list", "--json"], check=True, capture_output=True, text=True).stdout)


@functools.lru_cache
def held():
    """Returns the names of the guarantees."""
    return [g["test"] for g in listed()["guarantees"]]


def sentences(header):
    """Yields the sentences of a header's comments."""
    for comment in re.findall(r"(?:^[ \t]*//.*\n)+", header.read_text(), re.MULTILINE):
        yield from re.split(r"(?<=[.;:])\s+", flat(comment))


class Words(unittest.TestCase):
    """Checks that the table quotes the documentation exactly."""

    def test_the_words_of_each_row_stand_in_its_file(self):
        for row in guarantees.ROWS:
            self.assertIn(flat(row.words), flat(path_of(row.file).read_text()), row.file)

    def test_each_sentence_on_synchronizing_is_in_a_row_or_tested_elsewhere(self):
        for header in sorted([*HEADERS.glob("*.*"), *HEADERS.glob("sync/*"), *HEADERS.glob("interop/*")]):
            name = header.relative_to(HEADERS).as_posix()
            rows = [flat(row.words) for row in guarantees.ROWS if row.file == name]
            for sentence in sentences(header):
                if re.search(r"\bsynchroni[sz]es? ", sentence, re.IGNORECASE):
                    known = [words for words in rows if sentence in words or words in sentence]
                    known += [words for words in guarantees.ELSEWHERE.get(name, ()) if words in sentence]
                    self.assertTrue(known, f"guarantees.py lacks a sentence of {name}: {sentence}")

    def test_each_folder_of_headers_is_known(self):
        folders = {path.name for path in HEADERS.iterdir() if path.is_dir()}
        self.assertEqual(folders, {"sync", "interop", *guarantees.FOLDERS})

    def test_sentences_that_are_tested_elsewhere_are_still_there(self):
        for name, all_words in guarantees.ELSEWHERE.items():
            for words in all_words:
                self.assertIn(words, flat((HEADERS / name).read_text()), name)


class Rows(unittest.TestCase):
    """Checks that every test in the suite belongs to the table, and that every row of the table has tests."""

    def test_each_row_has_tests(self):
        for row, found in table.rows_of(listed()):
            self.assertTrue(found, row)

    def test_each_guarantee_of_the_suite_is_in_a_row(self):
        covered = {g["test"] for _, found in table.rows_of(listed()) for g in found}
        self.assertEqual([], [test for test in held() if test not in covered])

    def test_each_guarantee_has_a_control_and_no_test_is_both(self):
        for g in listed()["guarantees"]:
            self.assertTrue(g["controls"], g["test"])
            self.assertFalse(set(held()) & set(g["controls"]), g["test"])

    def test_the_model_forbids_each_guarantee_as_it_runs_and_allows_each_control(self):
        allowed = {t["test"]: t["allowed"] for t in listed()["tests"]}
        self.assertEqual([], [test for test in held() if allowed[test]])
        self.assertEqual([], [name for g in listed()["guarantees"] for name in g["controls"] if not allowed[name]])

    def test_each_value_that_the_model_allows_has_a_digit(self):
        self.assertEqual([], [t["test"] for t in listed()["tests"] if not t["tells_values_apart"]])

    def test_the_engine_can_count_the_outcomes_of_each_test(self):
        self.assertEqual([], [t["test"] for t in listed()["tests"] if t["outcomes"] > 4096])

    def test_each_place_has_tests(self):
        places = {test.rsplit("@", 1)[1] for test in held()}
        self.assertEqual(places, {"one_block", "one_cluster", "one_device", "two_domains", "two_devices", "host_last", "host_first",
                                  "cluster_shared", "cluster_barrier", "two_kernels"})


# How each call appears in the tests' names. The calls here have a test for each order at each scope. A call in ONE_SCOPE shares its
# function, which takes the operation as a parameter, with one of these calls, so it needs only one test with a release and one with an
# acquire, at device scope.
EACH_SCOPE = {
    "atomic.hpp": {"load": "atomic_ref.load", "store": "atomic_ref.store", "exchange": "exchange", "fetch_add": "fetch_add",
                   "compare_exchange": "compare_exchange", "add": "reduce_add", "fetch_update": "fetch_update",
                   "wait": "atomic_ref.wait"},
    "load_store.cuh": {"load": "load", "store": "store"},
    "fence.hpp": {"thread_fence": "thread_fence"},
    "fence.cuh": {},
    "aggregated.cuh": {"fetch_add": "aggregated.fetch_add", "add": "aggregated.add"},
}
ONE_SCOPE = {
    "atomic.hpp": {**{f"fetch_{name}": f"fetch_{name}" for name in ("sub", "and", "or", "xor", "min", "max", "inc", "dec")},
                   **{name: f"reduce_{name}" for name in ("sub", "min", "max", "inc", "dec")},
                   **{f"bit_{name}": f"reduce_{name}" for name in ("and", "or", "xor")}},
}
# These functions call a function that is tested.
SAME = {
    "aggregated.cuh": {"fetch_combine", "combine", "flush",
                       "fetch_inc", "fetch_dec", *(form + name for name in ("sub", "min", "max") for form in ("fetch_", "")),
                       *(form + name for name in ("and", "or", "xor") for form in ("fetch_", "bit_"))},
    "atomic.hpp": {"fetch_fminimum_num", "fetch_fmaximum_num"},  # fetch_update
    "fence.cuh": {"shared_fence", "shared_proxy_fence"},  # For shared memory only, but the engine's cells are in global memory.
}


def allowed_orders():
    """Returns the orders of each concept in memory_order.hpp."""
    text = (HEADERS / "memory_order.hpp").read_text()
    concepts = re.findall(r"concept (\w+)\s*=\s*\n?\s*order_among<Order,(.*?)>;", text, re.DOTALL)
    return {name: set(re.findall(r"memory_order::(\w+)", body)) for name, body in concepts}


def calls_of(header):
    """Yields the functions of a header that take an order, as (name, its orders)."""
    orders = allowed_orders()
    text = (HEADERS / header).read_text()
    text = text[text.index("\nnamespace membar {"):]
    text = re.sub(r"namespace detail \{.*?\n\}  // namespace detail", "", text, flags=re.DOTALL)
    text = re.sub(r"\n private:.*?\n};", "\n};", text, flags=re.DOTALL)
    if header == "atomic.hpp":
        text = text[text.index("class atomic_ref {"):text.index("class atomic {")]
    by_template = r"template <[^\n]*class(?:\.\.\.)? (?:\w*Order|Success|Said|Failure)[^\n]*>\n(.*?\n\s*\}\n)"
    by_auto = r"^([^\n/]*\bauto(?:\.\.\. said| order)\)[^\n]*\{(?:[^\n]*\}\n|\n.*?\n\s*\}\n))"
    for match in re.finditer(f"{by_template}|{by_auto}", text, re.DOTALL | re.MULTILINE):
        body = match.group(1) or match.group(2)
        name = re.search(r"(\w+)\(", re.sub(r"requires\(.*", "", body)).group(1)
        reduces = re.search(r"\breduce<|require_reduction_order|combine\(value|combine\(detail", body) and "fetch_combine(" not in body
        named = [word for word in ("load_order", "store_order", "fence_order") if f"{word}<" in body]
        concept = named[0] if named else "reduction_order" if reduces else "memory_order_tag"
        if concept != "memory_order_tag" or not name.endswith("_weak"):
            yield name, orders["memory_order_tag" if concept == "load_order" and name == "compare_exchange" else concept]


class Orders(unittest.TestCase):
    """Checks that each order of each call has a test."""

    def test_each_call_is_known(self):
        for header in EACH_SCOPE:
            known = {*EACH_SCOPE[header], *ONE_SCOPE.get(header, ()), *SAME.get(header, ())}
            found = {name for name, _ in calls_of(header)}
            self.assertEqual(set(), found - known, f"{header} has calls with an order that the suite does not test")
            self.assertEqual(set(), known - found, f"{header} has no such calls")

    def assert_tested(self, header, name, order, scope, pattern):
        """Relaxed calls do not order anything, so no guarantee can test them; the controls contain them."""
        tests = (t["test"] for t in listed()["tests"]) if order == "relaxed" else held()
        self.assertTrue(any(re.search(pattern, t) for t in tests), f"no test of {header}: {name}({order}) at {scope} scope")

    def test_each_order_of_each_call_has_a_test_at_each_scope(self):
        for header, spellings in EACH_SCOPE.items():
            for name, orders in calls_of(header):
                for order in orders if name in spellings else ():
                    for scope in ("block", "cluster", "device", "system"):
                        pattern = rf"[+-]{re.escape(spellings[name])}\.({order}|\w+\.{order}|{order}\.\w+)\.{scope}\b"
                        self.assert_tested(header, name, order, scope, pattern)

    def test_the_other_calls_have_a_test_of_a_release_and_of_an_acquire(self):
        for header, spellings in ONE_SCOPE.items():
            for name, orders in calls_of(header):
                for order in orders & {"release", "acquire"} if name in spellings else ():
                    self.assert_tested(header, name, order, "device", rf"[+.-]{spellings[name]}\.{order}\.device\b")


class Mutants(unittest.TestCase):
    """Checks that the mutants can be applied to the current headers."""

    def test_each_patch_applies_once_and_changes_the_header(self):
        for mutant in mutants.MUTANTS:
            self.assertNotEqual(mutants.patched(mutant), (HEADERS / mutant.header).read_text(), mutant.name)

    def test_each_has_a_unique_name_and_parts_of_the_suite(self):
        self.assertEqual(len(mutants.MUTANTS), len({mutant.name for mutant in mutants.MUTANTS}))
        self.assertEqual([], [(m.name, part) for m in mutants.MUTANTS for part in m.parts if not (HERE / f"{part}.cu").exists()])

    def test_text_that_is_not_there_once_is_refused(self):
        first = mutants.MUTANTS[0]
        for old in ("no such text", "memory_order"):
            with self.assertRaisesRegex(SystemExit, r"but contains it \d+ times"):
                mutants.patched(mutants.Mutant("fake", "", first.header, old, "", ()))

    def test_kernels_are_found_by_the_type_of_their_test(self):
        tests = [{"test": "one", "type": "N11conformance4testILi1EEE"}, {"test": "two", "type": "N11conformance4testILi2EEE"}]
        for kernel in ("_ZN6membar4v0_36litmus13run_instancesINS1_11kernel_testIN11conformance4testILi2EEEEEEEvNS1_11launch_viewE",
                       "_ZN11conformance20run_in_shared_memoryIN6membar4v0_36litmus11kernel_testINS_4testILi2EEEEEEEvNS3_11launch_viewE"):
            self.assertEqual(["two"], mutants.tests_of([kernel], {"tests": tests}))

    @staticmethod
    def campaign(*lines, skipped=()):
        """Creates a campaign of guarantees g1, g2, ... from (control, guarantees, rate, parameters)."""
        tests = [{"test": name, "verdict": "observed", "weak": rate, "rate": rate, "parameters": text} for name, _, rate, text in lines]
        tests += [{"test": name, "verdict": "skipped", "weak": 0, "rate": 0, "parameters": ""} for name in skipped]
        names = sorted({g for _, held, _, _ in lines for g in held})
        return {"tests": tests, "guarantees": [{"test": g, "controls": [c for c, held, _, _ in lines if g in held]} for g in names]}

    def test_parameters_are_of_the_controls_of_the_mutants_own_tests(self):
        told = mutants.merged([self.campaign(("c1", ("g1",), 1, "a"), ("c2", ("g1", "g2"), 9, "b"), ("c3", ("g2",), 5, "b"),
                                             ("c4", ("g3",), 99, "c"), ("c5", ("g1",), 0, "d"))])
        self.assertEqual(["b", "a"], mutants.best_parameters(["g1", "g2"], told, 4))
        self.assertEqual(["c"], mutants.best_parameters(["g3"], told, 4))
        self.assertEqual([], mutants.best_parameters(["unknown"], told, 4))

    def test_a_campaign_chooses_tests_that_run_and_whose_controls_showed_most(self):
        told = mutants.merged([self.campaign(("c1", ("g1",), 1, "a"), ("c2", ("g2",), 9, "b"), ("c3", ("g3",), 99, "c"), skipped=["g3"])])
        self.assertEqual(["g2", "g1"], mutants.few_of(["g0", "g1", "g2", "g3"], 2, 8, told))
        self.assertEqual(["g3"], mutants.few_of(["g3"], 2, 8, told))  # The message says what is missing.

    def test_results_of_several_runs_are_one_campaign(self):
        told = mutants.merged([self.campaign(("c1", ("g1",), 1, "a"), skipped=["g1"]), self.campaign(("c1", ("g2",), 5, "b"))])
        self.assertEqual("b", told["tests"]["c1"]["parameters"])
        self.assertEqual({"g1": ["c1"], "g2": ["c1"]}, told["guarantees"])

    def test_without_a_campaign_the_machine_counts_and_host_threads_come_last(self):
        tests = ["a@host_last", "a@one_device", "a@two_devices", "b@one_device"]
        self.assertEqual(["a@one_device", "b@one_device", "a@host_last"], mutants.few_of(tests, 3, 1))
        self.assertEqual(["a@one_device", "a@two_devices"], mutants.few_of(tests[:3], 2, 2))
        self.assertEqual(["a@two_devices"], mutants.few_of(["a@two_devices"], 2, 1))

    def test_a_run_reports_what_was_revealed_what_was_not_and_what_could_not_run(self):
        tests = {"revealed": {"instances": 10, "forbidden": 2, "reason": "2 of x=1;"}, "never": {"instances": 10, "forbidden": 0},
                 "lacking": {"instances": 0, "forbidden": 0, "reason": "no such place"}}
        # A fake program that prints the file of --tests, and copies its results to the file of --json.
        program = ("#!/bin/sh\nfor word; do case $word in --json=*) cp \"${0%/*}/results\" \"${word#--json=}\";; "
                   "--tests=*) cat \"${word#--tests=}\";; esac; done\n")
        folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        for name, counts in tests.items():
            (folder / name).mkdir()
            results = {"context": {"gpu": "Fake 1"}, "tests": [{"test": "a", "reason": "", **counts}]}
            for file, text in (("tests.txt", "a\nb\nc\n"), ("results", json.dumps(results)), ("conformance", program)):
                (folder / name / file).write_text(text)
            (folder / name / "conformance").chmod(0o755)
        fake_mutants = [mutants.Mutant(name, f"{name} it is", "a.cuh", "", "", ()) for name in tests]
        command = ["mutants.py", "run", str(folder), "--most", "2", "--json", str(folder / "all.json")]
        with mock.patch.object(mutants, "MUTANTS", fake_mutants), mock.patch.object(sys, "argv", command), \
                contextlib.redirect_stdout(io.StringIO()) as said:
            self.assertEqual(0, mutants.main())
        self.assertIn("1 of 2 mutants that ran were detected; 1 could not run here", said.getvalue())
        rows = {row["mutant"]: row for row in json.loads((folder / "all.json").read_text())["mutants"]}
        self.assertEqual({"revealed": True, "never": False, "lacking": False}, {name: row["revealed"] for name, row in rows.items()})
        self.assertEqual(("a", 2), (rows["revealed"]["by"], rows["revealed"]["forbidden"]))
        self.assertEqual("no such place", rows["lacking"]["reason"])
        self.assertEqual("a\nb\n", (folder / "never" / "few.txt").read_text())

    def test_few_tests_are_spread_over_the_list(self):
        self.assertEqual([0, 3, 6], mutants.spread(list(range(9)), 3))
        self.assertEqual([1, 2], mutants.spread([1, 2], 3))


def fake_results(folder):
    """Creates a fake campaign and a fake hunt, in which one guarantee is broken and one control was not observed."""
    rows = listed()["guarantees"]
    tests = [{"test": rows[0]["test"], "role": "guarantee", "instances": 2_000_000, "weak": 7, "forbidden": 7}]
    here = next(control for control in rows[0]["controls"] if table.place_of(control) == table.place_of(rows[0]["test"]))
    tests += [{"test": control, "role": "control", "instances": 1_000_000, "weak": 250 if control == here else 0, "forbidden": 0}
              for control in rows[0]["controls"]]
    context = {"include": "0123abc", "command": "conformance --fake", "gpu": "Fake 1", "gpu_count": "1", "driver": "0.1", "cuda_runtime": "13.0", "date": "2000-01-01"}
    campaign, hunt = folder / "campaign.json", folder / "hunt.json"
    campaign.write_text(json.dumps({"context": context, "plan": {"seed": 5}, "tests": tests, "guarantees": rows[:1]}))
    row = {"says": "", "header": "", "seconds": 1.25, "forbidden": 3, "instances": 4_000_000, "reason": "", "by": "a test"}
    hunt.write_text(json.dumps({"context": context, "mutants": [
        {**row, "mutant": mutants.MUTANTS[0].name, "revealed": True}, {**row, "mutant": mutants.MUTANTS[1].name, "revealed": False},
        {**row, "mutant": mutants.MUTANTS[2].name, "revealed": False, "instances": 0, "reason": "one | two"}]}))
    return campaign, hunt


class Table(unittest.TestCase):
    """Checks that the page's tables show the values from the JSON."""

    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.page = self.folder / "page.md"
        marks = ("machines", "guarantees", "places", "controls", "mutants", "not run")
        self.page.write_text("head\n" + "\n".join(f"<!-- table.py: {mark} -->\n<!-- end -->" for mark in marks) + "\ntail\n")
        self.list = self.folder / "list.json"
        self.list.write_text(json.dumps(listed()))

    def call(self, *options):
        quiet = contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO())
        with quiet[0], quiet[1], mock.patch.object(sys, "argv", ["table.py", "--page", str(self.page), *options, str(self.list)]):
            return table.main()

    def test_without_results_everything_is_not_measured_yet(self):
        # A file without tests, used in place of the repository's file.
        nothing = self.folder / "nothing.json"
        nothing.write_text(json.dumps({"mutants": []}))
        self.assertEqual(0, self.call("--results", str(nothing)))
        text = self.page.read_text()
        self.assertTrue(text.startswith("head\n") and text.endswith("tail\n"))
        self.assertEqual(text.count("not measured yet"), 2 + 4 * len(guarantees.ROWS) + 3 * 10 + len(mutants.MUTANTS))

    def test_results_are_summed_and_stated(self):
        campaign, hunt = fake_results(self.folder)
        self.assertEqual(0, self.call("--results", str(campaign), "--results", str(hunt)))
        text = self.page.read_text().replace("0.00025", "2.5e-04")
        self.assertRegex(text, r"\|2e06, 1 of \d+ tests\|7\|1 of 1\|0\|")
        for words in ("|`conformance --fake`|0123abc|1 × Fake 1|0.1|13.0|2000-01-01|", "detected after 1.2 s and 4e06 instances, by `a test`",
                      "not detected in 1.2 s and 4e06 instances", "not run: one \\| two", "2.5e-04"):
            self.assertIn(words, text)

    def test_a_control_of_another_place_is_counted_apart(self):
        row = {"test": "MP+a@one_block", "controls": ["MP+b@one_block", "MP+a@one_device"]}
        told = {"context": {}, "tests": [{"test": name, "instances": 9, "weak": weak, "forbidden": 0}
                                         for name, weak in (("MP+b@one_block", 0), ("MP+a@one_device", 5))]}
        file = self.folder / "far.json"
        file.write_text(json.dumps(told))
        results = table.Results([file])
        self.assertEqual((False, True), (results.seen(row), results.seen_elsewhere(row)))
        told["tests"][0]["weak"] = 1
        file.write_text(json.dumps(told))
        results = table.Results([file])
        self.assertEqual((True, False), (results.seen(row), results.seen_elsewhere(row)))

    def test_a_page_that_is_out_of_date_is_reported(self):
        campaign, _ = fake_results(self.folder)
        self.assertEqual(1, self.call("--check", "--results", str(campaign)))
        self.call("--results", str(campaign))
        self.assertEqual(0, self.call("--check", "--results", str(campaign)))

    def test_a_page_without_marks_is_refused(self):
        self.page.write_text("nothing")
        with self.assertRaisesRegex(SystemExit, "exactly once"):
            self.call()


class Page(unittest.TestCase):
    """Checks that the tables in docs/conformance.md are up to date."""

    def test_the_page_is_up_to_date(self):
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file, mock.patch.object(sys, "argv", ["table.py", "--check", file.name]):
            json.dump(listed(), file)
            file.flush()
            self.assertEqual(0, table.main())


class Program(unittest.TestCase):
    """Checks that the program rejects invalid options with a reason."""

    def call(self, *options):
        return subprocess.run([PROGRAM, *options], capture_output=True, text=True)

    def test_bad_options(self):
        for option, words in (("--seconds=x", "a number of at least"), ("--instances=0", "a number of at least"),
                              ("--filter=[", "is not a regular expression"), ("--only=all", "write guarantees or controls"),
                              ("--hunt=1 --tune=1", "--tune searches on controls"),
                              ("--tests=/no/such/file", "cannot be read"), ("--what", "is not an option"),
                              ("--parameters=width=7", "membar:"), ("--instances=nan", "a number of at least"),
                              ("--instances=inf", "a number of at least"), ("--instances=1e30", "at most 1e+18"),
                              ("--hunt=inf", "a number of at least"), ("--test=no such test", "no test has this name: see --list"),
                              ("--filter=^no such test$", "no guarantee matches --filter=^no such test$: see --list")):
            with self.subTest(option):
                done = self.call(*re.split(" (?=--)", option))
                self.assertEqual(2, done.returncode)
                self.assertIn(words, done.stderr)

    def test_the_error_of_a_filter_with_a_plus_names_another_option(self):
        done = self.call("--filter=^message_passing/MP+store", "--list")
        self.assertEqual((2, True), (done.returncode, "--test=NAME" in done.stderr))

    def test_a_guarantee_and_a_control_can_be_named(self):
        row = listed()["guarantees"][0]
        for name in (row["test"], row["controls"][0]):
            self.assertEqual(0, self.call("--list", f"--test={name}").returncode)

    def test_a_list_can_be_filtered(self):
        done = self.call("--list", "--filter=^coherence/.*@one_block$")
        self.assertEqual(0, done.returncode)
        rows = [line for line in done.stdout.splitlines() if line.startswith("coherence/")]
        self.assertTrue(rows)
        self.assertTrue(all(row.endswith("@one_block") for row in rows))
        self.assertEqual(f"{len(rows)} guarantees", done.stdout.splitlines()[-1])


if __name__ == "__main__":
    unittest.main(verbosity=2)
