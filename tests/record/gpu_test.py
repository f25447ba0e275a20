#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Tests on a GPU that record --pdl distinguishes a PyTorch program whose kernel reads too early from a program whose kernel
waits.

usage: gpu_test.py <membar-check> <nvcc>

The test needs PyTorch; without PyTorch, it is skipped (status 77).
"""

import importlib.util
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def main():
    checker, nvcc = (str(pathlib.Path(word).resolve()) for word in sys.argv[1:3])
    if importlib.util.find_spec("torch") is None:
        print("no PyTorch")
        return 77
    wrong = 0
    with tempfile.TemporaryDirectory() as folder:
        library, output = f"{folder}/libkernels.so", f"{folder}/output"
        subprocess.run([nvcc, "-shared", "-Xcompiler=-fPIC", "-lineinfo", "-gencode=arch=compute_90,code=[sm_90,compute_90]", "-o", library,
                        str(HERE / "dependent_kernels.cu")], check=True)
        for how in ("early", "right", "captured"):
            compare = [f"--compare={output}"] if how != "captured" else []
            done = subprocess.run([checker, "record", "--pdl", *compare, "--", sys.executable, str(HERE / "dependent_program.py"), library, how,
                                   output], capture_output=True, text=True, timeout=250)
            print(f"--- {how}: status {done.returncode}\n{done.stdout}{done.stderr}", flush=True)
            rows = [line for line in done.stdout.splitlines() if re.match(r"scaled\w* +doubled ", line)]
            if how == "captured":
                expected = done.returncode == 0 and not rows and "captured into a graph" in done.stderr
            elif how == "right":
                expected = done.returncode == 0 and not rows and "1 right" in done.stdout and "equal in 3 runs" in done.stdout
            else:
                expected = (done.returncode == 1 and len(rows) == 1 and "wrong: reads memory that doubled writes" in rows[0] and "4000 bytes of argument 0" in rows[0]
                            and "dependent_kernels.cu:18" in rows[0])
            wrong += not expected
            print("as expected" if expected else "NOT AS EXPECTED", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
