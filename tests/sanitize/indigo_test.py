#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests what bench/check/indigo.py runs, saves and resumes, with a fake artifact and a fake checker. The fake artifact's
kernels are never compiled.

usage: indigo_test.py
"""

import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
GRAPH = "DAG_5n_5e"
CHECKER = """#!{python}
import json, pathlib, signal, sys
folder = pathlib.Path(__file__).parent
options, paths = [w for w in sys.argv[1:] if w.startswith("--")], [w for w in sys.argv[1:] if w.endswith(".scenario")]
seed, schedules = (int(o.split("=")[1]) for name in ("--seed", "--schedules") for o in options if o.startswith(name))
kernel = pathlib.Path(paths[0]).name.split(".")[0]
with open(folder / "log", "a") as log:
    print(kernel, seed, schedules, file=log)
text = pathlib.Path(paths[0]).read_text()
if "grid 1024 block 256" not in text or "source " + str(folder / "ptx") not in text:
    sys.exit("not the artifact's launch: " + text)
if kernel == "a_breaks":
    sys.exit("it broke")
if (folder / "waits").exists() and kernel == "p_syncBug":
    signal.pause()
shown = {{"p_atomicBug": (1, "race"), "p_guardBug": (4, "race"), "p_boundsBug": (1, "out of bounds"), "p_alarm": (2, "race")}}.get(kernel)
findings = [{{"status": shown[1], "seed": shown[0]}}] if shown and seed <= shown[0] < seed + schedules else []
print(json.dumps({{"files": [{{"file": paths[0], "status": "", "schedules": schedules, "seconds": 0.25 * schedules, "findings": findings}}]}}))
"""


class Indigo(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory()
        self.addCleanup(held.cleanup)
        self.folder = pathlib.Path(held.name).resolve()
        sources = self.folder / "indigo/indigo_sources/p"
        for folder in (sources, self.folder / "indigo/input", self.folder / "ptx"):
            folder.mkdir(parents=True)
        for name in ("p", "p_atomicBug", "p_guardBug", "p_boundsBug", "p_syncBug"):
            (sources / f"{name}.cu").touch()
        (self.folder / "ptx/p.ptx").touch()
        (self.folder / f"indigo/input/{GRAPH}.egr").write_bytes(struct.pack("<7i", 2, 2, 0, 1, 2, 1, 0))
        checker = self.folder / "checker"
        checker.write_text(CHECKER.format(python=sys.executable))
        checker.chmod(0o700)

    def indigo(self, *options):
        """Runs the script. Returns the table and the runs: kernel, first seed, schedules."""
        log = self.folder / "log"
        log.unlink(missing_ok=True)
        done = subprocess.run([sys.executable, ROOT / "bench/check/indigo.py", self.folder, f"--checker={self.folder / 'checker'}", "--jobs=2",
                               f"--ptx={self.folder / 'ptx'}", f"--out={self.folder / 'r.json'}", *options], capture_output=True, text=True, timeout=60)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout, sorted(log.read_text().splitlines()) if log.exists() else []

    def row(self, table):
        return next(line for line in table.splitlines() if line.startswith(f"| {GRAPH} |"))

    def test_a_kernel_is_not_run_again_after_a_race(self):
        _, runs = self.indigo()
        self.assertEqual(runs, ["p 1 1", "p 2 9", "p_atomicBug 1 1", "p_boundsBug 1 1", "p_boundsBug 2 9", "p_guardBug 1 1", "p_guardBug 2 9",
                                "p_syncBug 1 1", "p_syncBug 2 9"])

    def test_the_table_counts_one_schedule_and_all(self):
        table, _ = self.indigo()
        self.assertEqual(self.row(table), f"| {GRAPH} | 1 of 3 | 2 of 3 | 182 | 118 | 92 | 0 of 2 | 0.25 |")

    def test_a_race_in_a_race_free_kernel_is_an_alarm(self):
        (self.folder / "indigo/indigo_sources/p/p_alarm.cu").touch()
        table, _ = self.indigo()
        self.assertIn("| 1 of 3 | 0.25 |", self.row(table))

    def test_the_same_command_runs_only_what_is_missing(self):
        self.indigo("--every=2")
        table, runs = self.indigo()
        self.assertEqual(runs, ["p_atomicBug 1 1", "p_guardBug 1 1", "p_guardBug 2 9"])
        again, runs = self.indigo()
        self.assertEqual((again, runs), (table, []))

    def test_schedules_after_the_first_are_added_to_it(self):
        self.indigo()
        kept = json.loads((self.folder / "r.json").read_text())["kernels"]["p_guardBug"][GRAPH]
        self.assertEqual(kept, {"found": ["race"], "schedules": 10, "seconds": 0.25, "seed": 4})

    def test_a_run_ends_with_the_time_and_is_not_counted(self):
        waiting = self.folder / "indigo/indigo_sources/p/p_syncBug.cu"
        waiting.unlink()
        self.indigo()
        waiting.touch()
        (self.folder / "waits").touch()
        table, _ = self.indigo("--minutes=0.05")
        self.assertIn("1 of 5 pairs of a kernel and a graph have not been run in all schedules. They are not in this table.", table)
        self.assertIn("| 1 of 2 | 2 of 2 |", self.row(table))
        (self.folder / "waits").unlink()
        table, runs = self.indigo()
        self.assertEqual(runs, ["p_syncBug 1 1", "p_syncBug 2 9"])
        self.assertIn("| 1 of 3 | 2 of 3 |", self.row(table))

    def test_no_run_starts_that_would_pass_the_time(self):
        table, runs = self.indigo("--minutes=0")
        self.assertEqual(runs, [])
        self.assertIn("5 of 5 pairs", table)

    def test_an_error_is_reported_and_stops_no_other_run(self):
        (self.folder / "indigo/indigo_sources/p/a_breaks.cu").touch()
        with self.assertRaisesRegex(AssertionError, "a_breaks on DAG_5n_5e: it broke"):
            self.indigo()
        self.assertEqual(len(json.loads((self.folder / "r.json").read_text())["kernels"]), 5)

    def test_results_of_other_options_are_not_continued(self):
        self.indigo()
        with self.assertRaisesRegex(AssertionError, "was written with other options or by another version"):
            self.indigo("--schedules=4")


if __name__ == "__main__":
    unittest.main()
