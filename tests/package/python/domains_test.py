#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests membar.domains.auto() with a fake membar-domains command; LD_LIBRARY_PATH names the folder of a fake libcuda.so.1."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

STAND_IN = """#!/bin/sh
echo "$@"
while [ "$1" != -- ]; do shift; done
shift
MEMBAR_DOMAINS_JOB=run exec "$@"
"""


class Auto(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        command = self.folder / "membar-domains"
        command.write_text(STAND_IN)
        command.chmod(0o755)

    def run_python(self, *words, path=None, stdin=None, **variables):
        path = str(self.folder) + os.pathsep + os.environ["PATH"] if path is None else path
        return subprocess.run([sys.executable, *words], input=stdin, capture_output=True, text=True, cwd=self.folder, check=False,
                              env={**os.environ, "PATH": path, **variables})

    def program(self, *lines):
        file = self.folder / "program.py"
        file.write_text("import sys, membar\nprint('begins', flush=True)\n" + "\n".join(lines) + "\nprint('goes on', sys.argv[1:])\n")
        return str(file)

    def test_the_program_starts_again_under_the_command_with_its_arguments(self):
        program = self.program("membar.domains.auto(seconds=3, output='folder')")
        ran = self.run_python("-O", program, "a word", "--flag")
        self.assertEqual(ran.stdout.splitlines(), ["begins", f"run --seconds=3 --output=folder -- {sys.executable} -O {program} a word --flag",
                                                   "begins", "goes on ['a word', '--flag']"], ran.stderr)
        self.assertEqual(ran.returncode, 0)

    def test_it_does_nothing_under_the_command(self):
        ran = self.run_python(self.program("membar.domains.auto()"), MEMBAR_DOMAINS_JOB="apply")
        self.assertEqual(ran.stdout.splitlines(), ["begins", "goes on []"], ran.stderr)

    def test_text_that_follows_c_is_a_program(self):
        ran = self.run_python("-c", "import membar; membar.domains.auto(); print('goes on')")
        self.assertEqual(ran.stdout.splitlines()[-1], "goes on", ran.stderr)

    def test_what_is_missing_is_said(self):
        cases = {
            "the CUDA driver is already loaded": self.run_python(self.program("import ctypes", "ctypes.CDLL('libcuda.so.1')", "membar.domains.auto()")),
            "cannot restart an interactive Python": self.run_python("-", stdin="import membar; membar.domains.auto()"),
            "is neither in this package nor in PATH": self.run_python(self.program("membar.domains.auto()"), path="/nowhere"),
        }
        for words, ran in cases.items():
            self.assertIn("RuntimeError: membar: ", ran.stderr)
            self.assertIn(words, ran.stderr)
            self.assertNotIn("goes on", ran.stdout)


if __name__ == "__main__":
    unittest.main()
