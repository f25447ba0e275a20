#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks one part of the codegen matrix that matrix.py wrote: the instructions of every case, and the machine code of the cases that also
exist in hand-written form.

usage: check_matrix.py [--ptx-only] <part.json> -- <nvcc> <option>... [-- <option of the compilation to PTX>...]

From each kernel's PTX, the script extracts the instructions that access memory, order accesses or wait, and compares them, in order, with
the expected ones. Fences must be outside of loops. Then it assembles both files; the code of each kernel must be identical in both.
Kernels without a hand-written counterpart are assembled without optimization. PTX that ptxas rejects is also compared. Exit status: 0 if all
cases are as expected, 1 if not, 2 if the part does not compile and there is no PTX or no difference.
"""

import argparse
import collections
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from kernel_code import code_of_kernels, run, split_arguments

ENTRY = re.compile(r"\.entry (\w+)\(.*?\n\{\n(.*?)\n\n\}\n", re.DOTALL)
VISIBLE_ENTRY = re.compile(r"\.visible \.entry (\w+)\(.*?\n\{\n.*?\n\n\}\n", re.DOTALL)
FUNCTION = re.compile(r"\.func\s+(?:\([^)]*\)\s*)?(\w+)\s*\([^{};]*\)\s*\{\n(.*?)\n\n\}\n", re.DOTALL)
CALL = re.compile(r"call\.uni\s*(?:\([^)]*\),)?\s*(\w+),\s*\([^)]*\);")
INSTRUCTION = re.compile(r"^\s*(?:@!?%p\d+\s+)?(atom|red|fence|membar|bar|barrier|mbarrier|mapa|cp|griddepcontrol|elect|tensormap|clusterlaunchcontrol|ld|st|match|isspacep|nanosleep|bra|brx|call)([\w.:]*)(.*)$")
LABEL = re.compile(r"^(\$\w+):")
OPERANDS = {"atom": 3, "red": 2, "ld": 2, "st": 2}


def normal(instruction):
    """Returns an instruction with its modifiers sorted, because PTX accepts several orders, such as atom.add.relaxed.gpu and
    atom.relaxed.gpu.add."""
    opcode, _, rest = instruction.partition(".")
    return opcode + "".join("." + word for word in sorted(rest.split(".")) if word)


def read_kernel(body):
    """Returns the relevant instructions, the number of plain stores of results, and the fences inside loops."""
    lines = [statement for line in body.splitlines() for statement in line.split(";")]
    labels, found, stores, looped, ranges = {}, [], 0, [], []
    for number, line in enumerate(lines):
        if match := LABEL.match(line):
            labels[match.group(1)] = number
        match = INSTRUCTION.match(line)
        if not match:
            continue
        opcode, modifiers, operands = match.groups()
        if opcode in ("bra", "brx"):
            target = re.search(r"\$\w+", operands)
            if target and target.group(0) in labels:  # a backward branch
                ranges.append((labels[target.group(0)], number))
            continue
        if opcode == "nanosleep" or modifiers.startswith(".param"):
            continue
        if opcode == "st" and modifiers.startswith(".global"):
            stores += 1
            continue
        found.append((number, normal(opcode + modifiers)))
    for first, last in ranges:
        looped += [i for number, i in found if first <= number <= last and i.startswith(("fence", "membar"))]
    return [i for _, i in found], stores, looped, bool(ranges)


def differences(name, expected, body):
    found, stores, fences_in_loops, has_loop = read_kernel(body)
    if expected["looped"]:  # A loop; the compiler may peel its first iteration.
        found = [i for i, before in zip(found, [None, *found]) if i != before]
    remaining = collections.deque(found)
    for wanted in expected["instructions"]:
        choices = sorted(map(normal, wanted)) if isinstance(wanted, list) else [normal(wanted)]
        got = sorted(remaining.popleft() for _ in range(min(len(choices), len(remaining))))
        if got != choices:
            return f"{name}: expected {expected['instructions']}, found {found}"
    if remaining:
        return f"{name}: expected {expected['instructions']}, found {found}"
    if fences_in_loops:
        return f"{name}: {fences_in_loops} in a loop"
    if has_loop != expected["looped"]:
        return f"{name}: {'a' if has_loop else 'no'} loop"
    # Several instructions may store a result of 16 bytes or more.
    if (stores == 0) != (expected["stores"] == 0):
        return f"{name}: expected {expected['stores']} plain stores, found {stores}"
    return None


def main():
    options, nvcc, of_ptx = split_arguments()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ptx-only", action="store_true", help="compare only the PTX, not the machine code")
    parser.add_argument("part", type=pathlib.Path)
    arguments = parser.parse_args(options)
    part = json.loads(arguments.part.read_text())
    cases = part["cases"]
    architecture = f"-arch=sm_{part['architecture']}"
    source = arguments.part.with_suffix(".cu")

    with tempfile.TemporaryDirectory() as folder:
        ptx = pathlib.Path(folder, "membar.ptx")
        compiled = subprocess.run([*nvcc, *of_ptx, "-ptx", architecture, "-o", ptx, source], capture_output=True, text=True)
        if compiled.returncode != 0:
            print(compiled.stdout + compiled.stderr, file=sys.stderr)
        if not ptx.exists():
            sys.exit(2)
        functions = dict(FUNCTION.findall(ptx.read_text()))
        # A function that a kernel calls counts as part of the kernel, such as the loop for objects in another block's shared
        # memory.
        kernels = {name: CALL.sub(lambda call: functions.get(call.group(1), call.group(0)), body) for name, body in ENTRY.findall(ptx.read_text())}
        wrong = [d for name, case in cases.items() if (d := differences(name, case, kernels.get(name, "")))]
        hand = {name for name, case in cases.items() if case["by_hand"]}
        if compiled.returncode == 0 and not arguments.ptx_only:
            ours, theirs = pathlib.Path(folder, "membar.cubin"), pathlib.Path(folder, "by_hand.cubin")
            others = pathlib.Path(folder, "others.ptx")
            text = ptx.read_text()
            others.write_text(VISIBLE_ENTRY.sub(lambda match: "" if match.group(1) in hand else match.group(0), text))
            ptx.write_text(VISIBLE_ENTRY.sub(lambda match: match.group(0) if match.group(1) in hand else "", text))
            run([*nvcc, "-cubin", architecture, "-Xptxas=-O0", "-o", pathlib.Path(folder, "others.cubin"), others])
            run([*nvcc, "-cubin", architecture, "-o", ours, ptx])
            by_hand = source.with_name(source.stem + "_by_hand.cu")
            run([*nvcc, "-cubin", architecture, "-o", theirs, by_hand])
            our_code, their_code = code_of_kernels(ours), code_of_kernels(theirs)
            for name in sorted(hand):
                if not their_code.get(name):
                    wrong.append(f"{name}: the hand-written kernel is missing")
                elif our_code.get(name) != their_code[name]:
                    wrong.append(f"{name}: {len(our_code.get(name, b''))} bytes of code differ from the {len(their_code[name])} bytes of "
                                 "the hand-written kernel")
    for line in wrong:
        print(line)
    bytes_equal = "" if arguments.ptx_only else f"; the code of {len(hand)} is the same as in the hand-written kernels"
    print(f"{arguments.part.stem}: {len(cases)} cases, {len(wrong)} not as expected{bytes_equal if not wrong else ''}")
    sys.exit(1 if wrong else 2 if compiled.returncode != 0 else 0)


if __name__ == "__main__":
    main()
