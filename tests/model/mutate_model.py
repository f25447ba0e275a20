#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks the model's source in one place at a time, and counts the mutants that the model's tests detect.

usage: mutate_model.py [--sample N] [--jobs N] [--list] [--update] FOLDER -- COMPILER OPTION...

Each condition, value and statement in the axioms and the enumeration is changed in several ways. All mutants are compiled into one
program (source_mutants.cpp), which selects one at run time; mutants that do not compile are left out. With each mutant, the program runs
the model's tests: TESTS, the catalogue, tests/model/small, search_cases.hpp, and the random tests of properties_test.cpp. It needs
GoogleTest. --jobs gives the number of mutants that run at once, by default the number of cores. A mutant that no test detects must be
listed in source_mutants.txt, below the reason why the mutation has no effect. Generated files go to FOLDER.

Exit status: 0 if exactly the mutants of source_mutants.txt survive and at least 200 compile, else 1.
"""

import argparse
import concurrent.futures
import hashlib
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FILES = ["axioms", "barrier_groups", "causality", "coherence", "enumerate", "event_structure", "private_memory", "morally_strong",
         "partial_execution", "program", "races", "relation", "thread_paths", "waiting_loops"]
# Tests that run with each mutant. The program itself contains the random tests, and compares their answers with the unmodified model's.
TESTS = ["asynchronous_test", "catalogue_test", "coherence_test", "header_guarantees_test", "multimem_test", "named_test", "race_test", "readings_test", "search_test",
         "verdicts_test"]
# The tools' headers that the program includes.
TOOLS = ["litmus/equal_threads.hpp", "litmus/explain.hpp", "litmus/reader.hpp", "litmus/readings.hpp", "litmus/search_bounds.hpp", "litmus/writer.hpp"]
CATALOGUE = ROOT / "tests/litmus/catalogue"
NO_REASON = "No reason yet: a test is missing, or the mutation has no effect."
EXPLAINED = HERE / "source_mutants.txt"

# Selects the mutant. Code that is evaluated at compile time is never mutated.
CHOICE = """#pragma once
#include <type_traits>
namespace NAMESPACE {
inline int active_mutant = 0;
[[nodiscard]] constexpr bool mutant(int number) noexcept { return !std::is_constant_evaluated() && active_mutant == number; }
}  // namespace NAMESPACE
"""

# Replacements for text other than operators.
WORDS = {
    "po_loc": ["po"], "same_address": ["overlap"], "overlap": ["same_address"], "strong_writes": ["strong_reads"], "reads": ["writes"],
    "acquires": ["releases"], "releases": ["acquires"], "cause": ["base"], "arrives": ["waits"], "waits": ["arrives"],
    "address": ["physical"], "physical": ["address"], "true": ["false"], "false": ["true"],
}
BINDS = {"?": 1, ":": 1, "||": 2, "&&": 3, "|": 4, "&": 5, "==": 6, "!=": 6, "<": 7, "<=": 7, ">": 7, ">=": 7, "<<": 8, ">>": 8, "+": 9, "-": 9}
INSTEAD = {"==": ["!="], "!=": ["=="], "<": ["<="], "<=": ["<"], ">": [">="], ">=": [">"], "+": ["-"], "-": ["+"]}
NO_STATEMENT = r"(?:return|throw|const|constexpr|if|else|for|while|do|switch|case|default|using|struct|class|enum|template|static|public|private|protected|virtual|explicit|friend)\b"
# Parts of a condition that are not mutated: the switches for single rules, which are all on, and the test for constant evaluation.
RULE = re.compile(r"rules_?\.|Rules::complete|is_constant_evaluated")
TOKEN = re.compile(r"\w+|->|::|\+\+|--|[|&]{2}|[=!<>]=|<<|>>|.", re.S)


def masked(text):
    """Returns the text with comments, strings and preprocessor lines blanked out."""
    return re.sub(r'//[^\n]*|"(?:[^"\\\n]|\\.)*"|^#[^\n]*', lambda m: " " * len(m.group()), text, flags=re.M)


def closing(text, open_at):
    depth = 0
    for at in range(open_at, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth == 0:
            return at
    raise SystemExit("mutate_model.py: brackets do not match")


def until_semicolon(text, start):
    """Returns the end of the expression at `start`, that is, the position of its semicolon, or None if a bracket closes before the semicolon."""
    depth = 0
    for at in range(start, len(text)):
        depth += (text[at] in "([{") - (text[at] in ")]}")
        if depth < 0:
            return None
        if depth == 0 and text[at] == ";":
            return at
    return None


def expressions(code):
    """Returns (start, end, is a condition) for each expression that can run."""
    found = set()
    for m in re.finditer(r"\bif \(", code):
        found.add((m.end(), closing(code, m.end() - 1), True))
    for m in re.finditer(r"\breturn (?=[^;{])| [|&]?=\s+(?=[^;{\s])", code):
        end = until_semicolon(code, m.end())
        before = code[max(code.rfind(c, 0, m.start()) for c in ";{}") + 1:m.start()]
        if end is None or re.search(r"\b(static|using|template|constexpr|operator|auto \[)", before.replace("if constexpr", "")):
            continue
        found.add((m.end(), end, False))
    return sorted(e for e in found if "{" not in code[e[0]:e[1]] and "if constexpr" not in code[max(0, e[0] - 15):e[0]])


def never_runs(code):
    """Yields the (start, end) of each block that runs only if a rule is switched off."""
    for m in re.finditer(r"\bif (?:constexpr )?\(", code):
        end = closing(code, m.end() - 1)
        condition = code[m.end():end]
        if code[end:end + 3] == ") {" and "||" not in condition and re.search(r"!(?:rules_?\.holds|Rules::complete)", condition):
            yield end + 2, closing(code, end + 2)


def statements(code):
    """Yields the (start, end) of each statement that can be left out: an assignment to an existing variable, or a call."""
    for m in re.finditer(r"(?<=[;{}]\n)( +)((?!%s|[\w:]+(?:<[^\n]*>)?[&*]? [\w&*]+(?: =\s|;|\())(?:[A-Za-z_]|\+\+|--)[^\n]*)" % NO_STATEMENT, code):
        end = until_semicolon(code, m.start(2))
        if end is not None and "{" not in code[m.start(2):end] and "= delete" not in code[m.start(2):end]:
            yield m.start(2), end + 1


def piece(text, at):
    """Returns the conjunction that contains `at`: the text between the nearest || ? : , or brackets."""
    start, depth = at, 0
    while start > 0 and not (depth == 0 and (text[start - 1] in "([,?:" or text[start - 2:start] == "||")):
        start -= 1
        depth += (text[start] in ")]") - (text[start] in "([")
    end, depth = at, 0
    while end < len(text) and not (depth == 0 and (text[end] in ")],?:" or text[end:end + 2] == "||")):
        depth += (text[end] in "([") - (text[end] in ")]")
        end += 1
    return start, end


def changes(text, condition):
    """Yields the replacements for an expression. The switches for single rules are not mutated: all of them stay on."""
    tokens = [(m.group(), m.start()) for m in TOKEN.finditer(text)]
    depth, spaced = 0, []
    dead = [piece(text, m.start()) for m in re.finditer(r"!rules_?\.", text)]
    for word, at in tokens:
        if any(start <= at < end for start, end in dead):
            depth += (word in "([") - (word in ")]")
            continue
        depth -= word in ")]"
        if word in BINDS and at > 0 and text[at - 1].isspace() and text[at + len(word):at + len(word) + 1].isspace():
            spaced.append((word, at, depth))
        for new in WORDS.get(word, []):
            yield text[:at] + new + text[at + len(word):]
        if word in "~!" and not text[at + 1:].startswith(("rules", "std::is_constant_evaluated")):
            yield text[:at] + text[at + 1:]
        depth += word in "(["
    for word, at, level in spaced:
        for new in INSTEAD.get(word, []):
            yield text[:at] + new + text[at + len(word):]
        if word in ("&&", "||", "|", "&"):
            # Removes the left or the right operand, up to an operator that binds less tightly or a closing bracket.
            left, right = 0, len(text)
            inner = 0
            for other, where in reversed([t for t in tokens if t[1] < at]):
                inner += (other in ")]") - (other in "([")
                if inner < 0 or (inner == 0 and (other == "," or (other, where, level) in spaced and BINDS[other] < BINDS[word])):
                    left = where + len(other)
                    break
            inner = 0
            for other, where in [t for t in tokens if t[1] > at]:
                inner += (other in "([") - (other in ")]")
                if inner < 0 or (inner == 0 and (other == "," or (other, where, level) in spaced and BINDS[other] <= BINDS[word])):
                    right = where
                    break
            if not RULE.search(text[left:at]):
                yield text[:left] + (" " if left else "") + text[at + len(word) + 1:]
            if not RULE.search(text[at:right]):
                yield text[:at].rstrip() + (" " if right < len(text) else "") + text[right:]
    if condition and not spaced and not RULE.search(text):
        yield "true"
        yield "false"


def mutants():
    """Yields (file, start, end, new, statement) for every mutant; if `new` is empty, the statement is left out."""
    for name in FILES:
        text = (ROOT / "include/membar/model" / f"{name}.hpp").read_text()
        code = masked(text)
        dead = list(never_runs(code))

        def runs(start, end):
            return not any(a <= start and end <= b for a, b in dead)

        for start, end, condition in expressions(code):
            if not runs(start, end):
                continue
            seen = {code[start:end]}
            for new in changes(code[start:end], condition):
                if new not in seen:
                    seen.add(new)
                    yield name, start, end, new
        for start, end in statements(code):
            if not runs(start, end):
                continue
            yield name, start, end, ""
            if re.search(r" \|= ", code[start:end]):
                yield name, start, end, code[start:end].replace(" |= ", " = ", 1)


def shown(text):
    return " ".join(text.split())


def generate(folder, every, left_out):
    """Writes the headers with all mutants that are not excluded. Returns, for each line of a generated file, the mutant on that line."""
    include = folder / "include"
    shutil.rmtree(include, ignore_errors=True)
    shutil.copytree(ROOT / "include", include)
    namespace = re.search(r"^namespace (.*model) \{", (include / "membar/model/relation.hpp").read_text(), re.M).group(1)
    (include / "membar/model/mutant.hpp").write_text(CHOICE.replace("NAMESPACE", namespace))
    for name in FILES:
        path = include / "membar/model" / f"{name}.hpp"
        text = path.read_text()
        code = masked(text)
        places = {}
        for number, (file, start, end, new) in enumerate(every, 1):
            if file == name and number not in left_out:
                places.setdefault((start, end), []).append((number, new))

        def between(start, end):
            """Returns the text with these replacements applied."""
            out, at = "", start
            inside = [p for p in places if start <= p[0] and p[1] <= end and p != (start, end)]
            for place in sorted(inside, key=lambda p: (p[0], -p[1])):
                if place[0] >= at:
                    out += text[at:place[0]] + replaced(place)
                    at = place[1]
            return out + text[at:end]

        def replaced(place):
            start, end = place
            is_statement = text[end - 1] == ";"
            out = ""
            for number, new in places[place]:
                if is_statement:
                    out += f"if (mutant({number})) {{ /*mutant {number}*/\n{new} /*mutant {number}*/\n}} else "
                else:
                    out += f"mutant({number}) ? /*mutant {number}*/\n({' '.join(new.split())}) /*mutant {number}*/\n: "
            rest = between(start, end)
            return f"{out}{{ {rest} }}" if is_statement else f"({out}({rest}))"

        generated = between(0, len(text)).replace("#include <membar/model", "#include <membar/model/mutant.hpp>\n#include <membar/model", 1)
        path.write_text(generated)
    return include


def tool_sources():
    """Returns the tools' source files that the program needs. They are next to the tools' headers that the program includes directly or
    indirectly."""
    open_headers, known, sources = list(TOOLS), set(), []
    while open_headers:
        header = open_headers.pop()
        if header not in known and (ROOT / "tools" / header).exists():
            known.add(header)
            files = [ROOT / "tools" / header, (ROOT / "tools" / header).with_suffix(".cpp")]
            sources += [file for file in files[1:] if file.exists()]
            for file in files[:1] + sources[-1:]:
                open_headers += re.findall(r"^#include <([\w/]+\.hpp)>", file.read_text(), re.M)
    return sources


def compile_all(folder, every, command, jobs):
    """Compiles the program with as many mutants as possible. Returns the program, and the numbers of the mutants that do not
    compile."""
    left_out = set()
    program = folder / "source_mutants"
    definitions = [f'-DMEMBAR_LITMUS_CATALOGUE="{CATALOGUE}"', f'-DMEMBAR_SMALL_TESTS="{HERE / "small"}"']
    for attempt in range(12):
        include = generate(folder, every, left_out)
        print(f"compilation {attempt + 1}, without {len(left_out)} mutants", file=sys.stderr, flush=True)
        options = [f"-I{include}", *command[1:], f"-I{ROOT / 'tools'}", *definitions, "-w", "-fmax-errors=0"]
        tried = subprocess.run([command[0], "-fsyntax-only", *options, str(HERE / "source_mutants.cpp")], capture_output=True, text=True)
        if tried.returncode == 0:
            def compiled(source):
                object_file = str(folder / f"{source.stem}.o")
                built = subprocess.run([command[0], "-O1", *options, "-c", str(source), "-o", object_file], capture_output=True, text=True)
                if built.returncode:
                    raise SystemExit(built.stderr)
                return object_file

            with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
                objects = list(pool.map(compiled, [*(HERE / f"{name}.cpp" for name in ["source_mutants", *TESTS]), *tool_sources()]))
            linked = subprocess.run([command[0], *objects, "-o", str(program), "-lgtest", "-pthread"], capture_output=True, text=True)
            if linked.returncode:
                raise SystemExit(linked.stderr)
            return program, left_out
        broken = set()
        for file, line in re.findall(r"^([^\s:]+/membar/model/\w+\.hpp):(\d+):\d+: error:", tried.stderr, re.M):
            lines = pathlib.Path(file).read_text().split("\n")
            for near in (int(line) - 1, int(line), int(line) - 2):
                found = re.findall(r"/\*mutant (\d+)\*/", lines[near]) if near < len(lines) else []
                if found:
                    broken.add(int(found[-1] if near == int(line) - 2 else found[0]))
                    break
        if not broken - left_out:
            raise SystemExit("mutate_model.py: the program does not compile, even with all failing mutants left out:\n" + tried.stderr[:3000])
        left_out |= broken
    raise SystemExit("mutate_model.py: the program did not compile in 12 attempts")


def update(survivors, explained):
    """Rewrites the list of survivors: removes mutants that a test now detects, and adds new ones without a reason."""
    head = EXPLAINED.read_text().split("\n\n", 1)[0]
    below = {}
    for survivor in survivors:
        below.setdefault(explained.get(survivor, NO_REASON), []).append(survivor)
    reasons = sorted(below, key=lambda reason: reason.startswith(NO_REASON))
    text = "\n\n".join("\n".join([reason, *(f"  {s}" for s in dict.fromkeys(below[reason]))]) for reason in reasons)
    EXPLAINED.write_text(f"{head}\n\n{text}\n")


def main():
    arguments = sys.argv[1:]
    command = arguments[arguments.index("--") + 1:] if "--" in arguments else []
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, help="try only this many mutants; every change of the model selects different ones")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many mutants run at once")
    parser.add_argument("--list", action="store_true", help="print the mutants and do nothing")
    parser.add_argument("--update", action="store_true", help="rewrite source_mutants.txt with the survivors, keeping the reasons")
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args(arguments[:arguments.index("--")] if command else arguments)
    every = list(mutants())
    sources = {name: (ROOT / "include/membar/model" / f"{name}.hpp").read_text() for name in FILES}

    def described(number):
        name, start, end, new = every[number - 1]
        if end - start < 25:  # This text is too short to identify a place.
            text = sources[name]
            first, last = text.rfind("\n", 0, start) + 1, text.find("\n", end)
            before = text.rfind("\n", 0, first - 1) + 1
            return f"{name}: {shown(text[before:start])} [{shown(text[start:end])} -> {shown(new) or '(nothing)'}] {shown(text[end:last])}".strip()
        return f"{name}: {shown(sources[name][start:end])} -> {shown(new) or '(nothing)'}"

    if options.list:
        for number in range(1, len(every) + 1):
            print(number, described(number))
        return 0
    if options.sample:
        seed = hashlib.sha256("".join(sources.values()).encode()).hexdigest()
        every = random.Random(seed).sample(every, min(options.sample, len(every)))
    options.folder.mkdir(parents=True, exist_ok=True)
    program, left_out = compile_all(options.folder.resolve(), every, command, options.jobs)
    numbers = [n for n in range(1, len(every) + 1) if n not in left_out]
    result = options.folder / "result.txt"
    with result.open("w") as out:
        ran = subprocess.run([program, str(options.jobs), CATALOGUE, HERE / "small"], input="\n".join(map(str, numbers)) + "\n",
                             stdout=out, text=True)
    output = result.read_text()
    verdicts = dict(re.findall(r"^(\d+) (.*)$", output, re.M))
    if ran.returncode or len(verdicts) != len(numbers):
        print(output[-2000:], "the program with all mutants ended early")
        return 1
    explained = {}
    reason = ""
    for line in EXPLAINED.read_text().splitlines() if EXPLAINED.exists() else []:
        if line.startswith("  "):
            explained[line.strip()] = reason
        elif line and not line.startswith("#"):
            reason = line
    survivors = [described(n) for n in numbers if verdicts[str(n)].startswith("survived")]
    if options.update and not options.sample:
        update(survivors, explained)
        explained = {s: explained.get(s, NO_REASON) for s in survivors}
    bad = [f"SURVIVED, undetected by any test: {s}" for s in survivors if s not in explained]
    if not options.sample:
        bad += [f"source_mutants.txt says that this mutant changes nothing, but a test detects it or it no longer exists: {s}"
                for s in explained if s not in survivors]
        if len(numbers) < 200:
            bad.append(f"only {len(numbers)} mutants compile")
    print(*bad, sep="\n")
    known = [s for s in survivors if s in explained]
    without = len([s for s in known if explained[s].startswith(NO_REASON)])
    print(f"{len(every)} mutants: {len(numbers)} compile, {len(numbers) - len(survivors)} are noticed, {len(known) - without} are listed "
          f"as having no effect, {without} are listed without a reason, {len(survivors) - len(known)} are not listed")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
