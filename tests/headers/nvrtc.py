#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the device headers, and kernels of the other tests, with NVRTC to machine code, from files in memory.

usage: nvrtc.py <libnvrtc.so> <folder of libcu++> <repository> <architecture>... [--each]
       nvrtc.py <libnvrtc.so> <folder of libcu++> <repository> --run

NVRTC gets the text of membar's and libcu++'s headers, by name, but no include folder, so it finds neither a standard library nor the CUDA
runtime's headers. All headers are compiled in one unit, and with --each also one by one. With --run, kernels of tests/codegen/sync.cu are
compiled for this machine's GPU and launched through the driver, and their results are checked. Exit status: 0 if everything compiles and
runs, 1 if not. If the library does not exist, or if --run finds no GPU, the first line of the output starts with SKIPPED.
"""

import argparse
import ctypes
import os
import pathlib
import posixpath
import re
import sys

# Device headers, except those that launch kernels from the host or belong to the litmus engine, which runs on the host.
PATTERNS = ["*.cuh", "sync/*.cuh", "interop/*.cuh", "symmetric/*.cuh"]
OF_THE_HOST = ["symmetric/on_stream.cuh", "symmetric/recoverable.cuh", "symmetric/all_reduce.cuh", "symmetric/nvshmem_backend.cuh",
               "symmetric/nccl_window.cuh"]
# libcu++'s <cuda/annotated_ptr> includes cuda_runtime_api.h.
NEEDS_THE_RUNTIME = ["interop/annotated_ptr.cuh"]
RELATIVE = re.compile(rb'^ *# *include *"([.][.]/[^"]+)"', re.MULTILINE)
# Kernels of other tests, relative to tests/codegen, and the options that they require: 16-byte atomics, or generic lambdas in
# symmetric/packed.cuh.
KERNELS = {"vocabulary.cu": [], "device_clock.cu": [], "tags.cu": [], "sync.cu": ["--device-int128"],
           "symmetric.cu": ["--device-int128", "--device-as-default-execution-space"],
           "../package/coexistence/part.cu": ["-DWITHOUT_EXCEPTIONS", "-DPART=a"]}


def device_headers(include):
    """Returns the names of the headers that NVRTC must be able to read."""
    found = (path.relative_to(include / "membar").as_posix() for pattern in PATTERNS for path in sorted((include / "membar").glob(pattern)))
    return [f"membar/{name}" for name in found if name not in OF_THE_HOST + NEEDS_THE_RUNTIME]


def texts(folder, *parts):
    """Returns the texts of the files in these subfolders, keyed by the name that `#include` uses."""
    found = {path.relative_to(folder).as_posix(): path.read_bytes()
             for part in parts for path in sorted((folder / part).rglob("*")) if path.is_file()}
    # NVRTC compares names literally. libcu++ of CUDA 12 includes a few of its files as "../folder/file".
    for name, text in list(found.items()):
        for written in RELATIVE.findall(text):
            meant = posixpath.normpath(posixpath.join(posixpath.dirname(name), written.decode()))
            if meant in found and found.setdefault(written.decode(), found[meant]) != found[meant]:
                raise RuntimeError(f"{written.decode()} in {name} refers to a different file than elsewhere")
    return found


class Nvrtc:
    """An NVRTC library, and the files that programs may include."""

    def __init__(self, library, files):
        self.library = ctypes.CDLL(str(library))
        self.library.nvrtcGetErrorString.restype = ctypes.c_char_p
        self.files = files
        major, minor = ctypes.c_int(), ctypes.c_int()
        self.check(self.library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor)))
        self.version = f"{major.value}.{minor.value}"

    def check(self, status):
        if status != 0:
            raise RuntimeError(self.library.nvrtcGetErrorString(status).decode())

    def text_of(self, program, what):
        size = ctypes.c_size_t()
        self.check(getattr(self.library, f"nvrtcGet{what}Size")(program, ctypes.byref(size)))
        text = ctypes.create_string_buffer(size.value)
        self.check(getattr(self.library, f"nvrtcGet{what}")(program, text))
        return text.raw

    def compile(self, source, architecture, options=()):
        """Returns the machine code or None, and NVRTC's log."""
        return self.compiled(source, ["--std=c++20", f"--gpu-architecture=sm_{architecture}", *options], "CUBIN")

    def ptx(self, source, options):
        """Returns the PTX or None, and NVRTC's log."""
        code, log = self.compiled(source, options, "PTX")
        return (code.rstrip(b"\0").decode() if code is not None else None), log

    def compiled(self, source, options, what):
        """Returns the result or None, and NVRTC's log. `what` is CUBIN or PTX."""
        names = (ctypes.c_char_p * len(self.files))(*(name.encode() for name in self.files))
        contents = (ctypes.c_char_p * len(self.files))(*self.files.values())
        array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
        program = ctypes.c_void_p()
        self.check(self.library.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"program.cu", len(self.files), contents, names))
        try:
            compiled = self.library.nvrtcCompileProgram(program, len(options), array) == 0
            log = self.text_of(program, "ProgramLog").rstrip(b"\0").decode(errors="replace")
            return (self.text_of(program, what) if compiled else None), log
        finally:
            self.library.nvrtcDestroyProgram(ctypes.byref(program))


