#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that no check in a test's kernel was decided by the compiler.

  kernel_checks.py [--compile NAME]... [--jobs N] SOURCE.cu... -- NVCC OPTION...

A compiler may know what a plain variable holds, from what the thread has stored there. Then it removes a check of it, and the test cannot
fail. So kernels of tests have their checks in `checked` of tests/common/checked.cuh, which leaves an instruction in the PTX. The sources
whose kernels have checks are compiled to PTX, or those of them that are named. In each kernel what a check got must not be always the
constant 0, and must come from memory, from inline PTX or from another thread. Every check of a source that was compiled must be in a
kernel; of a header, if all were. In all sources, and the headers of tests/ that they read, what counts without `checked` is reported.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
MARK = "// checked"
HELPER = "checked.cuh"
CALL = re.compile(r"\bchecked\(")
# Counts what it finds: adds 0 or 1, or the result of a comparison.
UNMARKED = re.compile(r"(?:\+=|\|=)(?!.*\bchecked\().*(?:\? *[01]U? *: *[01]U?\b| (?:==|!=|<=|>=|<|>) )")
INCLUDE = re.compile(r'^#include (?:<(tests/[^>]+)>|"([^"]+)")', re.M)

FUNCTION = re.compile(r"^(?:\.visible |\.weak )*\.(?:entry|func)\b.*?(\w+)\($")
LOCATION = re.compile(r"\.loc\s+(\d+) (\d+) \d+(?:, function_name \S+, inlined_at (\d+) (\d+) \d+)?")
INSTRUCTION = re.compile(r"(?:@!?%p\d+ +)?([a-z][\w.:]*)\s+(.*?);")
RESULT = re.compile(r"\{[^}]*\}|[^,|]+(?:\|[^,]+)?")
REGISTER = re.compile(r"%[a-z]+\d+")
WITHOUT_RESULT = ("st.", "red.", "bra", "ret", "bar.", "barrier.")
# What these return the compiler does not know.
UNKNOWN = re.compile(r"ld\.(?!param)|ldu|atom|shfl|vote|match|activemask|bar(rier)?\.\S*red")


def read_by(source):
    """The source, and what it includes of the tests, except the helper itself."""
    found, todo = set(), [source]
    while todo:
        file = todo.pop()
        if file not in found and file.name != HELPER:
            found.add(file)
            for of_root, beside in INCLUDE.findall(file.read_text()):
                included = ROOT / of_root if of_root else file.parent / beside
                if included.exists():
                    todo.append(included.resolve())
    return found


def functions(ptx):
    """The name and the lines of each function."""
    name, lines = None, []
    for line in ptx.splitlines():
        if name is None:
            begin = FUNCTION.match(line)
            if begin:
                name, lines = begin[1], []
        elif line == "}":
            yield name, lines
            name = None
        else:
            lines.append(line.strip())


def definitions(lines):
    """For each register the opcodes and operands of the instructions that write it. A register that nothing else writes is inline PTX's."""
    written, of_inline, inline = {}, set(), False
    for line in lines:
        if line.startswith("// begin inline asm"):
            inline = True
        elif line.startswith("// end inline asm"):
            inline = False
        elif inline:
            of_inline.update(REGISTER.findall(line))
        else:
            found = INSTRUCTION.match(line)
            if found and not (found[1].startswith(WITHOUT_RESULT) and "red" not in found[1].split(".")[1:]):
                result = RESULT.match(found[2])
                for register in REGISTER.findall(result[0]):
                    written.setdefault(register, []).append((found[1], found[2][result.end():].strip(", ").split(", ")))
    return {register: [("inline", [""])] for register in of_inline} | written


def constant(value, written):
    """The number that a register always holds, if it is written once and by a move."""
    while not re.fullmatch(r"-?\d+", value):
        places = written.get(value, [])
        if len(places) != 1 or not places[0][0].startswith("mov.") or len(places[0][1]) != 1:
            return None
        value = places[0][1][0]
    return int(value)


def from_outside(register, written):
    """Whether a value depends on what the compiler does not know, or is written in several places, where control decides."""
    seen, todo = set(), [register]
    while todo:
        each = todo.pop()
        if each in seen:
            continue
        seen.add(each)
        places = written.get(each, [])
        if len(places) > 1 or any(opcode == "inline" or UNKNOWN.match(opcode) or "[retval" in operands[0] for opcode, operands in places):
            return True
        todo += [register for _, operands in places for operand in operands for register in REGISTER.findall(operand)]
    return False


def marks(ptx):
    """Of each kernel and each check in it: file, line, whether it can find something, and whether that comes from outside."""
    files = {number: pathlib.Path(file).resolve() for number, file in re.findall(r'^\s*\.file\s+(\d+) "([^"]*)"', ptx, re.M)}
    for name, lines in functions(ptx):
        written = definitions(lines)
        copies, place = {}, None
        for line in lines:
            location = LOCATION.match(line)
            if location:
                place = (files[location[3] or location[1]], int(location[4] or location[2]))
            elif MARK in line:
                copies.setdefault(place, []).append(REGISTER.findall(line)[1])
        for place, got in copies.items():
            yield name, place, any(constant(each, written) != 0 for each in got), any(from_outside(each, written) for each in got)


def compiled(source, nvcc):
    with tempfile.TemporaryDirectory() as folder:
        ptx = pathlib.Path(folder, "kernels.ptx")
        subprocess.run([*nvcc, "-lineinfo", "-ptx", "-arch=sm_90", "-o", ptx, source], check=True)
        return list(marks(ptx.read_text()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="append", metavar="NAME", help="compile the sources of these names only")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("sources", nargs="+", type=lambda name: pathlib.Path(name).resolve())
    own = sys.argv.index("--")
    arguments, nvcc = parser.parse_args(sys.argv[1:own]), sys.argv[own + 1:]

    read = {source: read_by(source) for source in arguments.sources}
    calls = {(file, number): line.split("//")[0] for file in set().union(*read.values())
             for number, line in enumerate(file.read_text().splitlines(), 1)}
    marked = {place for place, code in calls.items() if CALL.search(code)}
    sources = [source for source in read if any(place[0] in read[source] for place in marked)]
    if arguments.compile:
        sources = [source for source in sources if source.name in arguments.compile]
        if len(sources) != len(arguments.compile):
            parser.error(f"of {', '.join(arguments.compile)} only {len(sources)} are sources with checks")

    faults = {(place, "counts what it finds without `checked`") for place, code in calls.items() if UNMARKED.search(code)}
    present, of_kernels, checks = set(), {}, 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for name, place, finds, outside in [mark for each in pool.map(lambda source: compiled(source, nvcc), sources) for mark in each]:
            present.add(place)
            checks += 1
            if not finds:
                of_kernels.setdefault((place, "the compiler has decided this check, so that it finds nothing"), []).append(name)
            elif not outside:
                of_kernels.setdefault((place, "what this checks is from no memory and no other thread"), []).append(name)
    faults |= {(place, "this check is in no kernel") for place in marked - present if place[0] in sources or not arguments.compile}
    faults |= {(place, f"{words}, in {len(names)} kernels, such as {names[0]}") for (place, words), names in of_kernels.items()}
    for (file, number), words in sorted(faults):
        print(f"{file.relative_to(ROOT)}:{number}: {words}")
    print(f"{len(faults)} faults; {checks} checks in kernels of {len(sources)} sources, from {len(present)} places of {len(marked)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
