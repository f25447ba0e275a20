#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that the commands report damaged files quickly, with a single short message that contains no control characters.

usage: mutated_files_test.py MEMBAR_LITMUS MEMBAR_CHECK FOLDER [COUNT]

FOLDER contains litmus tests, scenarios, and pairs of a scenario and its source (*.txt, separated by a line ====). COUNT of
these files are damaged at random, from a fixed seed: some bytes are removed, doubled, swapped, replaced by other bytes, by NUL
or by control characters, or repeated many times. Exit status: 0 if every message has at most 300 characters and every run ends
within 60 seconds.
"""

import concurrent.futures
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile

MOST, SECONDS = 300, 60
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\x80-\x9f\ufffd]")


def mutated(data, rng):
    data = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(data) + 1)
        kind = rng.randrange(8)
        if kind == 0:
            del data[at:at + rng.randrange(1, 12)]
        elif kind == 1:
            data[at:at] = data[at:at + rng.randrange(1, 40)]
        elif kind == 2:
            data[at:at] = bytes([rng.choice((0, 1, 7, 8, 9, 27, 127, 128, 155, 255))]) * rng.randrange(1, 4)
        elif kind == 3:
            data[at:at] = bytes([rng.choice(b"ax0_.$%1'\"")]) * rng.choice((1, 50, 500, 20000))
        elif kind == 4 and at < len(data):
            data[at] = rng.randrange(256)
        elif kind == 5:
            word = rng.choice(re.findall(rb"[\w.:]+", bytes(data)) or [b"x"])
            data[at:at] = word
        elif kind == 6:
            words = list(re.finditer(rb"[\w.:]+", bytes(data)))
            if len(words) > 1:
                one, other = sorted(rng.sample(words, 2), key=lambda m: m.start())
                data[other.start():other.end()], data[one.start():one.end()] = one.group(), other.group()
        else:
            del data[at:]
    return bytes(data)


def problems_of(command, path):
    try:
        done = subprocess.run([*command, path.name], capture_output=True, cwd=path.parent, timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return [f"{path.name}: it did not end within {SECONDS} s"]
    found = [] if 0 <= done.returncode <= 3 else [f"{path.name}: exit status {done.returncode}"]
    text = (done.stderr + done.stdout if b"error" in done.stdout else done.stderr).decode(errors="replace")
    for line in text.split("\n"):
        message = line.removeprefix(path.name)
        if len(message) > MOST:
            found.append(f"{path.name}: a message of {len(message)} characters: {message[:120]!r}")
        if CONTROL.search(message):
            found.append(f"{path.name}: a control character: {message[:120]!r}")
    return found


def main():
    litmus, check, folder = sys.argv[1:4]
    count = int(sys.argv[4]) if len(sys.argv) > 4 else 150
    files = sorted(p for kind in ("*.litmus", "check/corpus/*.txt") for p in pathlib.Path(folder).rglob(kind))
    rng = random.Random(1)
    jobs = []
    with tempfile.TemporaryDirectory() as out, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for n in range(count):
            source = rng.choice(files if n % 3 else [f for f in files if f.suffix == ".txt"])
            path = pathlib.Path(out) / f"{n}{source.suffix}"
            if source.suffix == ".txt":
                path = path.with_suffix(".scenario")
                parts = source.read_bytes().split(b"====\n")
                changed = rng.randrange(len(parts))
                parts[changed] = mutated(parts[changed], rng)
                path.write_bytes(parts[0].replace(b"s.ptx", f"{n}.ptx".encode()))
                path.with_suffix(".ptx").write_bytes(parts[1] if len(parts) > 1 else b"")
            else:
                path.write_bytes(mutated(source.read_bytes(), rng))
            command = [check, "--limit=100000"] if path.suffix == ".scenario" else [litmus, "verdict", "--jobs=1"]
            jobs.append(pool.submit(problems_of, [str(pathlib.Path(command[0]).resolve()), *command[1:]], path))
            if n % 8 == 0:
                jobs.append(pool.submit(problems_of, [str(pathlib.Path(litmus).resolve()), "explain"], path) if path.suffix == ".litmus" else jobs[-1])
        problems = [line for job in jobs for line in job.result()]
    print("\n".join([*problems[:40], f"{count} changed files of {len(files)}, {len(problems)} problems"]))
    return 1 if problems or len(files) < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
