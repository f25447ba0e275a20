#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the headers with a toolkit of PyPI other than the one at hand: the newest nvcc that membar claims, or the oldest NVRTC.

usage: other_toolkits.py nvcc|nvrtc <folder> <repository> [<nvcc option>...]

nvcc:  all public headers in one file, for each architecture, and the kernels of tests/codegen.
nvrtc: the device headers that have no host code, and the same kernels. NVRTC has no standard library. libcu++ stands in for it, and
       empty files stand in for what only host code uses.

The packages are installed into a virtual environment in the folder, the first time. The first line says SKIPPED if they cannot be had.
Exit status: 0 if everything compiles, 1 if not.
"""

import ctypes
import pathlib
import subprocess
import sys
import venv

NVCC = "13.5"
NVRTC = "12.8"
PACKAGES = {
    "nvcc": [*(f"nvidia-{name}=={NVCC}.*" for name in ("cuda-nvcc", "cuda-crt", "nvvm", "cuda-runtime")),
             "nvidia-cuda-cccl>=13.3.5,<14"],  # which has numbers of its own
    "nvrtc": [f"nvidia-{name}-cu12=={NVRTC}.*" for name in ("cuda-nvrtc", "cuda-nvcc", "cuda-runtime", "cuda-cccl")],
}
ARCHITECTURES = {"nvcc": (80, 90, 100, 120), "nvrtc": (80, 90)}
KERNELS = ["vocabulary.cu", "device_clock.cu", "tags.cu", "sync.cu"]
# Headers that NVRTC can read, but for one that calls the CUDA runtime.
NO_HOST_CODE = ["*.cuh", "sync/*.cuh", "interop/*.cuh"]
WITH_HOST_CODE = ["constant.cuh"]


def installed(kind, folder):
    """The folder `nvidia` of the packages; None, and a line that says why, if they cannot be installed."""
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
    return [str(path.relative_to(include)) for path in found if "/detail/" not in str(path) and not path.name.startswith("nvshmem_")]


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


def compile_with_nvrtc(toolkit, sources, include, folder):
    library = ctypes.CDLL(str(toolkit / "cuda_nvrtc" / "lib" / "libnvrtc.so.12"))
    for name in ("cstring", "cstdio"):
        (folder / "empty").mkdir(exist_ok=True)
        (folder / "empty" / name).write_text("")
    (folder / "std.hpp").write_text("namespace cuda { namespace std {} }\nnamespace std { using namespace cuda::std; }\n")
    cccl = toolkit / "cuda_cccl" / "include"
    paths = [include, cccl, cccl / "cuda" / "std", folder / "empty", toolkit / "cuda_runtime" / "include", toolkit / "cuda_nvcc" / "include"]
    failed = 0
    for architecture in ARCHITECTURES["nvrtc"]:
        options = ["--std=c++20", f"-arch=sm_{architecture}", "--device-int128", "-default-device", f"--pre-include={folder / 'std.hpp'}",
                   *(f"-I{path}" for path in paths)]
        array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        for source in sources:
            program = ctypes.c_void_p()
            library.nvrtcCreateProgram(ctypes.byref(program), source.read_bytes(), str(source).encode(), 0, None, None)
            if library.nvrtcCompileProgram(program, len(options), array) != 0:
                failed += 1
                size = ctypes.c_size_t()
                library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
                log = ctypes.create_string_buffer(size.value)
                library.nvrtcGetProgramLog(program, log)
                print(f"NVRTC {NVRTC}: {source} does not compile for sm_{architecture}\n{log.value.decode(errors='replace')}")
            library.nvrtcDestroyProgram(ctypes.byref(program))
    return failed


def main():
    kind, folder, repository = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
    toolkit = installed(kind, folder)
    if toolkit is None:
        return 0
    include = repository / "include"
    if kind == "nvcc":
        names = headers(include, ["**/*.hpp", "**/*.cuh"])
    else:
        names = [name for name in headers(include, NO_HOST_CODE) if pathlib.Path(name).name not in WITH_HOST_CODE]
    everything = folder / "everything.cu"
    everything.write_text("".join(f"#include <{name}>\n" for name in names))
    sources = [everything, *(repository / "tests" / "codegen" / name for name in KERNELS)]
    failed = compile_with_nvcc(toolkit, sources, include, sys.argv[4:]) if kind == "nvcc" else compile_with_nvrtc(toolkit, sources, include, folder)
    print(f"{kind}: {len(names)} headers and {len(KERNELS)} files of kernels, {len(ARCHITECTURES[kind])} architectures; {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
