# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Makes the table in docs/record.md from the results of bench/check/record_frameworks.py. TABLES lists the table by page and name, for
figures.py."""
import collections
import re

from start_tables import table

FILES, FILE_OF_TWO = ("h200/record_frameworks", "h200/record_numba"), "h200-x2/record_frameworks"  # later files replace steps in earlier files
PROGRAMS = {  # the steps of record_frameworks.py
    "nvcc": "a program compiled by nvcc, with cooperative groups, a table of pointers and a graph",
    "attach": "one of its kernels without PTX, with `membar-check attach`",
    "shrink": "one of its kernels, launched with 1,024 blocks and recorded with `--shrink`",
    "cub": "CUB's `DeviceScan` and `DeviceReduce`, with `--all`",
    "cutlass": "a CUTLASS GEMM with tensor maps and clusters of two blocks",
    "torch load_inline": "PyTorch `load_inline`",
    "unknown floats": "the same with `--unknown-floats`",
    "torch cumsum": "PyTorch's own `cumsum`, with `--kernels=scan`",
    "torch symmetric memory": "PyTorch's symmetric-memory all-reduce, one-shot and two-shot, with `--kernels=all_reduce` and `attach`",
    "triton": "a lock in Triton",
    "cupy": "a ticket lock in a CuPy `RawModule`",
    "jax": "a scatter and a sum in JAX, without autotuning",
    "jax with ptxas": "the same with `--xla_gpu_enable_libnvptxcompiler=false`",
    "numba": "a counter and a flag in Numba",
    "cuda.core": "a ticket lock with `cuda.core`",
    "flashinfer": "a norm from FlashInfer",
    "membar.record": "`membar.record` with CuPy",
    "pytest --membar": "`pytest --membar` with CuPy"}


def counted(count, word, ending="s"):
    return f"{count} {word}{'' if count == 1 else ending}"


def recorded(row):
    if "launches" not in row:
        return ""
    equal = "; a second recording was byte-for-byte identical" if row.get("second recording is equal") else ""
    return f"{counted(row['kernels'], 'kernel')} in {counted(row['launches'], 'launch', 'es')}{equal}"


def result(row):
    if "failed" in row:
        return f"failed: {row['failed']}"
    if "found in wrong and not in right" in row:
        return "the fault in the wrong kernel, and none in the correct one" if row["found in wrong and not in right"] else "not as expected"
    if row["exit"] != 0:
        return f"failed: {row['printed']}"
    found = collections.Counter()
    for status, how, _ in row["scenarios"].values():
        found[status + {"explored": "", "": ""}.get(how, f", {how}")] += 1
    words = [what if len(found) == 1 else f"{count} {what}" for what, count in found.items()]
    words += [f"{counted(int(counts[1]), 'kernel')} with only machine code" for text in row["said"] if (counts := re.match(r"(\d+) kernels? ha(?:s|ve) only machine code", text))]
    return "; ".join(words) or "no kernel that synchronizes"


def tried(results, files=FILES, gpus=1):
    told = [results.read(file) for file in files]
    context = told[0]["context"]
    packages = ", ".join(f"{name} {version}" for name, version in context["packages"].items())
    all_steps = {step: row for each in told for step, row in each["steps"].items()}
    steps = {step: row for step, row in all_steps.items() if "skipped" not in row and row.get("GPUs", 1) == gpus}
    rows = [[named(step, row), recorded(row), result(row)] for step, row in steps.items()]
    toolkit = re.search(r"cuda_([\d.]+)\.", context["nvcc"])
    gpu = context["machine"].removeprefix("NVIDIA ")
    machine = f"one {gpu}" if gpus == 1 else f"two {gpu} GPUs"
    return (f"On {machine}, driver {context['driver']}, CUDA {toolkit[1] if toolkit else 'unknown'}, {context['date']}, with {packages}:"
            f"\n\n{table(['program', 'recorded', 'result'], rows)}")


def named(step, row):
    own = f", with {', '.join(row['own packages'])}" if "own packages" in row else ""
    return PROGRAMS[step] + (", two processes on one GPU" if row.get("GPUs") == 1 else "") + own


TABLES = {"docs/record.md": {"tried programs": tried, "tried programs on two GPUs": lambda results: tried(results, (FILE_OF_TWO,), 2)}}
