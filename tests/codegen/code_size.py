#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Measures the code size of an atomic operation when the compiler knows that the object is in global memory, when it does not
know this, and when in_global specifies it.

usage: code_size.py [--json <file>] --disassembler <nvdisasm> --page <docs/headers/atomic.md> --result <recorded file> -- <nvcc> <option>...

The script compiles a kernel for sm_90 for each operation and each of these three cases, and counts its instructions and registers. Apart
from the load of the pointer, the kernel with in_global must be as small as the kernel in which the compiler knows the location.
The page must contain the table for the recorded result, which --json writes. The exit status is 0 if both conditions hold, 1 if
not.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from kernel_code import split_arguments

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "bench" / "common"))
from include_hash import tree_hash  # noqa: E402
from results import text_of  # noqa: E402

OPERATIONS = {
    "u64 fetch_max, relaxed": ("unsigned long long", "*out = n.fetch_max(value, membar::relaxed)"),
    "u64 fetch_and, acq_rel": ("unsigned long long", "*out = n.fetch_and(value, membar::acq_rel)"),
    "`__half2` fetch_add, relaxed": ("__half2", "*out = n.fetch_add(value, membar::relaxed)"),
    "`__half2` add, relaxed": ("__half2", "n.add(value, membar::relaxed)"),
    "float fetch_add, acq_rel": ("float", "*out = n.fetch_add(value, membar::acq_rel)"),
    "u32 fetch_add, relaxed": ("unsigned", "*out = n.fetch_add(value, membar::relaxed)"),
}
# How the kernel gets the object: as a parameter; through a pointer loaded from memory; or through such a pointer with in_global.
POINTER = "{cpp}* p; asm volatile(\"ld.global.u64 %0, [%1];\" : \"=l\"(p) : \"l\"(table + threadIdx.x) : \"memory\");"
KNOWLEDGE = {"known": ("", "*known"), "unknown": (POINTER, "*p"), "told": (POINTER, "membar::in_global(*p)")}
MOST_FOR_THE_POINTER = 6  # The maximum number of instructions that load the pointer.


def source():
    text = "#include <membar/atomic.cuh>\n#include <cuda_fp16.h>\n"
    for i, (cpp, body) in enumerate(OPERATIONS.values()):
        for knowledge, (pointer, object_) in KNOWLEDGE.items():
            text += (f'extern "C" __global__ void op{i}_{knowledge}({cpp}* known, {cpp}* const* table, {cpp} value, {cpp}* out) {{\n'
                     f"  {pointer.replace('{cpp}', cpp)}\n  const membar::atomic_ref<{cpp}, membar::thread_scope::device> n({object_});\n  {body};\n}}\n")
    return text


def measured(nvcc, disassembler):
    with tempfile.TemporaryDirectory() as folder:
        code, cubin = pathlib.Path(folder, "code.cu"), pathlib.Path(folder, "code.cubin")
        code.write_text(source(), encoding="utf-8")
        said = subprocess.run([*nvcc, "-arch=sm_90", "-cubin", "-Xptxas", "-v", "-o", cubin, code], check=True, capture_output=True, text=True)
        registers = dict(re.findall(r"Compiling entry function '(\w+)'.*?Used (\d+) registers", said.stdout + said.stderr, re.DOTALL))
        text = subprocess.run([disassembler, "-c", cubin], check=True, capture_output=True, text=True).stdout
    sizes = {}
    for name, body in re.findall(r"^\s*\.section\s+\.text\.(\w+),(.*?)(?=^\s*\.section|\Z)", text, re.MULTILINE | re.DOTALL):
        end = body.index("EXIT")  # The last instruction is followed by a jump to itself and padding.
        end = body.rfind("EXIT") if body.rfind("EXIT") > end else end
        sizes[name] = len(re.findall(r"/\*[0-9a-f]{4}\*/", body[:end]))
    return {words: {k: {"instructions": sizes[f"op{i}_{k}"], "registers": int(registers[f"op{i}_{k}"])} for k in KNOWLEDGE}
            for i, words in enumerate(OPERATIONS)}


def table(result):
    lines = ["| operation, sm_90 | the compiler can infer the kind of memory | the compiler cannot infer it | `in_global` states it |", "|---|---|---|---|"]
    for words, row in result["operations"].items():
        cells = [f"{row[k]['instructions']} instructions, {row[k]['registers']} registers" for k in KNOWLEDGE]
        lines.append(f"| {words} | {' | '.join(cells)} |")
    return "\n".join(lines)


def main():
    options, nvcc, _ = split_arguments()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=pathlib.Path, help="write the result to this file, and print the table")
    parser.add_argument("--disassembler", required=True)
    parser.add_argument("--page", type=pathlib.Path, required=True)
    parser.add_argument("--result", type=pathlib.Path, required=True)
    arguments = parser.parse_args(options)
    operations = measured(nvcc, arguments.disassembler)
    if arguments.json:
        version = re.search(r"release ([\d.]+)", subprocess.run([nvcc[0], "--version"], check=True, capture_output=True, text=True).stdout)[1]
        include = tree_hash(pathlib.Path(__file__).resolve().parents[2] / "include").hexdigest()
        document = {"include": include, "nvcc": version, "architecture": "sm_90", "operations": operations}
        arguments.json.write_text(text_of(document), encoding="utf-8")
        print(table(json.loads(arguments.json.read_text())))
        return 0
    failed = 0
    for words, row in operations.items():
        if row["told"]["instructions"] > row["known"]["instructions"] + MOST_FOR_THE_POINTER:
            failed += 1
            print(f"{words}: {row['told']['instructions']} instructions with in_global, {row['known']['instructions']} where the compiler knows")
    if table(json.loads(arguments.result.read_text())) not in arguments.page.read_text(encoding="utf-8"):
        failed += 1
        print(f"{arguments.page} does not have the table of {arguments.result}:\n{table(json.loads(arguments.result.read_text()))}")
    print(f"{len(operations)} operations, {failed} failures")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
