#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Breaks the headers in one place at a time, and counts what the codegen matrix catches.

usage: mutate.py [--header <name>] [--part <name>] [--sample <n>] [--jobs <n>] [--json <file>] [--list] <matrix folder> -- <nvcc> <option>...
       mutate.py --host [--sample <n> | --random <n> [--seed <n>]] [--list] <folder of unit tests> -- <compiler of the host> <option>... -- <libraries>

A mutation replaces one scope, memory order or opcode with another, in fence.hpp, fence.cuh, atomic.hpp, memory_order.hpp and
the files that they include from detail/, or in the one header that --header names. It is caught if the first part of the matrix
(sample_sm_90, or the part that --part names) no longer compiles or no longer matches. If this part does not catch it, the
script tries the PTX and the code of its header's parts, and then the other parts.

With --host, the script breaks the host code that HOST lists instead, and also removes every "memory" clobber and every `volatile`. It
counts what is caught by the unit test named in HOST, by host_code.py or by the check of assembly statements. With --random <n>, it breaks n
random places of the headers in UNIT_TESTS: an operator, a constant or a statement. Exit status: 0 if every mutation is caught, 1 if not, 2
if the headers fail unmutated.
"""

import argparse
import concurrent.futures
import hashlib
import itertools
import os
import pathlib
import queue
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

from kernel_code import split_arguments

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parents[1] / "bench" / "common"))
from include_hash import tree_hash  # noqa: E402
from results import text_of  # noqa: E402

HEADERS = ["fence.hpp", "fence.cuh", "mbarrier.cuh", "bulk_copy.cuh", "async_copy.cuh", "detail/asynchronous.cuh", "cluster_barrier.cuh", "block_barrier.cuh", "cluster_launch.cuh", "dependent_launch.cuh", "atomic.hpp", "memory_order.hpp", "detail/ptx_spelling.cuh", "detail/atomic_instructions.cuh",
           "detail/atomic_arithmetic.hpp", "detail/atomic_device.cuh", "detail/atomic_policy.cuh",
           "detail/atomic_rules.hpp", "detail/atomic_type.hpp"]

# Possible replacements for each word. Each word of a line is mutated separately.
ORDERS = {
    "relaxed": ["acquire", "release"],
    "acquire": ["relaxed", "acq_rel"],
    "release": ["relaxed", "acq_rel"],
    "acq_rel": ["acquire", "release"],
    "seq_cst": ["acq_rel"],
}
SCOPES = {"block": ["device"], "cluster": ["system"], "device": ["block", "system"], "system": ["device"]}
OPERATIONS = {
    "exchange": ["add"],
    "add": ["exchange"],
    "bitwise_and": ["bitwise_or"],
    "bitwise_or": ["bitwise_xor"],
    "bitwise_xor": ["bitwise_and"],
    "min": ["max"],
    "max": ["min"],
    "inc": ["dec"],
    "dec": ["inc"],
}
TYPES = {
    "b32": ["b64"], "b64": ["b32"], "b128": ["b64"], "s32": ["u32"], "u32": ["s32"], "s64": ["u64"], "u64": ["s64"],
    "f32": ["f64"], "f64": ["f32"], "f16": ["bf16"], "f16x2": ["bf16x2"], "bf16": ["f16"], "bf16x2": ["f16x2"],
    "v2_f32": ["v4_f32"], "v4_f32": ["v2_f32"],
    "v2_f16": ["v2_bf16"], "v4_f16": ["v4_bf16"], "v8_f16": ["v8_bf16"],
    "v2_bf16": ["v2_f16"], "v4_bf16": ["v4_f16"], "v8_bf16": ["v8_f16"],
}
SPACES = {"generic": ["global"], "global": ["shared"], "shared": ["global"]}
# Mutations of instruction texts, and of the tables with the words in these texts.
TEXT = {
    "relaxed": ["acquire"], "acquire": ["relaxed"], "release": ["relaxed"], "acq_rel": ["acquire"], "sc": ["acq_rel"],
    "cta": ["gpu"], "cluster": ["gpu"], "gpu": ["cta", "sys"], "sys": ["gpu"],
    "exch": ["add"], "add": ["exch"], "and": ["or"], "or": ["xor"], "xor": ["and"], "min": ["max"], "max": ["min"],
    "inc": ["dec"], "dec": ["inc"], "cas": ["exch"],
    "b8": ["b16"], "b16": ["b8"], "b32": ["b64"], "b64": ["b32"], "b128": ["b64"],
    "s32": ["u32"], "u32": ["s32"], "s64": ["u64"], "u64": ["s64"], "f32": ["b32"], "f64": ["b64"],
    "f16": ["bf16"], "f16x2": ["bf16x2"], "bf16": ["f16"], "bf16x2": ["f16x2"],
    "ca": ["cg"], "cg": ["ca"],
    "v2": ["v4"], "v4": ["v2"], "v8": ["v4"],
    "alias": ["async"], "async": ["alias"], "global": ["shared::cta"], "tensormap": ["async"], "shared": ["global"],
    "shared::cta": ["shared::cluster"], "shared::cluster": ["shared::cta"],
}
# Mutations of host code: the header, the test that must detect the mutation, the text, and its replacement.
HOST = [
    ("device_guard.hpp", "l2_set_aside_test.cpp", "    if (changed_) {", "    if (false) {"),
    ("device_guard.hpp", "l2_set_aside_test.cpp", "set_ != nullptr && context_ != nullptr ?", "false ?"),
    ("l2_set_aside.hpp", "l2_set_aside_test.cpp", "const detail::device_switch current(account_->device);", "const auto& current = *new detail::device_switch(account_->device);"),
    ("l2_set_aside.hpp", "l2_set_aside_test.cpp", "last ? account_->found : detail::limit_of(*account_)", "detail::limit_of(*account_)"),
    ("access_policy_window.hpp", "access_policy_window_test.cpp", "(1.0 - 1.0 / (1 << 22))", "1.0"),
    ("access_policy_window.hpp", "access_policy_window_test.cpp", "(1.0 - 1.0 / (1 << 22))", "(1.0 - 1.0 / (1 << 12))"),
    ("stream_partition.hpp", "stream_partition_test.cpp", "const previous& last = previous_[i - 1];", "const previous& last = previous_[size_ - i];"),
    ("mapped_memory.hpp", "memory_kinds_test.cpp", "(how.portable ? cudaHostAllocPortable : 0U)", "cudaHostAllocPortable"),
    ("mapped_memory.hpp", "memory_kinds_test.cpp", " | cudaHostAllocWriteCombined", ""),
    ("detail/owned_array.hpp", "memory_kinds_test.cpp", "      free();\n      data_ = other.data_;", "      data_ = other.data_;"),
    ("detail/owned_array.hpp", "memory_kinds_test.cpp", "    other.data_ = nullptr;\n    other.size_ = 0;\n  }\n  owned_array& operator=", "  }\n  owned_array& operator="),
    ("managed_memory.hpp", "memory_kinds_test.cpp", "cudaMemAdviseSetPreferredLocation, location", "cudaMemAdviseSetPreferredLocation, memory_location::host()"),
    ("managed_memory.hpp", "memory_kinds_test.cpp", "accessed ? cudaMemAdviseSetAccessedBy : cudaMemAdviseUnsetAccessedBy", "cudaMemAdviseSetAccessedBy"),
    ("launch_attribute.hpp", "launch_attribute_test.cpp", "detail::report_failed_restore(cudaStreamSetAttribute(stream_, attribute_traits<Attribute>::ids[0], &previous_));", ""),
    ("detail/atomic_host.hpp", "host_code.py", "__atomic_load_n(host_bits(object), host_order<Order>)", "__atomic_load_n(host_bits(object), 0)"),
    ("detail/atomic_host.hpp", "host_code.py", "to_bits(value), host_order<Order>);", "to_bits(value), 0);"),
    ("detail/atomic_host.hpp", "host_code.py", "false, host_order<Order>, failure)", "false, host_order<Order>, 0)"),
    ("detail/host_order.hpp", "host_code.py", "  __atomic_thread_fence(host_order<Order>);\n", ""),
    ("atomic.hpp", "host_code.py", "return detail::host_load<detail::order_of<Order>>(object_);", "return detail::host_load<memory_order::relaxed>(object_);"),
    ("atomic.hpp", "host_code.py", "detail::host_store<detail::order_of<Order>>(", "detail::host_store<memory_order::relaxed>("),
    ("mapped_memory.hpp", "host_code.py", '__asm__ volatile("sfence" ::: "memory");', '__asm__ volatile("" ::: "memory");'),
]
# The mutations from which --random chooses, and the unit tests that must detect them.
UNIT_TESTS = {
    "access_policy_window.hpp": "access_policy_window_test.cpp", "co_residency.hpp": "co_residency_test.cpp", "detail/owned_array.hpp": "memory_kinds_test.cpp",
    "device_guard.hpp": "l2_set_aside_test.cpp", "error.hpp": "error_test.cpp", "l2_facts.hpp": "l2_set_aside_test.cpp",
    "l2_set_aside.hpp": "l2_set_aside_test.cpp", "launch.hpp": "launch_test.cpp", "launch_attribute.hpp": "launch_attribute_test.cpp",
    "managed_memory.hpp": "memory_kinds_test.cpp", "mapped_memory.hpp": "memory_kinds_test.cpp", "stream_partition.hpp": "stream_partition_test.cpp",
    "sync_domain.hpp": "sync_domain_test.cpp", "window_planning.hpp": "window_planning_test.cpp"}
OPERATORS = {" < ": " <= ", " <= ": " < ", " > ": " >= ", " >= ": " > ", " == ": " != ", " != ": " == ", " && ": " || ", " || ": " && ", " + ": " - ",
             " - ": " + ", " * ": " / ", " / ": " * ", "true": "false", "false": "true", "0": "1", "1": "2", "(!": "(", "nullptr ?": "nullptr && false ?"}
STRING = re.compile(r'"([^"]*)"')
PREFIXED = {"memory_order": ORDERS, "thread_scope": SCOPES, "atom_op": OPERATIONS, "ptx_type": TYPES, "state_space": SPACES}


def mutations(path, text):
    """Yields (line number, column, old, new) of every mutation of a header."""
    in_message = in_asm = in_rule = False
    lines = text.splitlines()
    for number, (line, following) in enumerate(zip(lines, [*lines[1:], ""])):
        stripped = line.strip()
        in_message = in_message or stripped.startswith("static_assert")
        in_asm = in_asm or "asm volatile" in line
        # The instructions of a loop do not show the function that it computes; unit and GPU tests check it.
        if "fetch_number<" in line:
            continue
        # Rules about permitted calls emit no code; tests/compile_fail/ breaks these rules.
        if stripped.startswith("requires(") or following.strip().startswith("static_assert"):
            continue
        in_rule = in_rule or stripped.startswith("concept ") or "order_among<" in line
        if in_rule:
            in_rule = ";" not in line
            continue
        if in_message:
            in_message = not stripped.endswith(");")
            continue
        if not stripped.startswith(("//", "#")):
            for string in STRING.finditer(line):
                if not (in_asm or "text[]" in line):
                    break
                if string.group(1) == "memory" or len(string.group(1)) < 2 or string.group(1).startswith("="):
                    continue
                for word in re.finditer(r"shared::\w+|\w+", string.group(1)):
                    for new in TEXT.get(word.group(0), []):
                        yield number, string.start(1) + word.start(), word.group(0), new
            code = line.split("//")[0]
            # A template argument in the name of a specialisation only selects the specialisation; the compiler emits no code
            # for it.
            if "struct ptx_" in code or "case " in code and ":" in code and "return" not in code:
                code = ""
            for match in re.finditer(r"\b(memory_order|thread_scope|atom_op|ptx_type|state_space)::(\w+)", code):
                for new in PREFIXED[match.group(1)].get(match.group(2), []):
                    yield number, match.start(2), match.group(2), new
            for match in re.finditer(r"= cuda::(memory_order|thread_scope)_(\w+)", code):
                for new in PREFIXED[match.group(1)].get(match.group(2), []):
                    yield number, match.start(2), match.group(2), new
            for match in re.finditer(r"thread_fence<Scope>\((\w+)\)", code):
                for new in ORDERS[match.group(1)]:
                    if new != "relaxed":
                        yield number, match.start(1), match.group(1), new
        if in_asm and stripped.endswith(";"):
            in_asm = False


def statement_mutations(include):
    """Yields the mutations in HOST, and each assembly statement without `volatile` and without its clobber, as (header, the
    test that must notice, old text, new text)."""
    yield from HOST
    for path in sorted([*(include / "membar").rglob("*.hpp"), *(include / "membar").rglob("*.cuh")]):
        text = path.read_text()
        for match in re.finditer(r"\b(?:asm|__asm__) volatile\(", text):
            statement = text[match.start():text.index(";\n", match.start())]
            yield str(path.relative_to(include / "membar")), "asm_statements.py", statement, statement.replace(" volatile(", "(", 1)
            before, _, after = statement.rpartition('"memory"')
            yield str(path.relative_to(include / "membar")), "asm_statements.py", statement, before + after


def random_mutations(include, count, seed):
    """Returns the given number of mutations of function bodies in the headers of UNIT_TESTS, as (header, the test that must
    notice, position, old text, new text)."""
    every = []
    for header, test in UNIT_TESTS.items():
        text, at, in_rule = (include / "membar" / header).read_text(), 0, False
        for line in text.splitlines(keepends=True):
            code = line.split("//")[0]
            in_rule = in_rule or "static_assert" in code
            if not in_rule and code.startswith("  ") and not re.search(r"^\s*#|template <|requires|operator|\bconcept\b|__trap|constexpr const char", code):
                spans = [m.span() for m in re.finditer(r'"[^"]*"', code)]
                for old, new in OPERATORS.items():
                    for m in re.finditer((r"\b" if old.isalnum() else "") + re.escape(old) + (r"\b(?![.x'])" if old.isalnum() else ""), code):
                        if not any(a <= m.start() < b for a, b in spans):
                            every.append((header, test, at + m.start(), old, new))
                if re.match(r"\s+(?!return|throw|using|for|if|while|else|case|break)[\w.:>\-]+\([^;{}]*\);$|\s+[\w.\[\]\->]+ [|&+-]?= [^;{}]*;$", code.rstrip("\n")):
                    every.append((header, test, at, line, "\n"))
            in_rule = in_rule and ";" not in code
            at += len(line)
    return random.Random(seed).sample(every, count)


def break_host_code():
    parser = argparse.ArgumentParser(description="breaks code of the host")
    parser.add_argument("--host", action="store_true")
    parser.add_argument("--sample", type=int, help="try only this many mutations from HOST and this many statements; every change of the "
                                                   "headers selects different ones")
    parser.add_argument("--random", type=int, help="break this many places, chosen by --seed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--list", action="store_true", help="print the mutations and do nothing")
    parser.add_argument("tests", type=pathlib.Path)
    options, compiler, libraries = split_arguments()
    arguments = parser.parse_args(options)
    own = next(o for o in compiler if o.startswith("-I") and pathlib.Path(o[2:], "membar").is_dir())
    include = pathlib.Path(own[2:])
    if arguments.random:
        chosen = random_mutations(include, arguments.random, arguments.seed)
    else:
        chosen = [(header, test, None, old, new) for header, test, old, new in statement_mutations(include)]
    if arguments.list:
        print("\n".join(f"{header}: {old} -> {new}: {test}" for header, test, _, old, new in chosen))
        return 0
    if arguments.sample:
        seed = hashlib.sha256("".join((include / "membar" / header).read_text() for header, *_ in HOST).encode()).hexdigest()
        draw = random.Random(seed)
        chosen = draw.sample(chosen[:len(HOST)], arguments.sample) + draw.sample(chosen[len(HOST):], arguments.sample)
    survivors, compiled = [], 0
    with tempfile.TemporaryDirectory() as folder:
        mutated = shutil.copytree(include, pathlib.Path(folder, "include"))
        command = [option if option != own else f"-I{mutated}" for option in compiler]

        def notices(test):
            """Returns how the test notices that something is broken, or "" if it passes. A program that does not finish
            counts as broken."""
            if test.endswith(".py"):
                script = HERE / test if test == "host_code.py" else HERE.parent / "style" / test
                done = subprocess.run([sys.executable, script, *([folder, *command] if test == "host_code.py" else [mutated])], capture_output=True)
                return "it fails" if done.returncode != 0 else ""
            program = pathlib.Path(folder, "program")
            if subprocess.run([*command, arguments.tests / test, "-o", program, *libraries], capture_output=True).returncode != 0:
                return "it does not compile"
            try:
                return "it fails" if subprocess.run([program], capture_output=True, timeout=100).returncode != 0 else ""
            except subprocess.TimeoutExpired:
                return "it does not end"

        for test in sorted({test for _, test, *_ in chosen}):
            if notices(test):
                print(f"{test} fails without a mutation")
                return 2
        for header, test, at, old, new in chosen:
            path = mutated / "membar" / header
            text = path.read_text()
            if text.count(old) < 1:
                print(f"{header} no longer contains the text {old}")
                return 2
            at = text.index(old) if at is None else at
            path.write_text(text[:at] + new + text[at + len(old):])
            how = notices(test)
            compiled += how != "it does not compile"
            if not how:
                number = text.count("\n", 0, at)
                survivors.append(old)
                print(f"SURVIVED {header}:{number + 1}: {old.strip()} -> {new.strip()}: {text.splitlines()[number].strip()}: {test}", flush=True)
            path.write_text(text)
    print(f"{len(chosen)} mutations of host code and of assembly statements, {compiled} of them compile: {len(survivors)} survived")
    return 1 if survivors else 0


def main():
    options, nvcc, _ = split_arguments()
    if "--host" in options:
        return break_host_code()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--header", help="mutate only this header")
    parser.add_argument("--part", default="sample_sm_90", help="the part of the matrix to try first")
    parser.add_argument("--sample", type=int, help="try only this many mutations that compile to PTX; every change of the headers selects "
                                                   "different ones")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="how many to try at once; a sample runs one after the other")
    parser.add_argument("--json", type=pathlib.Path, help="write the result to this file")
    parser.add_argument("--list", action="store_true", help="print the mutations and do nothing")
    parser.add_argument("matrix", type=pathlib.Path)
    arguments = parser.parse_args(options)
    own = [o for o in nvcc if o.startswith("-I") and pathlib.Path(o[2:], "membar").is_dir()]
    if not own:
        raise SystemExit("mutate.py: the compiler's command names no -I<folder> of membar's headers")
    include = pathlib.Path(own[0][2:])
    sources = {header: (include / "membar" / header).read_text() for header in HEADERS if arguments.header in (None, header)}
    every = [(header, *m) for header, text in sources.items() for m in mutations(header, text)]
    if arguments.list:
        for header, number, column, old, new in every:
            print(f"{header}:{number + 1}:{column + 1}: {old} -> {new}: {sources[header].splitlines()[number].strip()}")
        print(f"{len(every)} mutations")
        return 0
    chosen = every
    if arguments.sample:
        seed = hashlib.sha256("".join((include / "membar" / header).read_text() for header in HEADERS).encode()).hexdigest()
        chosen = random.Random(seed).sample(every, len(every))

    parts = sorted((p for p in arguments.matrix.glob("*.json") if not p.stem.startswith("sample")), key=lambda part: part.stat().st_size)
    sample = arguments.matrix / f"{arguments.part}.json"
    with tempfile.TemporaryDirectory() as folder:
        copies = queue.SimpleQueue()
        for job in range(1 if arguments.sample else max(arguments.jobs, 1)):
            copies.put(shutil.copytree(include, pathlib.Path(folder, str(job))))

        def fails(mutated, part, *options):
            command = [option if option != own[0] else f"-I{mutated}" for option in nvcc]
            check = [sys.executable, HERE / "check_matrix.py", *options, part, "--", *command]
            return subprocess.run(check, capture_output=True, text=True).returncode

        def fails_anywhere(mutated, header):
            """Tries the PTX of the sample first, then the PTX and code of the header's parts, including their operands, and
            then the other parts, smallest first."""
            is_near = lambda part: part.stem.startswith(pathlib.Path(header).stem)  # noqa: E731
            tries = [(sample, "--ptx-only")]
            for some in filter(is_near, parts), itertools.filterfalse(is_near, parts):
                some = list(some)
                tries += [(part, "--ptx-only") for part in some] + [(part,) for part in some]
            return next((status for status in (fails(mutated, *one) for one in tries) if status), 0)

        def outcome(mutation):
            header, number, column, old, new = mutation
            lines = sources[header].splitlines(keepends=True)
            lines[number] = lines[number][:column] + new + lines[number][column + len(old):]
            mutated = copies.get()
            path = mutated / "membar" / header
            path.write_text("".join(lines))
            status = fails_anywhere(mutated, header)
            path.write_text(sources[header])
            copies.put(mutated)
            return status

        if fails(include, sample, "--ptx-only"):
            print("the headers fail without a mutation")
            return 2
        caught, survivors, started, count = {"does not compile": 0, "not as expected": 0}, [], time.time(), 0
        pool = concurrent.futures.ThreadPoolExecutor(copies.qsize())
        # For a sample, the script tries only as many mutations as needed.
        outcomes = map(outcome, chosen) if arguments.sample else pool.map(outcome, chosen)
        for count, ((header, number, _, old, new), status) in enumerate(zip(chosen, outcomes), 1):
            where = f"{header}:{number + 1}: {old} -> {new}: {sources[header].splitlines()[number].strip()}"
            if status:
                caught["does not compile" if status == 2 else "not as expected"] += 1
            else:
                survivors.append(where)
                print(f"SURVIVED {where}", flush=True)
            if count % 25 == 0:
                print(f"{count} of {len(chosen)}, {time.time() - started:.0f} s", flush=True)
            if arguments.sample and count - caught["does not compile"] == arguments.sample:
                break
    if count == caught["does not compile"]:
        print("no mutation compiles, so none was tried")
        return 2
    print(f"{count} mutations of {len(every)}: {caught['not as expected']} not as expected, "
          f"{caught['does not compile']} do not compile, {len(survivors)} survived")
    if arguments.json:
        arguments.json.parent.mkdir(parents=True, exist_ok=True)
        arguments.json.write_text(text_of({"include": tree_hash(include).hexdigest(), "mutations": len(every), "tried": count, "caught": caught,
                                                  "survived": survivors}))
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
