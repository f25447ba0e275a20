#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests of `membar-check lint` on kernels.cu: lint_test.py MEMBAR_CHECK KERNELS.CU FOLDER"""
import json
import os
import pathlib
import subprocess
import sys
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "check"))
import sarif  # noqa: E402

command, kernels, folder = sys.argv[1:4]
PTX = pathlib.Path(folder) / "kernels.ptx"

# The rule of each kernel that breaks one, and how sure the warning is. A kernel that is not here breaks none.
WARNINGS = {
    "wrong_flag_of_thread_0": ("flag-before-barrier", "high"),
    "wrong_flags_of_first_threads": ("flag-before-barrier", "high"),
    "wrong_volatile_wait": ("spin-without-acquire", "high"),
    "wrong_fence_before_the_loop": ("spin-without-acquire", "high"),
    "wrong_relaxed_flag": ("flag-without-release", "high"),
    "wrong_fence_after_the_flag": ("flag-without-release", "high"),
    "wrong_last_block": ("last-block-without-acquire", "high"),
    "wrong_scope_of_one_side": ("narrow-scope", "medium"),
    "wrong_copy_of_stores": ("missing-proxy-fence", "high"),
    "wrong_early_exit": ("cluster-exit", "high"),
    "wrong_relaxed_arrival": ("relaxed-cluster-arrival", "medium"),
    "wrong_read_only_load": ("read-only-load", "high"),
    "wrong_half_mask": ("mask-without-caller", "medium"),
    "wrong_early_write": ("pdl-write-before-wait", "high"),
    "wrong_wait_of_one_warp": ("pdl-write-before-wait", "high"),
}


def lint(*words, status=None):
    ran = subprocess.run([command, "lint", *words], capture_output=True, text=True)
    if status is not None:
        assert ran.returncode == status, (ran.returncode, ran.stdout, ran.stderr)
    return ran


def warnings(*words):
    return json.loads(lint("--format=json", *words).stdout)["warnings"]


def name_of(warning):
    return warning["kernel"].split("(")[0]


