#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that every function in include/ and tools/, not counting tables, fits on a screen.

usage: function_length.py <root of the project> [--longest=N]
       function_length.py --made-violations    checks that a long function is found, and that a long table is not

A function begins with a brace that opens after a parameter list, and ends with the matching brace. Lines inside a braced
initializer without statements (a table) do not count. A lambda counts as part of the function that contains it. Exit status: 0
if no function is too long, 1 if one is.
"""

import pathlib
import re
import sys

LONGEST = 80
TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'|[{}();]|\n', re.DOTALL)
# The tokens that may appear between a parameter list and the body.
AFTER_PARAMETERS = re.compile(r"\)\s*(?:const|noexcept(?:\s*\([^{}]*\))?|override|final|mutable|volatile|&&?|->[^{};]*|requires[^{};]*"
                              r"|:\s*[\w:<>]+\s*[({][^;]*|\s)*$", re.DOTALL)


def blanked(text):
    """Returns the text without comments and literals, with the same lines."""
    def blank(match):
        word = match.group(0)
        return word if word in "{}();\n" else re.sub(r"[^\n]", " ", word)
    return re.sub(r"^ *#.*?(?<!\\)$", lambda m: re.sub(r"[^\n]", " ", m.group(0)), TOKEN.sub(blank, text), flags=re.MULTILINE | re.DOTALL)


def opens_function(before):
    """Returns whether a brace opens a function's body. `before` is the text that precedes it, back to the last `;`, `{` or `}` outside of
    parentheses."""
    head = before.strip()
    if not head or re.match(r"(?:namespace|struct|class|enum|union|extern)\b|template\s*<[^{]*>\s*(?:struct|class|union)\b", head):
        return False
    if "(" not in head or re.match(r"(?:else\s+)?(?:if|for|while|switch|catch|do|try|return)\b", head) or re.search(r"(?<![=!<>])=(?!=)\s*[\w:<>{]*$", head):
        return False
    return bool(AFTER_PARAMETERS.search(head))


def functions(text):
    """Returns the first line and the length of every outermost function. Lines in tables do not count."""
    text = blanked(text)
    found, stack, start = [], [], 0
    line, function, tables = 1, None, 0
    for at, char in enumerate(text):
        if char == "\n":
            line += 1
        elif char == "{":
            kind = "function" if function is None and opens_function(text[start:at]) else "other"
            stack.append((kind, line, at))
            if kind == "function":
                function, tables = len(stack), 0
            start = at + 1
        elif char == "}" and stack:
            kind, first, opened = stack.pop()
            if function is not None and kind == "other" and ";" not in text[opened:at] and not any(
                    ";" not in text[o:at] for k, _, o in stack if k == "other"):
                tables += line - first
            if kind == "function":
                found.append((first, line - first + 1 - tables))
                function = None
            start = at + 1
        elif char == ";" and text.count("(", start, at) == text.count(")", start, at):
            start = at + 1
    return found


def main():
    if sys.argv[1:] == ["--made-violations"]:
        body = "  f();\n" * LONGEST
        long_ones = [f"int f(int a) {{\n{body}}}\n", f"class c {{\n  c(int a) : b_(a) {{\n{body}  }}\n}};\n",
                     f"template <class T>\nauto f(T) noexcept -> int {{\n  for (;;) {{\n{body}  }}\n}}\n"]
        short_ones = ["int f() {\n  static const int t[] = {\n" + "    {1, 2},\n" * 99 + "  };\n  return t[0];\n}\n",
                      "namespace a {\n" + "int f() {\n  g();\n}\n" * 50 + "}\n", "struct s {\n" + "  int a = 0;\n" * 99 + "};\n"]
        wrong = [text for text in long_ones if max(n for _, n in functions(text)) <= LONGEST]
        wrong += [text for text in short_ones if any(n > LONGEST for _, n in functions(text))]
        print(f"{len(long_ones)} long functions and {len(short_ones)} tables and short functions checked, {len(wrong)} wrong")
        return 1 if wrong else 0
    root = pathlib.Path(sys.argv[1])
    longest = int(sys.argv[2].partition("=")[2]) if len(sys.argv) > 2 else LONGEST
    files = [path for folder in ("include", "tools") for path in sorted((root / folder).rglob("*")) if path.suffix in (".hpp", ".cuh", ".cpp")]
    count, found = 0, []
    for path in files:
        for line, length in functions(path.read_text(encoding="utf-8")):
            count += 1
            if length > longest:
                found.append(f"{path.relative_to(root)}:{line}: a function of {length} lines, more than {longest}: divide it")
    print("\n".join([*found, f"{count} functions in {len(files)} files, {len(found)} too long"]))
    return 1 if found or not count else 0


if __name__ == "__main__":
    sys.exit(main())
