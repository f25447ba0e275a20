#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that every assembly statement in the headers is `asm volatile` and clobbers "memory".

usage: asm_statements.py <include folder>|--made-violations

Without `volatile`, the compiler may remove a statement or merge two statements; without the clobber, it may move memory accesses across the
statement. Neither fault would show in the code of a kernel with a single statement. --made-violations checks that the rules can
fail. Exit status: 0 if all statements follow the rules, 1 if not.
"""

import pathlib
import re
import sys

STATEMENT = re.compile(r"\b(?:asm|__asm__)\b")
COMMENT = re.compile(r"//[^\n]*")


def statements(text):
    """Yields (line number, text) for each assembly statement, up to its semicolon, without comments."""
    text = COMMENT.sub(lambda match: " " * len(match[0]), text)
    for match in STATEMENT.finditer(text):
        depth, at, in_string = 0, match.end(), False
        while at < len(text):
            character = text[at]
            if character == '"' and text[at - 1] != "\\":
                in_string = not in_string
            elif not in_string:
                depth += {"(": 1, ")": -1}.get(character, 0)
                if character == ";" and depth == 0:
                    break
            at += 1
        yield text.count("\n", 0, match.start()) + 1, text[match.start():at]


def violations(text):
    for line, statement in statements(text):
        if not re.match(r"(?:asm|__asm__)\s+volatile\s*\(", statement):
            yield line, "is not volatile: the compiler may leave it out"
        clobbers = statement[statement.rfind(":"):]
        if '"memory"' not in clobbers:
            yield line, 'does not clobber "memory": the compiler may move accesses across it'


MADE = {
    'asm volatile("a;" ::"r"(x) : "memory");': 0,
    'asm volatile("a;" ::: "memory");': 0,
    '__asm__ volatile("a" ::: "memory");': 0,
    '// asm("a;");\nint asm_statements;': 0,
    'asm("a;" ::"r"(x) : "memory");': 1,
    'asm volatile("a;" ::"r"(x));': 1,
    'asm volatile("a::memory;" : "=r"(y) : "r"(x));': 1,
    'asm volatile("a; (" ::"r"(x)); f("memory");': 1,
    'asm("a;" : "=r"(x));': 2,
}


def main():
    if sys.argv[1] == "--made-violations":
        wrong = {text: found for text, count in MADE.items() if len(found := list(violations(text))) != count}
        for text, found in wrong.items():
            print(f"{text}\n  has {found}, expected {MADE[text]}")
        return 1 if wrong else 0
    root, count, failed = pathlib.Path(sys.argv[1]), 0, 0
    for path in sorted([*root.rglob("*.hpp"), *root.rglob("*.cuh")]):
        text = path.read_text(encoding="utf-8")
        count += sum(1 for _ in statements(text))
        for line, what in violations(text):
            failed += 1
            print(f"{path}:{line}: this assembly statement {what}")
    print(f"{count} assembly statements, {failed} violations")
    return 1 if failed or not count else 0


if __name__ == "__main__":
    sys.exit(main())
