#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests which numbers unbound_figures.py treats as measured figures."""
import re
import unittest

import unbound_figures


def found(text, *sentences):
    return [figure for _, figure in unbound_figures.figures_of(unbound_figures.masked(text, [re.compile(each) for each in sentences]))]


class Figures(unittest.TestCase):
    def test_a_number_with_a_unit_is_a_figure(self):
        for text in ("takes 12 ns", "takes 3 to 24 µs", "moves 1.5 TB/s", "4 % more", "5,256 cycles", "took 2.2 minutes", "12\nns", "3 times as fast", "1e12 instances"):
            self.assertTrue(found(text), text)

    def test_a_decimal_fraction_is_a_figure_unless_it_is_a_version(self):
        self.assertEqual(["1.37"], found("takes 1.37 of it"))
        self.assertEqual([], found("ptxas 13.0, compute capability 9.0, vLLM 0.6.4"))

    def test_a_cell_is_a_figure_below_a_unit(self):
        self.assertEqual(["300"], found("| a | ns |\n|---|---|\n| x | 300 |"))
        self.assertEqual(["300"], found("A barrier, nanoseconds:\n\n| a | b |\n|---|---|\n| 64 | 300 |"))
        self.assertEqual([], found("| option | default |\n|---|---|\n| `--seed` | 300 |"))

    def test_code_and_what_results_are_behind_are_none(self):
        for text in ("`12 ns`", "```text\n12 ns\n```", "<!-- figures.py: a -->\n12 ns\n<!-- end -->", "[a](12.5.md)"):
            self.assertEqual([], found(text), text)
        self.assertEqual(["13 ns"], found("a takes 12 ns, b takes 13 ns", r"a takes \d+ ns"))

    def test_a_reason_must_still_be_of_use(self):
        page = ("docs/litmus_on_gpu.md", "no such words", [])
        self.assertEqual({"take it out of NO_RESULT"}, {re.search("take it out of NO_RESULT", told).group() for told in unbound_figures.unbound([page])})


if __name__ == "__main__":
    unittest.main()
