# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Code shared by the command's tests. The tests are started with the path of membar-litmus and the catalogue's folder."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

COMMAND, CATALOGUE = sys.argv[1], pathlib.Path(sys.argv[2])

MP = r"""PTX MP
{ x=0; y=0; }
 P0@cta 0,gpu 0      | P1@cta 1,gpu 0       ;
 st.weak x, 1        | ld.acquire.gpu r0, y ;
 st.release.gpu y, 1 | ld.weak r1, x        ;
"""


def run(*words, command=COMMAND, **environment):
    """Returns a command's exit status, output and messages."""
    done = subprocess.run([str(command), *map(str, words)], capture_output=True, text=True, timeout=600, env={**os.environ, **environment})
    return done.returncode, done.stdout, done.stderr


def file_of(name):
    return CATALOGUE / (name + ".litmus")


class Case(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def file(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        return path

    def output_of(self, answer):
        """Runs a command that must succeed without printing a message. Returns its output."""
        code, out, err = answer
        self.assertEqual((code, err), (0, ""))
        return out

    def assert_refused(self, answer, *parts):
        """Checks that a command failed and printed only one sentence with these parts."""
        code, out, err = answer
        self.assertEqual((code, out), (2, ""))
        self.assert_one_sentence(err, *parts)

    def assert_one_sentence(self, text, *parts):
        self.assertEqual(len(text.splitlines()), 1, text)
        for part in parts:
            self.assertIn(part, text)


def main():
    del sys.argv[1:]
    unittest.main()
