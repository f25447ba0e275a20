#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles kernels in membar's words and in those of cuda::atomic_ref, and compares their machine code.

usage: same_code.py <kernels.cu> -- <nvcc> <option>...

Two kernels are a pair if their names differ in `membar_` and `cuda_` alone. Exit status: 0 if the code of every pair is the same, 1 if
not, 2 if there is no pair or the kernels do not compile.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

from kernel_code import code_of_kernels

PREFIX = re.compile(r"\d+(membar|cuda)_")  # of a name that is mangled, with its length


def main():
    if "--" not in sys.argv or sys.argv.index("--") != 2:
        raise SystemExit(f"usage: {__doc__.split('usage: ')[1].splitlines()[0]}")
    source, nvcc = sys.argv[1], sys.argv[3:]
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder, "kernels.cubin")
        done = subprocess.run([*nvcc, "-cubin", "-arch=sm_90", "-o", cubin, source], capture_output=True, text=True)
        if done.returncode != 0:
            print(done.stdout + done.stderr, file=sys.stderr)
            return 2
        pairs = {}
        for name, code in code_of_kernels(cubin).items():
            if prefix := PREFIX.search(name):
                pairs.setdefault(PREFIX.sub("", name), {})[prefix.group(1)] = code
    alone = [name for name, pair in pairs.items() if len(pair) != 2]
    other = [name for name, pair in pairs.items() if len(pair) == 2 and pair["membar"] != pair["cuda"]]
    for name in alone:
        print(f"{name}: there is no second kernel")
    for name in other:
        print(f"{name}: membar's code is not that of cuda::atomic_ref")
    print(f"{len(pairs)} pairs of kernels, {len(other)} of different code")
    return 2 if alone or not pairs else 1 if other else 0


if __name__ == "__main__":
    sys.exit(main())
