#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs all the rules in a test script in a single process and records each rule's result. A single process is used because the script's
imports take longer than most rules.

usage: record_unittests.py <results folder> <script> <class>...

<results folder>/<class in lower case>.txt begins with PASSED or FAILED. The exit status is 0 if all rules passed.
"""

import importlib.util
import io
import pathlib
import sys
import unittest


def loaded(script):
    sys.path.insert(0, str(script.parent))
    specification = importlib.util.spec_from_file_location(script.stem, script)
    module = importlib.util.module_from_spec(specification)
    sys.modules[script.stem] = module
    specification.loader.exec_module(module)
    return module


def main():
    folder, script, rules = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve(), sys.argv[3:]
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.txt"):
        old.unlink()
    module = loaded(script)
    failed = 0
    for rule in rules:
        said = io.StringIO()
        done = unittest.TextTestRunner(stream=said, verbosity=2).run(unittest.defaultTestLoader.loadTestsFromTestCase(getattr(module, rule)))
        passed = done.wasSuccessful() and done.testsRun != 0
        failed += not passed
        (folder / f"{rule.lower()}.txt").write_text(f"{'PASSED' if passed else 'FAILED'}\n{said.getvalue()}", encoding="utf-8")
        print(f"{rule}: {done.testsRun} tests, {'passed' if passed else 'failed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
