#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the headers with a toolkit from PyPI instead of the installed one: the newest nvcc that membar supports, or the oldest or newest
NVRTC.

usage: other_toolkits.py nvcc|nvrtc_oldest|nvrtc_newest <folder> <repository> [<nvcc option>...]

nvcc:    all public headers in one file, for each architecture, and the kernels of tests/codegen.
nvrtc_*: the device headers and kernels of tests/codegen, in the same way as nvrtc.py.

The first run installs the packages into a virtual environment in the folder. The first line of the output starts with SKIPPED
if they cannot be installed. Exit status: 0 if everything compiles, 1 if not.
"""

import pathlib
import subprocess
import sys
import venv

import nvrtc as run_time_compiler

NVCC = "13.5"
PACKAGES = {
    "nvcc": [*(f"nvidia-{name}=={NVCC}.*" for name in ("cuda-nvcc", "cuda-crt", "nvvm", "cuda-runtime")),
             "nvidia-cuda-cccl>=13.3.5,<14"],  # This package has its own version numbers.
    "nvrtc_oldest": [f"nvidia-{name}-cu12==12.8.*" for name in ("cuda-nvrtc", "cuda-cccl")],
    "nvrtc_newest": [f"nvidia-cuda-nvrtc=={NVCC}.*", "nvidia-cuda-cccl>=13.3.5,<14"],
}
ARCHITECTURES = {"nvcc": (80, 90, 100, 120), "nvrtc_oldest": (75, 80, 90, 100, 120), "nvrtc_newest": (75, 80, 90, 100, 120)}
KERNELS = ["vocabulary.cu", "device_clock.cu", "tags.cu", "sync.cu"]


def installed(kind, folder):
    """Returns the packages' folder `nvidia`, or None and a line with the reason why the packages cannot be installed."""
    python = folder / "bin" / "python"
    if not python.exists():
        venv.create(folder, with_pip=True)
    done = subprocess.run([python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *PACKAGES[kind]], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        print(f"SKIPPED: pip cannot install {' '.join(PACKAGES[kind])}\n{done.stdout}")
        return None
    return next(folder.glob("lib/python3*/site-packages/nvidia"))


def headers(include, patterns):
    found = (path for pattern in patterns for path in sorted((include / "membar").glob(pattern)))
    return [str(path.relative_to(include)) for path in found if not {"base", "detail"} & set(path.parts) and not path.name.startswith(("nvshmem_", "nccl_"))]


def compile_with_nvcc(toolkit, sources, include, options):
    failed = 0
    nvcc = toolkit / "cu13" / "bin" / "nvcc"
    for architecture in ARCHITECTURES["nvcc"]:
        for source in sources if architecture == 90 else sources[:1]:
            done = subprocess.run([nvcc, "-std=c++20", f"-I{include}", *options, "-cubin", f"-arch=sm_{architecture}", "-o", "/dev/null", source],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
            if done.returncode != 0:
                failed += 1
                print(f"nvcc {NVCC}: {source} does not compile for sm_{architecture}\n{done.stdout}")
    return failed


def compile_with_nvrtc(toolkit, repository, architectures):
    library = next(toolkit.glob("**/lib/libnvrtc.so.*"))
    libcudacxx = next(toolkit.glob("**/include/**/cuda/std/atomic")).parents[2]
    files = run_time_compiler.texts(repository / "include", "membar") | run_time_compiler.texts(libcudacxx, "cuda", "nv")
    ran = []
    failed = run_time_compiler.compile_all(run_time_compiler.Nvrtc(library, files), repository, architectures, False, ran)
    print("\n".join(ran))
    return failed


def main():
    kind, folder, repository = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
    toolkit = installed(kind, folder)
    if toolkit is None:
        return 0
    if kind != "nvcc":
        return 1 if compile_with_nvrtc(toolkit, repository, ARCHITECTURES[kind]) else 0
    include = repository / "include"
    names = headers(include, ["**/*.hpp", "**/*.cuh"])
    everything = folder / "everything.cu"
    everything.write_text("".join(f"#include <{name}>\n" for name in names))
    sources = [everything, *(repository / "tests" / "codegen" / name for name in KERNELS)]
    failed = compile_with_nvcc(toolkit, sources, include, sys.argv[4:])
    print(f"nvcc {NVCC}: {len(names)} headers and {len(KERNELS)} files of kernels, {len(ARCHITECTURES[kind])} architectures; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
