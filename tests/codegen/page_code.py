#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles both sides of the tables in docs/from_cuda_to_membar.md, and checks that their machine code is the same
where the page says so.

usage: page_code.py <page.md> -- <nvcc> <option>...

A table with the header `| today | with membar | machine code |` has a statement in each of its first two cells. Each statement
becomes the body of a kernel, with the arguments that the page names, below the declarations in the page's first ```cpp block; a
value called `old` is stored. The third cell begins with "same" if the machine code is the same, on sm_80 and sm_90, with "same
on 9.0" if the row needs sm_90, and with "other" (or "other on 9.0") if it differs. Exit status: 0 if every third cell is
correct, 1 if not, 2 if there is no row or a side does not compile.
"""
import html
import pathlib
import re
import sys
import tempfile

from kernel_code import code_of_kernels, run, split_arguments

HEADER = ["today", "with membar", "machine code"]
INCLUDES = ["cooperative_groups.h", "cuda/atomic"]
PARAMETERS = "unsigned* n, unsigned v, unsigned* flag, float* sum, float x, const float* table, int* k, int i, unsigned char* out"
VERDICT = re.compile(r"(same|other)( on 9\.0)?\b")
CELL = re.compile(r"(?<!\\)\|")


def rows(text):
    """Yields (line, CUDA statement, membar statement, whether their code must be the same, whether they need sm_90)."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        cells = [cell.strip() for cell in CELL.split(line)[1:-1]]
        if cells == HEADER:
            inside = True
        elif not cells:
            inside = False
        elif inside and not set("".join(cells)) <= set("-: "):
            sides = [re.fullmatch(r"`([^`]+)`", cell) for cell in cells[:2]]
            verdict = VERDICT.match(cells[2]) if len(cells) == 3 else None
            if not all(sides) or not verdict:
                raise SystemExit(f"line {number}: a row needs two statements and 'same' or 'other', followed by 'on 9.0' if it needs sm_90")
            yield number, *(html.unescape(side.group(1)).replace(r"\|", "|") for side in sides), verdict.group(1) == "same", bool(verdict.group(2))


def kernel(name, line, statement, page):
    keep = "\n  *reinterpret_cast<decltype(old)*>(out) = old;" if re.search(r"\bold =", statement) else ""
    return f'extern "C" __global__ void {name}_{line}({PARAMETERS}) {{\n#line {line} "{page}"\n  {statement}{keep}\n}}\n'


def main():
    options, nvcc, _ = split_arguments()
    page = pathlib.Path(options[0])
    text = page.read_text(encoding="utf-8")
    table = list(rows(text))
    declarations = re.search(r"```cpp\n(.*?)```", text, re.DOTALL)
    if not table or not declarations:
        print(f"{page}: no table, or no declarations", file=sys.stderr)
        return 2
    wrong = 0
    for architecture in (80, 90):
        taken = [row for row in table if architecture == 90 or not row[4]]
        source = "".join(f"#include <{name}>\n" for name in INCLUDES) + declarations.group(1)
        source += "".join(kernel(name, row[0], row[side], page) for row in taken for name, side in (("today", 1), ("membar", 2)))
        with tempfile.TemporaryDirectory() as folder:
            unit, cubin = pathlib.Path(folder, "page.cu"), pathlib.Path(folder, "page.cubin")
            unit.write_text(source, encoding="utf-8")
            run([*nvcc, "-cubin", f"-arch=sm_{architecture}", "-o", cubin, unit])
            code = code_of_kernels(cubin)
        for line, today, membar, same, _ in taken:
            if (code[f"today_{line}"] == code[f"membar_{line}"]) != same:
                wrong += 1
                print(f"{page}:{line}: on sm_{architecture} the machine code of {today} and {membar} is {'not ' if same else ''}the same")
    print(f"{len(table)} rows, {wrong} not as the page says")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
