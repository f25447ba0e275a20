#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the site's gallery shows every litmus test in the catalogue, with its verdict, its reason and its family."""
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "docs" / "site"))

import gallery  # noqa: E402


class Gallery(unittest.TestCase):
    def setUp(self):
        self.tests = {path.stem: path for path in gallery.CATALOGUE.glob("*/*.litmus")}
        self.text = gallery.gallery()

    def test_every_test_of_the_catalogue_is_in_it_once_below_its_family(self):
        shown = {}
        for family, body in re.findall(r"^## (\S+)\n(.*?)(?=^## |\Z)", self.text, re.DOTALL | re.MULTILINE):
            for names, verdict, why in re.findall(r"^([^|\n]+)\|(\w+)\|(.+)$", body, re.MULTILINE):
                for name in names.split("<br>") if names != "test" else ():
                    self.assertNotIn(name, shown)
                    self.assertTrue(why.strip(), name)
                    shown[name] = (family, verdict)
        self.assertEqual({name: (gallery.family(name), path.parent.name) for name, path in self.tests.items()}, shown)
        self.assertIn(f"{len(self.tests)} tests", self.text)

    def test_every_family_has_tests_and_the_one_that_it_shows_in_full(self):
        found = {gallery.family(name) for name in self.tests}
        self.assertEqual(set(), gallery.FAMILIES.keys() - found)
        self.assertEqual([], [name for _, name in gallery.FAMILIES.values() if name and name not in self.tests])

    def test_a_test_of_no_family_is_an_error(self):
        with self.assertRaisesRegex(SystemExit, "no family for Unheard.of"):
            gallery.family("Unheard.of")


if __name__ == "__main__":
    unittest.main()
