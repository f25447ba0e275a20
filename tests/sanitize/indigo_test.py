#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests which runs bench/check/indigo.py starts, saves and resumes, with a fake artifact and a fake checker. The fake
artifact's kernels are never compiled.

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
# A shell script, because starting Python would take longer than the rest of this test.
CHECKER = r"""#!/bin/sh
folder=${0%/*}
for word; do
  case $word in
    --seed=*) seed=${word#*=} ;;
    --schedules=*) schedules=${word#*=} ;;
    *.scenario) path=$word ;;
  esac
done
kernel=${path##*/}
kernel=${kernel%%.*}
echo "$kernel $seed $schedules" >>"$folder/log"
text=$(cat "$path")
case $text in
  *"source $folder/ptx"*"grid 1024 block 256"*) ;;
  *) echo "not the artifact's launch: $text" >&2; exit 1 ;;
esac
shown=0
status=race
case $kernel in
  a_breaks) echo "it broke" >&2; exit 1 ;;
  p_syncBug) if [ -e "$folder/waits" ]; then exec sleep 1000; fi ;;
  p_atomicBug) shown=1 ;;
  p_guardBug) shown=4 ;;
  p_boundsBug) shown=1 status="out of bounds" ;;
  p_alarm) shown=2 ;;
esac
findings=
if [ "$shown" -ge "$seed" ] && [ "$shown" -lt $((seed + schedules)) ]; then findings="{\"status\": \"$status\", \"seed\": $shown}"; fi
printf '{"files": [{"file": "%s", "status": "", "schedules": %d, "seconds": %d.%02d, "findings": [%s]}]}' \
  "$path" "$schedules" $((schedules / 4)) $((schedules % 4 * 25)) "$findings"
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
        checker.write_text(CHECKER)
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
        table, _ = self.indigo("--minutes=0.02")
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
        with self.assertRaisesRegex(AssertionError, "was written with different options or by a different version"):
            self.indigo("--schedules=4")


if __name__ == "__main__":
    unittest.main()
