# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The commands of the package. Each command replaces itself with the program of the same name in `bin/`, which finds its library in that folder."""

import os
import pathlib
import sys


def _become(name):
    program = pathlib.Path(__file__).resolve().parent / "bin" / name
    if not program.exists():
        sys.exit(f"membar: {program} does not exist, because this package was built with MEMBAR_BUILD_TOOLS=OFF: build the wheel without that option")
    os.execv(program, [str(program), *sys.argv[1:]])


def membar_litmus():
    _become("membar-litmus")


def membar_check():
    _become("membar-check")


def membar_domains():
    _become("membar-domains")
