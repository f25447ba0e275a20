#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that every relative link in README.md and docs/ leads to a file, and that every picture in docs/pictures is shown on
some page."""
import pathlib
import re
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^()\s]+)\)")


class PageLinks(unittest.TestCase):
    def setUp(self):
        self.links = {}  # page: the files that it links to
        for page in [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]:
            text = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
            self.links[page] = [(page.parent / link.split("#")[0]).resolve() for link in LINK.findall(text)
                                if not link.startswith("#") and "://" not in link]

    def test_every_link_leads_to_a_file(self):
        self.assertEqual([], [f"{page.relative_to(ROOT)}: {link}" for page, links in self.links.items() for link in links
                              if not link.exists()])

    def test_every_picture_is_shown(self):
        shown = {link for links in self.links.values() for link in links}
        self.assertEqual([], [picture.name for picture in (DOCS / "pictures").iterdir() if picture not in shown])


if __name__ == "__main__":
    unittest.main()
