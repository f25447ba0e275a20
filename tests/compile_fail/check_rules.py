#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks each rule in a compile-fail file, and records whether the compiler rejects it for the expected reason.

usage: check_rules.py [--each-alone] <file.cpp|file.cu> <results folder> -- <compiler> <option>... [-- <option of the control>...]

The file states its rules with the macros of refused.hpp. Without any RULE_ macro, the file must compile: this is the positive control. Then
all rules are broken together. An error confirms a rule if it arises in the rule's lines, or in a template that these lines instantiate, and
contains the expected words. No other error may arise there, because a user should get one message per mistake. The remaining rules are
broken together again, because a compiler reports an instantiation only once. When a round confirms no rule, each remaining rule
is broken by itself: the file must then fail to compile, with exactly one error, and the output must contain the expected words.
<results folder>/<rule>.txt and control.txt begin with PASSED or FAILED. Exit status: 0 if all passed.
"""

import argparse
import collections
import os
import pathlib
import re
import subprocess
import sys

RULE = re.compile(r"^ *// expect: (.+)\n *REFUSED\(\s*(\w+),", re.MULTILINE)
# file.cu(12): error: ...          at line 12 of file.cu
EDG_ERROR = re.compile(r"^(.+)\((\d+)\): (?:catastrophic )?(?:error|warning)\b")
EDG_ORIGIN = re.compile(r"\b(?:instantiation|generation|substitution)\b.* at line (\d+) of (.+)$")
# file.cpp:12:3: error: ...        file.cpp:12:3:   required from here
GCC_ERROR = re.compile(r"^(.+?):(\d+):(?:\d+:)? (?:fatal )?(?:error|warning): ")
GCC_NOTE = re.compile(r"^.+?:\d+:(?:\d+:)? note: ")
GCC_ORIGIN = re.compile(r"^(.+?):(\d+):(?:\d+:)? +(?:required|recursively required|in ['‘]constexpr)")

# The file that config.hpp includes after an #error, so that the compiler reports no further errors.
END_OF_COMPILATION = "the_error_above_ends_the_compilation"
Rule = collections.namedtuple("Rule", "name words lines")  # The expected words, and the numbers of the lines that break the rule.


def rules_of(text):
    found = []
    for match in RULE.finditer(text):
        end, depth = match.end(), 1
        while depth:
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            end += 1
        found.append(Rule(match[2], match[1], range(text.count("\n", 0, match.end()) + 1, text.count("\n", 0, end) + 2)))
    return found


def errors(output):
    """Splits the compiler's output into errors, each with its notes: (text, [(file, line) where it arises])."""
    found, context = [], []
    for line in output.splitlines():
        if match := GCC_ERROR.match(line) or EDG_ERROR.match(line):
            places = [origin.groups() for before in context if (origin := GCC_ORIGIN.match(before))]
            found.append(([*context, line], [match.groups(), *places]))
            context = []
        elif found and (not line or line[0].isspace() or GCC_NOTE.match(line)):
            found[-1][0].extend([*context, line])
            context = []
            if origin := EDG_ORIGIN.search(line):
                found[-1][1].append(origin.groups()[::-1])
        elif found and EDG_ERROR.match(line.replace(" note", " error", 1)):
            found[-1][0].append(line)
        else:
            context.append(line)
    every = [("\n".join(text), [(file, int(number)) for file, number in places]) for text, places in found]
    return [(text, places) for text, places in every if END_OF_COMPILATION not in text.split("\n", 1)[0]]


def number_of(errors_of_rule):
    return f"the compiler reports {len(errors_of_rule)} errors for the broken rule instead of one\n" + "\n".join(errors_of_rule)


def main():
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--each-alone", action="store_true", help="break the rules one at a time")
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("results", type=pathlib.Path)
    arguments = parser.parse_args(sys.argv[1:split])
    compiler, of_control = sys.argv[split + 1:], []
    if "--" in compiler:
        compiler, of_control = compiler[:compiler.index("--")], compiler[compiler.index("--") + 1:]
    source = arguments.source
    rules = rules_of(source.read_text(encoding="utf-8"))
    arguments.results.mkdir(parents=True, exist_ok=True)
    for old in arguments.results.glob("*.txt"):
        old.unlink()
    failed = []

    def compile_with(broken, options=()):
        done = subprocess.run([*compiler, *options, *(f"-DRULE_{rule.name}" for rule in broken), source], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        return done.returncode != 0, done.stdout

    def record(name, passed, text):
        if not passed:
            failed.append(name)
            print(f"{name}: {text}")
        (arguments.results / f"{name}.txt").write_text(f"{'PASSED' if passed else 'FAILED'}\n{text}\n", encoding="utf-8")

    refused, said = compile_with([], of_control)
    record("control", not refused, f"the positive control does not compile: {source} without any rule broken\n{said}" if refused else "")
    if refused:
        for rule in rules:
            record(rule.name, False, "the positive control of this file does not compile")
        return 1

    left, rounds = list(rules), 0
    while left and not arguments.each_alone:
        rounds += 1
        refused, said = compile_with(left)
        confirmed, reported = {}, {}
        for text, places in errors(said) if refused else []:
            lines = {line for file, line in places if os.path.basename(file) == source.name}
            for rule in left:
                if not lines.isdisjoint(rule.lines):
                    reported.setdefault(rule.name, []).append(text)
                    if rule.words in text:
                        confirmed.setdefault(rule.name, text)
        for name, text in confirmed.items():
            once = len(reported[name]) == 1
            record(name, once, text if once else number_of(reported[name]))
        left = [rule for rule in left if rule.name not in confirmed]
        if not confirmed:
            break
    for rule in left:
        refused, said = compile_with([rule])
        if not refused:
            record(rule.name, False, f"the rule is broken, but {source} compiles")
        elif rule.words in said and len(errors(said)) != 1:
            record(rule.name, False, number_of([text for text, _ in errors(said)]))
        else:
            record(rule.name, rule.words in said, said if rule.words in said else
                   f"the rule is broken, but the compiler does not report\n  {rule.words}\nbut\n{said}")
    print(f"{len(rules)} rules: {len(rules) - len(left)} broken together in {rounds} rounds, {len(left)} alone; {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
