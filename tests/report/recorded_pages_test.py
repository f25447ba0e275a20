#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The reports in docs/measurements are what their scripts make of the results beside them."""
import pathlib
import re
import unittest

from written_report import report_page, written_report

MEASUREMENTS = pathlib.Path(__file__).resolve().parents[2] / "docs" / "measurements"


def lines(text):
    return [line for line in text.splitlines() if line and "![" not in line and line != report_page.NO_PICTURES]


class RecordedPages(unittest.TestCase):
    def test_the_pages_are_what_the_reports_make_of_their_results(self):
        for script, page in (("atomics", "h200/atomics.md"), ("caches", "h200/caches.md"), ("symmetric", "h200-x2/symmetric.md")):
            text = (MEASUREMENTS / page).read_text(encoding="utf-8")
            results = [(MEASUREMENTS / page).with_name(f"{name}.json") for name in re.findall(r"^## (\w+)$", text, re.MULTILINE)]
            with self.subTest(page):
                ran, written = written_report(f"{script}/report/report.py", *(file.read_text(encoding="utf-8") for file in results))
                self.assertEqual("", ran.stderr)
                self.assertEqual(lines(written), lines(text))


if __name__ == "__main__":
    unittest.main()
