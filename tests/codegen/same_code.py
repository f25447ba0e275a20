#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compares the machine code of kernels that call membar with the machine code of kernels that call cuda::atomic_ref.

usage: same_code.py [--report <report.py>] <kernels.cu> -- <nvcc> <option>...

Two kernels are a pair if their names differ only in `membar_` versus `cuda_`, or in `in_membar<` versus `in_cuda<`. The code of
every pair must be the same. With --report, only the pairs for which the report's `has_code_of_its_own` is true must differ.
Exit status: 0 if the code is as required, 1 if not, 2 if there is no pair or the kernels do not compile.
"""
import argparse
import importlib.util
import pathlib
import re
import sys
import tempfile

from kernel_code import code_of_kernels, run, split_arguments

# The parts of a mangled name, each with its length: the prefix or the class template, then the operation and the object's type.
PREFIX = re.compile(r"\d+(?:in_)?(membar|cuda)(?:_|(?=I))")
OPERATION = re.compile(r"\d+(?:in_(?:membar|cuda)IN\w*?\d+|(?:membar|cuda)_)([a-z_]+)[EI]([a-z])")
ORDER = re.compile(r"12memory_orderE(\d)E")
ORDERS = ["relaxed", "consume", "acquire", "release", "acq_rel", "seq_cst"]  # in the order of their values
TYPES = {"h": "u8", "t": "u16", "j": "u32", "i": "s32", "y": "u64", "x": "s64", "f": "f32", "d": "f64"}
KERNELS = {"follow_chain": "latency", "own_objects": "throughput", "contend_in_shared_memory": "shared"}


def case_of(name):
    """Returns the bench case of a kernel, as far as the name determines it."""
    operation, kind = OPERATION.search(name).groups()
    measured = [case for kernel, case in KERNELS.items() if kernel in name]
    # The kernel's flags: whether the object is in another block of the cluster, and whether the values increase.
    if "shared" in measured and re.search(r"Lb1ELb\dE", name):
        measured = ["distributed_shared"]
    order = [ORDERS[int(found.group(1))] for found in [ORDER.search(name)] if found]
    return "/".join([*measured, operation, TYPES[kind], *order])


def main():
    options, nvcc, _ = split_arguments()
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--report", type=pathlib.Path)
    parser.add_argument("kernels", type=pathlib.Path)
    arguments = parser.parse_args(options)
    differs = lambda case: False  # noqa: E731
    if arguments.report:
        specification = importlib.util.spec_from_file_location("report", arguments.report)
        report = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(report)
        differs = report.has_code_of_its_own
    with tempfile.TemporaryDirectory() as folder:
        cubin = pathlib.Path(folder, "kernels.cubin")
        run([*nvcc, "-cubin", "-arch=sm_90", "-o", cubin, arguments.kernels])
        kernels = code_of_kernels(cubin)
    pairs = {}
    for name, code in kernels.items():
        # `somewhere` hides the location of an object from the compiler, so membar's code tests for it.
        if (prefix := PREFIX.search(name)) and "somewhere" not in name:
            pairs.setdefault(PREFIX.sub("", name), {})[prefix.group(1)] = (name, code)
    alone = [name for name, pair in pairs.items() if len(pair) != 2]
    if alone and not arguments.report:  # A bench also has kernels without a counterpart.
        print(f"without a second kernel: {' '.join(alone)}", file=sys.stderr)
        return 2
    pairs = [pair for pair in pairs.values() if len(pair) == 2]
    wrong = 0
    for pair in pairs:
        name, code = pair["membar"]
        case = case_of(name)
        if (code != pair["cuda"][1]) != differs(case):
            wrong += 1
            print(f"{name}: the code is {'not ' if code != pair['cuda'][1] else ''}the same as for cuda::atomic_ref in {case}")
    print(f"{len(pairs)} pairs of kernels, {wrong} not as expected")
    return 2 if not pairs else 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
