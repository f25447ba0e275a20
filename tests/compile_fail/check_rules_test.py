#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that check_rules.py distinguishes a rule that the compiler enforces from a rule that it does not enforce.

usage: check_rules_test.py <host compiler> <option>...
"""

import pathlib
import subprocess
import sys
import tempfile

SOURCE = """
#include "refused.hpp"
template <class T> void take(T) { static_assert(sizeof(T) == 4, "takes four bytes"); }
void small(int);
void rules() {
  // expect: takes four bytes
  REFUSED(one_instantiation, take('a'));
  // expect: takes four bytes
  REFUSED(same_instantiation_again,
          take('b'));
  // expect: nobody_declared
  REFUSED(unknown_name, nobody_declared());
  // expect: takes four bytes
  REFUSED(is_no_error, take(1));
  // expect: nobody_declared
  REFUSED(has_words_of_another_rule, take('c'));
  // expect: takes four bytes
  REFUSED(is_refused_for_another_reason, small(""));
  // expect: nobody_declared_this
  REFUSED(is_refused_twice, nobody_declared_this(); nobody_declared_that());
}
"""
EXPECTED = {
    "control": "PASSED",
    "one_instantiation": "PASSED",
    "same_instantiation_again": "PASSED",
    "unknown_name": "PASSED",
    "is_no_error": "FAILED",
    "has_words_of_another_rule": "FAILED",
    "is_refused_for_another_reason": "FAILED",
    "is_refused_twice": "FAILED",
}


def main():
    checker = pathlib.Path(__file__).with_name("check_rules.py")
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, source, expected in (("rules", SOURCE, EXPECTED),
                                       ("broken_control", "error" + SOURCE, dict.fromkeys(EXPECTED, "FAILED"))):
            file, results = pathlib.Path(folder, f"{name}.cpp"), pathlib.Path(folder, name)
            file.write_text(source)
            for options in [], ["--each-alone"]:
                done = subprocess.run([sys.executable, checker, *options, file, results, "--", *sys.argv[1:], f"-I{checker.parent}", "-fsyntax-only"],
                                      capture_output=True, text=True, check=False)
                found = {path.stem: path.read_text().split("\n", 1)[0] for path in results.glob("*.txt")}
                if found != expected or done.returncode != 1:
                    wrong += 1
                    print(f"{name} {options}: exit status {done.returncode}, {found}\n{done.stdout}{done.stderr}")
    print(f"{wrong} of 4 runs did not give the expected results")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
