#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that host atomic operations and fences become compiler operations with the same order, and the right processor
instructions.

usage: host_code.py <folder> <g++ or clang++> <option>...

The script writes a source with a function for each operation and order, compiles it with the options, and compares two things for each
function: the atomic operations with their orders in the compiler's intermediate representation (g++: -fdump-tree-optimized; clang++:
-emit-llvm), because a processor may use one instruction for several orders; and, on x86-64, the instructions where they differ between
orders. Exit status: 0 if all functions are as expected, 1 if not.
"""

import pathlib
import platform
import re
import subprocess
import sys

ORDERS = {"relaxed": 0, "acquire": 2, "release": 3, "acq_rel": 4, "seq_cst": 5}
LLVM = {"relaxed": "monotonic", **{order: order for order in ORDERS if order != "relaxed"}}
LOADS, STORES, BOTH = ("relaxed", "acquire", "seq_cst"), ("relaxed", "release", "seq_cst"), tuple(ORDERS)
OF_FAILURE = {"relaxed": "relaxed", "acquire": "acquire", "release": "relaxed", "acq_rel": "acquire", "seq_cst": "seq_cst"}
MEMORY = "membar::atomic_ref<int, membar::thread_scope::system>(*object)"


def cases():
    """Yields (name, result and parameters, body, [(operation, order)]) for each function and the operations that it must become."""
    for order in LOADS:
        yield f"load_{order}", "int", f"return {MEMORY}.load(membar::{order});", [("load", order)]
        yield f"wait_{order}", "void", f"{MEMORY}.wait(1, membar::{order});", [("load", order)]
    for order in STORES:
        yield f"store_{order}", "void", f"{MEMORY}.store(1, membar::{order});", [("store", order)]
    for order in ("relaxed", "release"):
        yield f"add_{order}", "void", f"{MEMORY}.add(7, membar::{order});", [("add", order)]
    for order in BOTH:
        yield f"exchange_{order}", "int", f"return {MEMORY}.exchange(7, membar::{order});", [("exchange", order)]
        yield f"fetch_add_{order}", "int", f"return {MEMORY}.fetch_add(7, membar::{order});", [("add", order)]
        yield f"fetch_and_{order}", "int", f"return {MEMORY}.fetch_and(7, membar::{order});", [("and", order)]
        swap = ("compare_exchange", order, OF_FAILURE[order])
        yield f"compare_exchange_{order}", "int", f"int e = 1; return {MEMORY}.compare_exchange(e, 7, membar::{order});", [swap]
        update = ("compare_exchange", order, "relaxed")
        yield f"fetch_max_{order}", "int", f"return {MEMORY}.fetch_max(7, membar::{order});", [("load", "relaxed"), update]
        if order != "relaxed":
            yield f"fence_{order}", "void", f"*object = 1; membar::thread_fence<membar::thread_scope::system>(membar::{order}); object[1] = 2;", [("fence", order)]


def gnu_operations(function):
    """Yields the operations in g++'s dump of a function, in order, as (operation, success order, failure order)."""
    names = {number: order for order, number in ORDERS.items()}
    for line in function.splitlines():
        if match := re.search(r"__atomic_(load|store|exchange|thread_fence)(?:_4)? \((.*)\);", line):
            yield match[1].replace("thread_", ""), names[int(match[2].split(",")[-1])]
        elif match := re.search(r"__atomic_(?:fetch_(\w+?)|(\w+?)_fetch)_4 \((.*)\);", line):
            yield match[1] or match[2], names[int(match[3].split(",")[-1])]
        elif match := re.search(r"ATOMIC_COMPARE_EXCHANGE \(.*, (\d+), (\d+)\);", line):
            yield "compare_exchange", names[int(match[1])], names[int(match[2])]


def llvm_operations(function):
    names = {word: order for order, word in LLVM.items()}
    for line in function.splitlines():
        if match := re.search(r"\b(load|store) atomic .*? (monotonic|acquire|release|seq_cst), align", line):
            yield match[1], names[match[2]]
        elif match := re.search(r"\batomicrmw (?:volatile )?(\w+) .*? (monotonic|acquire|release|acq_rel|seq_cst)(?:,|$)", line):
            yield {"xchg": "exchange"}.get(match[1], match[1]), names[match[2]]
        elif match := re.search(r"\bcmpxchg .*? (monotonic|acquire|release|acq_rel|seq_cst) (monotonic|acquire|seq_cst)(?:,|$)", line):
            yield "compare_exchange", names[match[1]], names[match[2]]
        elif match := re.search(r"\bfence (acquire|release|acq_rel|seq_cst)$", line.strip()):
            yield "fence", names[match[1]]


# For x86-64: the instructions that a function must contain, and those that it must not contain.
FULL = r"\b(?:mfence|lock|xchg)"
INSTRUCTIONS = {"store_seq_cst": (FULL, None), "fence_seq_cst": (FULL, None), "store_release": (r"\bmov", FULL), "load_seq_cst": (r"\bmov", FULL),
                "publish": (r"\bsfence\b", None)}


def main():
    folder, compiler = pathlib.Path(sys.argv[1]), sys.argv[2:]
    folder.mkdir(parents=True, exist_ok=True)
    every = list(cases())
    text = "#include <membar/atomic.hpp>\n#include <membar/fence.hpp>\n#include <version>\n#if __has_include(<cuda_runtime_api.h>) && defined(__cpp_lib_source_location)\n#include <membar/mapped_memory.hpp>\n" \
           'extern "C" void publish() { membar::write_combined_memory<int>::publish(); }\n#endif\n'
    for name, result, body, _ in every:
        text += f'extern "C" {result} {name}(int* object);\nextern "C" {result} {name}(int* object) {{ {body} }}\n'
    source, assembly, dump = folder / "host.cpp", folder / "host.s", folder / "host.dump"
    source.write_text(text, encoding="utf-8")
    clang = "clang" in subprocess.run([compiler[0], "--version"], capture_output=True, text=True, check=True).stdout
    common = [*compiler, "-O1", "-S", source, "-o", assembly]
    subprocess.run(common if clang else [*common, f"-fdump-tree-optimized={dump}"], check=True)
    if clang:
        subprocess.run([*compiler, "-O1", "-S", "-emit-llvm", source, "-o", dump], check=True)
        functions = dict(re.findall(r"^define [^@]*@(\w+)\((.*?)^}", dump.read_text(), re.MULTILINE | re.DOTALL))
        operations = llvm_operations
    else:
        functions = dict(re.findall(r"^;; Function (\w+) (.*?)^}", dump.read_text(), re.MULTILINE | re.DOTALL))
        operations = gnu_operations
    failed = 0
    for name, _, _, expected in every:
        found = list(operations(functions[name]))
        found = [one for one, before in zip(found, [None, *found]) if one != before]  # A compiler may hoist the start of a loop.
        if found != expected:
            failed += 1
            print(f"{name} became {found}, but must become {expected}")
    code = dict(re.findall(r"^(\w+):[^\n]*\n(.*?)\.size\s+\1", assembly.read_text(), re.MULTILINE | re.DOTALL))
    checked = 0
    for name, (has, has_not) in INSTRUCTIONS.items() if platform.machine() == "x86_64" else ():
        if name not in code:
            continue
        checked += 1
        if not re.search(has, code[name]) or (has_not and re.search(has_not, code[name])):
            failed += 1
            print(f"{name} becomes\n{code[name]}which must have {has}{f' and not {has_not}' if has_not else ''}")
    print(f"{len(every)} host functions, {checked} checked by their instructions, {failed} not as expected")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
