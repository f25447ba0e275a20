#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles headers with -fno-exceptions, and tests that a header that needs exceptions reports this with a clear message.

usage: no_exceptions.py <repository> [--each] <host compiler> [<option>...]

With --each, the script compiles every `.hpp` header; otherwise, it compiles only the two headers that contain the message. Exit status: 0
if all headers behave as expected, 1 if not.
"""

import pathlib
import re
import subprocess
import sys

WITHOUT = {"memory_order.hpp", "thread_scope.hpp", "version.hpp", "wait_budget.hpp", "atomic.hpp", "fence.hpp", "symmetric/pe.hpp",
           "symmetric/word.hpp", "symmetric/object.hpp", "symmetric/reach.hpp"}
SENTENCE = re.compile(r"#error .*membar: .* throws? membar::.*: compile without -fno-exceptions")


def messages(compiler, headers):
    done = subprocess.run([*compiler, "-fno-exceptions", "-fsyntax-only", "-x", "c++", "-"], text=True, check=False, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, input="".join(f"#include <membar/{name}>\n" for name in sorted(headers)))
    return done.returncode, done.stdout


def main():
    repository, *compiler = sys.argv[1:]
    each = compiler[0] == "--each"
    compiler = compiler[1:] if each else compiler
    include = pathlib.Path(repository) / "include" / "membar"
    status, said = messages(compiler, WITHOUT)
    if status != 0 or said:
        print(f"need exceptions, and should not: {' '.join(WITHOUT)}\n{said}")
        return 1
    others = {"error.hpp", "model/error.hpp"}
    if each:
        others = {path.relative_to(include).as_posix() for path in include.rglob("*.hpp")} - WITHOUT
        others = {name for name in others if not name.startswith(("base/", "detail/")) and "nvshmem" not in name}
    failed = 0
    needless = set()
    for name in sorted(others):
        status, said = messages(compiler, {name})
        if status == 0:
            needless.add(name)
        elif not SENTENCE.search(next(line for line in said.splitlines() if "error" in line)):
            failed += 1
            print(f"{name} needs exceptions, but its first error does not say so\n{said}")
    print(f"{len(WITHOUT)} headers need no exceptions; {len(others) - len(needless)} say that they do; {failed} failed; these also "
          f"compile without exceptions: {' '.join(sorted(needless))}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
