#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the documentation site builds in strict mode, and that each of its checks fails on broken input.

It needs a Python with mkdocs-material (docs/site/requirements.txt).
"""
import os
import pathlib
import re
import shutil
import sys
import tempfile
import traceback
import unittest
import urllib.parse

os.environ["NO_MKDOCS_2_WARNING"] = "1"
import material.templates  # noqa: E402, F401  imported once for all builds, as the other modules that MkDocs loads for this site
import mkdocs.__main__  # noqa: E402
import mkdocs.commands.build  # noqa: E402, F401
import pymdownx.highlight  # noqa: E402, F401
import pymdownx.superfences  # noqa: E402, F401

LINK = re.compile(r"""\b(?:href|src)=["']([^"'#?]+)""")
LOADED = re.compile(r"""<(?:script|img|iframe)\b[^>]*\bsrc=["']?https?:[^"' >]*""")
ROOT = pathlib.Path(__file__).resolve().parents[2]


def build(root, site):
    """Runs MkDocs and returns its exit status and its warnings. With --quiet, MkDocs does not count warnings."""
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        child = os.fork()
        if child == 0:
            run_mkdocs(said, ["build", "--strict", "--config-file", str(root / "mkdocs.yml"), "--site-dir", str(site)])
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        said.seek(0)
        return status, "".join(line for line in said if not line.startswith("INFO"))


def run_mkdocs(said, words):
    """Ends this process as the command mkdocs would, with its output in the file. The process is a fork, because importing MkDocs takes
    longer than building most of these sites."""
    for stream in (1, 2):
        os.dup2(said.fileno(), stream)
    status = 1
    try:
        mkdocs.__main__.cli(words, prog_name="mkdocs")
    except SystemExit as end:
        status = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


class Site(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def small(self, page):
        """Creates a repository with the site's own files and a single page, and returns MkDocs' output for it."""
        root = self.folder / "small"
        shutil.rmtree(root, ignore_errors=True)
        for name in ("mkdocs.yml", "docs/site", "LICENSE"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, root / name)
        (root / "README.md").write_text("# Small\n", encoding="utf-8")
        (root / "docs" / "index.md").write_text("# Index\n\n## Start\n\n* [README](../README.md)\n* [page](page.md)\n", encoding="utf-8")
        (root / "docs" / "page.md").write_text(page, encoding="utf-8")
        return *build(root, self.folder / "site"), self.folder / "site" / "page.html"

    def test_every_page_of_the_documentation_builds(self):
        status, said = build(ROOT, self.folder / "site")
        self.assertEqual((0, ""), (status, said))
        for name in ("index.html", "readme.html", "headers/fence.html", "gallery.html", "search/search_index.js", "source/examples/overlap.cu.html"):
            self.assertTrue((self.folder / "site" / name).exists(), name)
        nowhere = set()
        for page in (self.folder / "site").rglob("*.html"):
            text = page.read_text(encoding="utf-8")
            nowhere.update(f"{page.name}: {loaded}" for loaded in LOADED.findall(text))
            links = {urllib.parse.unquote(link) for link in LINK.findall(text)}
            nowhere.update(f"{page.name}: {link}" for link in links if ":" not in link and not (page.parent / link).exists())
        # The links on this page start at the root.
        self.assertEqual(set(), {each for each in nowhere if not each.startswith("404.html")})

    def test_a_link_to_a_source_leads_to_its_page(self):
        status, said, page = self.small("# Page\n\nSee [the license](../LICENSE) and `[code](../LICENSE)`.\n")
        self.assertEqual(0, status, said)
        self.assertIn('href="source/LICENSE.html"', page.read_text(encoding="utf-8"))
        self.assertIn("Apache License", (self.folder / "site" / "source" / "LICENSE.html").read_text(encoding="utf-8"))

    def test_a_list_below_a_line_is_a_list(self):
        status, said, page = self.small("# Page\n\n**Limits**\n* one\n  goes on\n\n  | a | b |\n  |---|---|\n  | 1 | 2 |\n* two\n")
        self.assertEqual(0, status, said)
        self.assertEqual((2, 1), (page.read_text(encoding="utf-8").split("<article")[1].count("<li>"),
                                  page.read_text(encoding="utf-8").count("<table>")))

    def test_what_leads_nowhere_is_an_error(self):
        for words, page in (("no.md", "[no](no.md)"), ("#no", "[no](index.md#no)"), ("no.cu", "[no](../examples/no.cu)"),
                            ("was not converted", "text\n\n| a row | without a table |"), ("another site", '<img src="https://example.com/a.png">')):
            with self.subTest(words):
                status, said, _ = self.small(f"# Page\n\n{page}\n")
                self.assertNotEqual(0, status)
                self.assertIn(words, said)

    def test_a_file_that_no_page_links_to_is_not_in_the_site(self):
        self.small("# Page\n\nThe [data](data.json).\n")
        for name in ("data.json", "CMakeLists.txt"):
            (self.folder / "small" / "docs" / name).write_text("1\n", encoding="utf-8")
        self.assertEqual((0, ""), build(self.folder / "small", self.folder / "site"))
        self.assertEqual((True, False), tuple((self.folder / "site" / name).exists() for name in ("data.json", "CMakeLists.txt")))

    def test_a_page_that_no_list_leads_to_is_an_error(self):
        self.small("# Page\n")
        (self.folder / "small" / "docs" / "lost.md").write_text("# Lost\n", encoding="utf-8")
        status, said = build(self.folder / "small", self.folder / "site")
        self.assertNotEqual(0, status)
        self.assertIn("lost.md", said)


if __name__ == "__main__":
    unittest.main()
