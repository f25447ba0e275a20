#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the code blocks in the documentation as one translation unit.

    extract_snippets.py --root folder --output unit.cu page.md... [-- compiler flag...]

A ```cpp block whose first line is an #include is a complete file: it gets its own namespace, or is placed at global scope if it specialises
a template. Any other ```cpp block is a sequence of statements: it becomes the body of a function that sees the page's previous block.
Blocks in other languages (```cmake, ```sh, ```text; ```c++ for an excerpt that cannot compile by itself) are ignored. Errors name the page
and the line.
"""
import argparse
import pathlib
import re
import subprocess
import sys


def blocks(page):
    """Yields (number of the first line, lines) of every ```cpp block."""
    start, collected = None, []
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if start is None:
            if line.strip() == "```cpp":
                start, collected = number + 1, []
        elif line.strip() == "```":
            yield start, collected
            start = None
        else:
            collected.append(line)
    if start is not None:
        raise SystemExit(f"{page}:{start}: the code block is not closed")


def translation_unit(pages, root):
    """Returns the source of the unit and the number of its blocks."""
    includes, body, count = [], [], 0
    for page in pages:
        previous = None
        for start, lines in blocks(page):
            count += 1
            complete = next((line for line in lines if line.strip()), "").startswith("#include")
            name = "page_" + re.sub(r"\W", "_", page.relative_to(root).with_suffix("").as_posix()) + f"_line_{start}"
            if not complete:
                using = f"using namespace {previous}; " if previous else ""
                opening, closing = f"namespace {name} {{ {using}void statements() {{", "}}"
            elif any(re.match(r"\s*template\s*<\s*>", line) for line in lines):
                opening, closing = "", ""
            else:
                opening, closing, previous = f"namespace {name} {{", "}", name
            body += [opening, f'#line {start} "{page.as_posix()}"']
            for line in lines:
                if complete and re.match(r"#include\b", line):
                    if line not in includes:
                        includes.append(line)
                    line = ""  # This keeps the line numbers of the following lines.
                body.append(line)
            body.append(closing)
    return "\n".join(includes + body) + "\n", count


def main():
    arguments = sys.argv[1:]
    split = arguments.index("--") if "--" in arguments else len(arguments)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--root", type=pathlib.Path, required=True, help="the folder that page names are relative to")
    parser.add_argument("--output", type=pathlib.Path, required=True, help="the file to write")
    parser.add_argument("pages", type=pathlib.Path, nargs="+", metavar="page.md")
    options = parser.parse_args(arguments[:split])
    try:
        source, count = translation_unit(options.pages, options.root)
        options.output.write_text(source, encoding="utf-8")
    except OSError as failure:
        raise SystemExit(f"{failure.filename}: {failure.strerror}")
    if count == 0:
        raise SystemExit("no ```cpp block in any page")
    print(f"{count} code blocks of {len(options.pages)} pages in {options.output}")
    compiler = arguments[split + 1:]
    if compiler and subprocess.run([*compiler, str(options.output)], check=False).returncode != 0:
        raise SystemExit("a code block of the documentation does not compile")


if __name__ == "__main__":
    main()
