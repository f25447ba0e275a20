# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of the package: each becomes the program of its name in `bin/`, beside which the program finds its library."""

import os
import pathlib
import sys


def _become(name):
    program = pathlib.Path(__file__).resolve().parent / "bin" / name
    if not program.exists():
        sys.exit(f"membar: there is no {program}: this package was built without the commands (MEMBAR_BUILD_TOOLS=OFF)")
    os.execv(program, [str(program), *sys.argv[1:]])


def membar_litmus():
    _become("membar-litmus")


def membar_check():
    _become("membar-check")


def membar_domains():
    _become("membar-domains")