def compile_all(nvrtc, repository, architectures, each, ran):
    """Compiles everything. Returns the number of units that failed. Appends one line per unit to `ran`."""
    headers = device_headers(repository / "include")
    units = {"all headers": "".join(f"#include <{name}>\n" for name in headers)}
    if each:
        units |= {name: f"#include <{name}>\n#include <{name}>\n" for name in headers}
    kernels = {name: (repository / "tests" / "codegen" / name).read_text() for name in KERNELS}
    failed = 0
    for architecture in architectures:
        # The kernels use features that need compute capability 8.0.
        for name, source in (units | (kernels if architecture >= 80 else {})).items():
            code, log = nvrtc.compile(source, architecture, KERNELS.get(name, []))
            if code is None or not code.startswith(b"\x7fELF") or log:
                failed += 1
                ran.append(f"NVRTC {nvrtc.version}, sm_{architecture}: {name} does not compile without messages\n{log}")
    ran.append(f"NVRTC {nvrtc.version}: {len(units) + len(kernels)} units with {len(headers)} headers for {len(architectures)} architectures; {failed} failed")
    return failed


class NoGpu(Exception):
    """Returns the reason why no kernel can run here, or an empty string."""


class Driver:
    """The first GPU, which is used through the driver's functions."""

    def __init__(self):
        try:
            self.library = ctypes.CDLL("libcuda.so.1")
        except OSError as why:
            raise NoGpu(f"no CUDA driver: {why}") from why
        if self.library.cuInit(0) != 0:
            raise NoGpu("the CUDA driver finds no device")
        self.check("cuDeviceGet", ctypes.byref(device := ctypes.c_int()), 0)
        self.check("cuDevicePrimaryCtxRetain", ctypes.byref(context := ctypes.c_void_p()), device)
        self.check("cuCtxSetCurrent", context)
        parts = ctypes.c_int(), ctypes.c_int()
        for attribute, part in zip((75, 76), parts):  # CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
            self.check("cuDeviceGetAttribute", ctypes.byref(part), attribute, device)
        self.architecture = parts[0].value * 10 + parts[1].value

    def check(self, function, *arguments):
        if (status := getattr(self.library, function)(*arguments)) != 0:
            self.library.cuGetErrorString(status, ctypes.byref(text := ctypes.c_char_p()))
            raise RuntimeError(f"{function}: {(text.value or b'').decode()}")

    def zeroed(self, size):
        self.check("cuMemAlloc_v2", ctypes.byref(address := ctypes.c_uint64()), ctypes.c_size_t(size))
        self.check("cuMemsetD8_v2", address, 0, ctypes.c_size_t(size))
        return address

    def read(self, address, size):
        data = (ctypes.c_ubyte * size)()
        self.check("cuMemcpyDtoH_v2", data, address, ctypes.c_size_t(size))
        return bytes(data)

    def launch(self, code, kernel, blocks, threads, *arguments):
        self.check("cuModuleLoadData", ctypes.byref(module := ctypes.c_void_p()), code)
        self.check("cuModuleGetFunction", ctypes.byref(function := ctypes.c_void_p()), module, kernel.encode())
        pointers = (ctypes.c_void_p * len(arguments))(*(ctypes.addressof(argument) for argument in arguments))
        self.check("cuLaunchKernel", function, blocks, 1, 1, threads, 1, 1, 0, None, pointers, None)
        self.check("cuCtxSynchronize")


def run(nvrtc, repository, ran):
    """Runs kernels from the tests. Returns the number of kernels with wrong results."""
    gpu = Driver()
    source = (repository / "tests" / "codegen" / "sync.cu").read_text()
    code, log = nvrtc.compile(source, gpu.architecture, KERNELS["sync.cu"])
    if code is None:
        ran.append(log)
        return 1
    failed = 0

    def expect(what, seen, right):
        nonlocal failed
        failed += seen != right
        ran.append(f"NVRTC {nvrtc.version}, sm_{gpu.architecture}: {what}: {seen}{'' if seen == right else f', which should be {right}'}")

    # The patterns' objects are zero-initialized. A successful wait also returns 0, so the result is initialized to another value.
    barrier, result = gpu.zeroed(256), gpu.zeroed(4)
    gpu.check("cuMemsetD8_v2", result, 0xff, ctypes.c_size_t(4))
    gpu.launch(code, "meet", 8, 64, barrier, result)
    expect("eight blocks passed a grid_barrier, result", int.from_bytes(gpu.read(result, 1), "little"), 0)
    last, is_last = gpu.zeroed(256), gpu.zeroed(4)
    gpu.launch(code, "arrive_last", 1, 64, last, is_last)
    expect("the only block arrived last", gpu.read(is_last, 1), b"\1")
    lock = gpu.zeroed(256)
    gpu.launch(code, "unlock", 1, 5, lock)
    expect("five threads' unlocks of a ticket_lock add up", sum(gpu.read(lock, 256)), 5)
    return failed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("libcudacxx", type=pathlib.Path)
    parser.add_argument("repository", type=pathlib.Path)
    parser.add_argument("architectures", type=int, nargs="*")
    parser.add_argument("--each", action="store_true")
    parser.add_argument("--run", action="store_true")
    asked = parser.parse_args()
    if not asked.library.exists():
        print(f"SKIPPED: NVRTC was not found at {asked.library}")
        return 0
    files = texts(asked.repository / "include", "membar") | texts(asked.libcudacxx, "cuda", "nv")
    nvrtc = Nvrtc(asked.library, files)
    ran = []
    try:
        if asked.run:
            failed = run(nvrtc, asked.repository, ran)
        else:
            failed = compile_all(nvrtc, asked.repository, asked.architectures, asked.each, ran)
    except NoGpu as why:
        required = "MEMBAR_REQUIRE_GPU" in os.environ
        print(f"{'FAILED' if required else 'SKIPPED'}: {why}")
        return 1 if required else 0
    print("\n".join(ran))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
