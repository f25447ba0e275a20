#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the reports in docs/measurements are those that their scripts generate from the results next to them."""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from written_report import report_page, written_report

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"
MEASUREMENTS = DOCS / "measurements"


def lines(text):
    return [line for line in text.splitlines() if line and "![" not in line and line != report_page.NO_PICTURES]


class RecordedPages(unittest.TestCase):
    def test_the_pages_are_what_the_reports_make_of_their_results(self):
        for script, page in (("atomics", "h200/atomics.md"), ("caches", "h200/caches.md"), ("symmetric", "h100-x2/symmetric.md")):
            text = (MEASUREMENTS / page).read_text(encoding="utf-8")
            results = [(MEASUREMENTS / page).with_name(f"{name}.json") for name in re.findall(r"^## (\w+)$", text, re.MULTILINE)]
            with self.subTest(page):
                ran, written = written_report(f"{script}/report/report.py", *(file.read_text(encoding="utf-8") for file in results))
                self.assertEqual("", ran.stderr)
                self.assertEqual(lines(written), lines(text))

    def test_the_page_of_membar_domains_is_what_its_script_makes_of_the_programs(self):
        with tempfile.TemporaryDirectory() as folder:
            page, picture = pathlib.Path(folder, "page.md"), pathlib.Path(folder, "picture.svg")
            page.write_text((DOCS / "membar_domains.md").read_text(encoding="utf-8"), encoding="utf-8")
            for machine in ("h100-x2", "h200-x2"):
                subprocess.run([sys.executable, DOCS.parent / "bench/domains/page.py", "--page", page, "--machine", machine, "--picture", picture,
                                MEASUREMENTS / machine / "domains/domains.json"], check=True, capture_output=True)
            for made, kept in ((page, "membar_domains.md"), (picture, "pictures/h200-x2.domains.svg")):
                self.assertEqual(made.read_text(encoding="utf-8"), (DOCS / kept).read_text(encoding="utf-8"))


if __name__ == "__main__":
    unittest.main()