class Lint(unittest.TestCase):
    def test_every_kernel_has_the_warning_of_its_rule_and_no_other(self):
        report = json.loads(lint("--format=json", str(PTX), status=1).stdout)
        self.assertEqual({name_of(w): (w["rule"], w["confidence"]) for w in report["warnings"]}, WARNINGS)
        self.assertEqual(len(report["warnings"]), len(WARNINGS))
        self.assertEqual((report["format"], report["format_version"], report["not_read"], report["errors"]), ("membar-check lint", 1, [], []))
        self.assertEqual(report["kernels"], pathlib.Path(kernels).read_text().count("__global__"))

    def test_every_rule_has_a_kernel_that_breaks_it_and_a_section_of_the_page(self):
        listed = {line.split("\t")[0] for line in lint("--rules", status=0).stdout.splitlines()}
        self.assertEqual(listed, {rule for rule, _ in WARNINGS.values()} | {"pdl-read-before-wait"})
        page = (pathlib.Path(kernels).parents[2] / "docs/lint.md").read_text()
        self.assertEqual(listed, {line[4:] for line in page.splitlines() if line.startswith("### ")})

    def test_notes_are_shown_if_asked_for(self):
        noted = {name_of(w) for w in warnings("--show=note", str(PTX)) if w["confidence"] == "note"}
        self.assertIn("noted_early_read", noted)
        self.assertNotIn("right_late_write", noted)

    def test_fail_on_sets_what_is_a_failure(self):
        clean = pathlib.Path(folder) / "clean.ptx"
        source = PTX.read_text()
        begin = source.index(".visible .entry", source.index("right_list") - 200)
        clean.write_text(source[:source.index(".visible .entry")] + source[begin:source.index("\n}\n", begin) + 3])
        lint(str(clean), status=0)
        lint("--show=note", "--fail-on=note", str(PTX), status=1)
        medium = pathlib.Path(folder) / "medium.allow"
        medium.write_text("".join(f"{rule} kernels.cu  # of this file\n" for rule, sure in WARNINGS.values() if sure == "high"))
        lint(f"--allow={medium}", str(PTX), status=0)
        lint(f"--allow={medium}", "--fail-on=medium", str(PTX), status=1)

    def test_the_text_names_the_line_of_the_kernel_and_the_others(self):
        text = lint(str(PTX)).stdout
        line = next(k for k, l in enumerate(pathlib.Path(kernels).read_text().splitlines(), 1) if "flag_t(*flag).store(1, cuda::memory_order_release)" in l)
        self.assertIn(f"kernels.cu:{line} (", text)
        self.assertIn("what all threads write: ", text)
        self.assertRegex(text, r"\n\d+ kernels, 12 high, 3 medium, 1 allowed\n$")

    def test_sarif_has_each_warning_with_its_line_and_what_it_is_about(self):
        document = json.loads(lint("--format=sarif", str(PTX), status=1).stdout)
        self.assertTrue(sarif.is_valid(document, pathlib.Path.cwd()), document)
        results = document["runs"][0]["results"]
        self.assertEqual(sorted((r["properties"]["kernel"].split("(")[0], r["ruleId"]) for r in results), sorted((k, rule) for k, (rule, _) in WARNINGS.items()))
        levels = {"high": "error", "medium": "warning"}
        self.assertEqual({r["properties"]["kernel"].split("(")[0]: r["level"] for r in results}, {k: levels[sure] for k, (_, sure) in WARNINGS.items()})
        flag = next(r for r in results if r["properties"]["kernel"].startswith("wrong_flag_of_thread_0"))
        at = flag["locations"][0]["physicalLocation"]
        self.assertTrue(at["artifactLocation"]["uri"].endswith("kernels.cu"))
        self.assertEqual([one["message"]["text"] for one in flag["relatedLocations"]], ["what all threads write"])
        broken = json.loads(lint("--format=sarif", str(self.library()), status=2).stdout)["runs"][0]
        self.assertFalse(broken["invocations"][0]["executionSuccessful"])
        self.assertEqual(broken["results"], [])

    @staticmethod
    def library():
        other = pathlib.Path(folder) / "library.so"
        other.write_bytes(b"\x7fELF")
        return other

    def test_any_number_of_jobs_reports_the_same(self):
        files = []
        for number in range(7):
            files.append(pathlib.Path(folder) / f"part_{number}.ptx")
            files[-1].write_text(PTX.read_text())
        words = ["--format=json", *map(str, files)]
        alone = lint("--jobs=1", *words, status=1).stdout
        self.assertEqual(lint("--jobs=5", *words, status=1).stdout, alone)
        self.assertIn("--jobs", lint("--jobs=0", *words, status=2).stderr)

    def test_a_file_that_cannot_be_read_is_said_and_the_others_are_linted(self):
        ran = lint(str(self.library()), str(PTX), status=2)
        self.assertIn("is neither .ptx nor .cu: extract the PTX", ran.stderr)
        self.assertIn("flag-before-barrier", ran.stdout)
        self.assertIn("does not exist", lint("nothing.ptx", status=2).stderr)
        self.assertIn("lint needs files or folders", lint(status=2).stderr)
        wrong = pathlib.Path(folder) / "wrong.allow"
        wrong.write_text("no-such-rule kernel\n")
        self.assertIn("which is no rule", lint(f"--allow={wrong}", str(PTX), status=2).stderr)

    def test_a_folder_stands_for_the_files_in_it(self):
        inner = pathlib.Path(folder) / "tree" / "inner"
        inner.mkdir(parents=True, exist_ok=True)
        (inner / "kernels.ptx").write_text(PTX.read_text())
        self.assertEqual(len(warnings(str(inner.parent))), len(WARNINGS))


if __name__ == "__main__":
    os.makedirs(folder, exist_ok=True)
    subprocess.run([*sys.argv[4:], "-ptx", "-arch=sm_90", "-lineinfo", "-o", str(PTX), kernels], check=True)
    unittest.main(argv=sys.argv[:1])
