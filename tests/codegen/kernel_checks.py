#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests that the compiler has not evaluated any check of a test kernel at compile time.

  kernel_checks.py [--compile NAME]... [--jobs N] SOURCE.cu... -- NVCC OPTION...
  kernel_checks.py --expected SOURCE.cu -- NVCC OPTION...

A compiler may infer the value of a plain variable: the value that the thread has stored, or the only value that any thread stores. It then
removes the load and everything that depends on it, and the test cannot fail. The script compiles the sources, or those that --compile
names, to PTX, and reports:

* a check whose result is always 0, or depends on nothing from memory, inline PTX or another thread. Test kernels pass their checks
  through `checked` in tests/common/checked.cuh, which leaves an instruction;
* a check in a source that is in no kernel and, if all sources are compiled, such a check in a header;
* a store of a constant by a line that stores the value of a pointer, an array or a shared variable, as lines with results for the host do;
* in all sources, and in the headers of tests/ that they include: code that counts findings without `checked`, except in the kernels
  that membar-check reads, which do not include the test headers.

With --expected, exactly the lines with a comment `// expect: WORDS` must have a fault, with these words.
"""
import argparse
import concurrent.futures
import functools
import itertools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
TESTS = ROOT / "tests"
MARK = "// checked"
HELPER = "checked.cuh"
CALL = re.compile(r"\bchecked\(")
# Functions that count findings: their arguments add 0 or 1, or the result of a comparison.
UNMARKED = re.compile(r"(?:\+=|\|=)(?!.*\bchecked\().*(?:\? *[01]U? *: *[01]U?\b| (?:==|!=|<=|>=|<|>) )")
EXPECTED = re.compile(r"// expect: (.+)")
SHARED = re.compile(r"__shared__[^;=(]*?(\w+)(?:\[[^\]]*\])*;")
ASSIGNED = re.compile(r"[^=!<>]=(?!=)([^;]*);")
INCLUDE = re.compile(r'^#include (?:<(tests/[^>]+)>|"([^"]+)")', re.M)

FUNCTION = re.compile(r"^(?:\.visible |\.weak )*\.(?:entry|func)\b.*?(\w+)\(\)?$")
LOCATION = re.compile(r"\.loc\s+(\d+) (\d+) \d+(?:, function_name \S+, inlined_at (\d+) (\d+) \d+)?")
INSTRUCTION = re.compile(r"(?:@!?%p\d+ +)?([a-z][\w.:]*)\s+(.*?);")
STORE = re.compile(r"(?:@!?%p\d+ +)?st\.\S+\s+\[[^\]]*\],\s*(.*);")
RESULT = re.compile(r"\{[^}]*\}|[^,|]+(?:\|[^,]+)?")
REGISTER = re.compile(r"%[a-z]+\d+")
VALUE = re.compile(r"%[a-z]+\d+|-?\b\d+")
WITHOUT_RESULT = ("st.", "red.", "bra", "ret", "bar.", "barrier.")
# Functions whose results the compiler does not know.
UNKNOWN = re.compile(r"ld\.(?!param)|ldu|atom|shfl|vote|match|activemask|bar(rier)?\.\S*red")


def read_by(source):
    """Returns the source and the test headers that it includes, except for the helper itself."""
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
    """Yields the name and the lines of each function."""
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
    """Returns, for each register, the opcodes and operands of the instructions that write it. A register that no instruction
    writes is written by inline PTX."""
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
    """Returns the constant that a register always holds, if a move is the only instruction that writes the register."""
    while not re.fullmatch(r"-?\d+", value):
        places = written.get(value, [])
        if len(places) != 1 or not places[0][0].startswith("mov.") or len(places[0][1]) != 1:
            return None
        value = places[0][1][0]
    return int(value)


def from_outside(register, written):
    """Returns whether a value depends on something the compiler does not know, or is written in several places, so that control flow
    decides."""
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


@functools.cache
def reads_variable(place):
    """Returns whether the line stores a value held by a pointer, an array or a shared variable."""
    file, number = place
    if not file.is_relative_to(ROOT) or file.is_relative_to(ROOT / "include") or number == 0:
        return False
    text = file.read_text()
    value = ASSIGNED.search(text.splitlines()[number - 1].split("//")[0])
    names = "|".join(SHARED.findall(text)) or "(?!)"
    return value is not None and re.search(rf"\w\[|(?<![\w)] )\*\w|->|\b(?:{names})\b", value[1]) is not None


def findings(ptx):
    """Yields for each kernel its name, the places of its checks, and its faults, each with a place and a message."""
    files = {number: pathlib.Path(file).resolve() for number, file in re.findall(r'^\s*\.file\s+(\d+) "([^"]*)"', ptx, re.M)}
    for name, lines in functions(ptx):
        written, got, faults = definitions(lines), {}, set()
        inner = outer = (pathlib.Path(), 0)
        for line in lines:
            location, store = LOCATION.match(line), STORE.match(line)
            if location:
                inner = (files[location[1]], int(location[2]))
                outer = (files[location[3]], int(location[4])) if location[3] else inner
            elif MARK in line:
                got.setdefault(outer, []).append(REGISTER.findall(line)[1])
            elif store and all(constant(each, written) is not None for each in VALUE.findall(store[1])) and reads_variable(inner):
                faults.add((inner, "a constant is stored, although the line stores a variable's value"))
        for place, registers in got.items():
            if all(constant(each, written) == 0 for each in registers):
                faults.add((place, "the compiler has decided this check, so it can never find anything"))
            elif not any(from_outside(each, written) for each in registers):
                faults.add((place, "this check depends on no memory and no other thread"))
        yield name, set(got), faults


def compiled(source, nvcc):
    with tempfile.TemporaryDirectory() as folder:
        ptx = pathlib.Path(folder, "kernels.ptx")
        subprocess.run([*nvcc, "-lineinfo", "-ptx", "-arch=sm_90", "-o", ptx, source], check=True)
        return list(findings(ptx.read_text()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", action="append", metavar="NAME", help="compile only the sources with these names")
    parser.add_argument("--expected", action="store_true")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("sources", nargs="+", type=lambda name: pathlib.Path(name).resolve())
    own = sys.argv.index("--")
    arguments, nvcc = parser.parse_args(sys.argv[1:own]), sys.argv[own + 1:]
    sources = [source for source in arguments.sources if not arguments.compile or source.name in arguments.compile]
    if arguments.compile and len(sources) != len(arguments.compile):
        parser.error(f"only {len(sources)} of {', '.join(arguments.compile)} are among the sources")

    lines = {(file, number): line for file in set().union(*map(read_by, arguments.sources))
             for number, line in enumerate(file.read_text().splitlines(), 1)}
    code = {place: line.split("//")[0] for place, line in lines.items()}
    marked = {place for place, line in code.items() if CALL.search(line)}
    faults = [(place, "counts findings without `checked`") for place, line in code.items()
              if UNMARKED.search(line) and place[0].is_relative_to(TESTS) and not place[0].is_relative_to(TESTS / "check")]
    present, in_kernels, kernels, checks = set(), {}, 0, 0
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for name, places, wrong in itertools.chain.from_iterable(pool.map(lambda source: compiled(source, nvcc), sources)):
            kernels += 1
            checks += len(places)
            present |= places
            for fault in wrong:
                in_kernels.setdefault(fault, []).append(name)
    faults += [(place, f"{words}, in {len(names)} kernels, such as {names[0]}") for (place, words), names in in_kernels.items()]
    faults += [(place, "this check is in no kernel") for place in marked - present if place[0] in sources or not arguments.compile]
    if arguments.expected:
        expected = {place: EXPECTED.search(line)[1] for place, line in lines.items() if EXPECTED.search(line)}
        found = dict(faults)
        wrong = [place for place in expected.keys() | found.keys() if expected.get(place, "(none)") not in found.get(place, "")]
        for file, number in sorted(wrong):
            print(f"{file.relative_to(ROOT)}:{number}: found {found.get((file, number))}, expected {expected.get((file, number))}")
        print(f"{len(expected)} faults expected, {len(faults)} found")
        return 1 if wrong or len(faults) != len(expected) else 0
    for (file, number), words in sorted(faults):
        print(f"{file.relative_to(ROOT)}:{number}: {words}")
    print(f"{len(faults)} faults; {checks} checks in {kernels} kernels of {len(sources)} sources, from {len(present)} places of {len(marked)}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
