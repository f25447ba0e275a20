#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the findings of `membar-check sanitize` with the conflicting accesses of random launches that are large enough to
run in parts.

usage: parts_programs_test.py <membar-check> [--count=N] [--from=SEED]

A program is a single launch whose threads read and write words according to simple rules, with block barriers in between. If at least one
of two accesses to a word is a write, the accesses race if their threads are in different blocks, or if both accesses are between the same
two barriers of a block. With three host threads, the sanitizer must find and count the same races as with one.
"""
import argparse
import collections
import json
import pathlib
import random
import subprocess
import sys
import tempfile

BLOCKS, THREADS = 64, 128
WORDS = 32768

# Rules for the word that a thread accesses. The word depends on the thread's block, its number in the block, and a constant.
# Each rule is written as a Python function, and as PTX that writes the word's index to %r2.
RULES = {
    "own": (lambda b, t, c: b * THREADS + t, f"mad.lo.u32 %r2, %r1, {THREADS}, %r0;"),
    "of_a_neighbour": (lambda b, t, c: b * THREADS + (t ^ c) % THREADS,
                       f"xor.b32 %r3, %r0, {{c}};and.b32 %r3, %r3, {THREADS - 1};mad.lo.u32 %r2, %r1, {THREADS}, %r3;"),
    "of_another_block": (lambda b, t, c: (b ^ c) % BLOCKS * THREADS + t,
                         f"xor.b32 %r3, %r1, {{c}};and.b32 %r3, %r3, {BLOCKS - 1};mad.lo.u32 %r2, %r3, {THREADS}, %r0;"),
    "of_the_block": (lambda b, t, c: b * THREADS, f"mul.lo.u32 %r2, %r1, {THREADS};"),
    "of_a_table": (lambda b, t, c: 20000 + t % 64, "and.b32 %r2, %r0, 63;add.u32 %r2, %r2, 20000;"),
    "of_some_blocks": (lambda b, t, c: 21000 + b // 16, "shr.u32 %r2, %r1, 4;add.u32 %r2, %r2, 21000;"),
    "of_every_nth_block": (lambda b, t, c: 22000 + b % c, "rem.u32 %r2, %r1, {c};add.u32 %r2, %r2, 22000;"),
}
# Only blocks with the number `first_block` or higher access the words.
Access = collections.namedtuple("Access", "writes rule constant first_block")
BARRIER = "bar.sync 0;"


def random_program(seed):
    source = random.Random(seed)
    program = []
    for _ in range(source.randint(2, 6)):
        if source.random() < 0.2:
            program.append(BARRIER)
        else:
            rule = source.choice(["own", "own", "of_another_block", *RULES])
            first = source.choice([0, 0, 8, BLOCKS // 2, BLOCKS - 1])
            writes = source.random() < (0.5 if rule == "own" else 0.15)
            constant = source.choice([1, 3, 8, 8, 8, 16, 33])  # With 8, neighbouring parts, which are in the same batch, conflict.
            program.append(Access(writes, rule, constant, first))
    return program


def has_race(program):
    """Returns whether two accesses conflict and nothing orders them."""
    words, barriers = collections.defaultdict(set), 0
    for step in program:
        if step == BARRIER:
            barriers += 1
            continue
        place = RULES[step.rule][0]
        for block in range(step.first_block, BLOCKS):
            for thread in range(THREADS):
                words[place(block, thread, step.constant)].add((block, thread, barriers, step.writes))
    for accesses in words.values():
        for block, thread, epoch, _ in (access for access in accesses if access[3]):
            if any(b != block or (t != thread and e == epoch) for b, t, e, _ in accesses):
                return True
    return False


def text_of(program):
    lines = [".version 9.0", ".target sm_90", ".address_size 64", f".global .align 16 .b8 words[{4 * WORDS}];", ".visible .entry k()", "{",
             ".reg .pred %p<8>;", ".reg .b32 %r<16>;", ".reg .b64 %rd<4>;", "mov.u32 %r0, %tid.x;mov.u32 %r1, %ctaid.x;mov.u32 %r5, 0;"]
    for number, step in enumerate(program):
        if step == BARRIER:
            lines.append(step)
            continue
        lines.append(f"setp.lt.u32 %p0, %r1, {step.first_block};@%p0 bra L{number};")
        lines.append(RULES[step.rule][1].format(c=step.constant))
        lines.append("mul.wide.u32 %rd0, %r2, 4;mov.u64 %rd1, words;add.u64 %rd1, %rd1, %rd0;")
        lines.append("st.global.u32 [%rd1], %r0;" if step.writes else "ld.global.u32 %r4, [%rd1];add.u32 %r5, %r5, %r4;")
        lines.append(f"L{number}:")
    return "\n".join(lines + ["setp.eq.u32 %p1, %r5, 123456789;@%p1 trap;", "ret;", "}", ""])  # This uses the values that the program has read.


def answer(checker, folder, jobs):
    command = [checker, "sanitize", "--schedules=4", f"--jobs={jobs}", "--format=json", str(folder / "k.scenario")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    for file in document["files"]:
        file.pop("seconds", None)
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checker")
    parser.add_argument("--count", type=int, default=40)
    parser.add_argument("--from", dest="first", type=int, default=0)
    options = parser.parse_args()
    wrong = racy = 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        (folder / "k.scenario").write_text(f"source k.ptx\nlaunch k grid {BLOCKS} block {THREADS}\n")
        for seed in range(options.first, options.first + options.count):
            program = random_program(seed)
            (folder / "k.ptx").write_text(text_of(program))
            one, several = answer(options.checker, folder, 1), answer(options.checker, folder, 3)
            found = {finding["status"] for finding in one["files"][0]["findings"]}
            expected = {"race"} if has_race(program) else set()
            racy += len(expected)
            if found != expected or one != several:
                wrong += 1
                print(f"seed {seed}: found {found}, expected {expected}{'' if one == several else ', and something else with 3 threads'}")
                print(text_of(program))
    print(f"{options.count} launches, {racy} with a race, {wrong} wrong results")
    return 1 if wrong or racy in (0, options.count) else 0


if __name__ == "__main__":
    sys.exit(main())
