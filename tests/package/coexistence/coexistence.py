#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles, links and starts a program with two translation units that use membar, built the way another project would build them.

usage: coexistence.py <way> <repository> <empty folder> <nvcc> [<nvcc option>...]

Ways: plain, two_versions (the second unit has a copy of the headers with the version after this one), two_cccl (the second unit has libcu++
from PyPI; skipped if it cannot be installed), rdc, dlto, fast_math, device_debug (-G), address_sanitizer, thread_sanitizer, no_exceptions
(only device headers). Exit status: 0 if the program starts and prints the expected output, 1 if not. The first line of the
output starts with SKIPPED if something is missing.
"""

import pathlib
import re
import shutil
import subprocess
import sys

CCCL = "nvidia-cuda-cccl>=13.3.5,<14"
# The options for compiling both units, and for linking the program.
WAYS = {
    "plain": ([], []),
    "two_versions": ([], []),
    "two_cccl": ([], []),
    "rdc": (["-rdc=true"], ["-rdc=true"]),
    "dlto": (["-rdc=true", "-gencode=arch=compute_90,code=lto_90"], ["-rdc=true", "-dlto", "-gencode=arch=compute_90,code=sm_90"]),
    "fast_math": (["--use_fast_math"], []),
    "device_debug": (["-G"], []),
    "address_sanitizer": (["-Xcompiler=-fsanitize=address,-fsanitize=undefined,-fno-sanitize-recover=all"],
                          ["-Xcompiler=-fsanitize=address,-fsanitize=undefined"]),
    "thread_sanitizer": (["-Xcompiler=-fsanitize=thread"], ["-Xcompiler=-fsanitize=thread"]),
    "no_exceptions": (["-Xcompiler=-fno-exceptions", "-DWITHOUT_EXCEPTIONS"], []),
}


def run(*command):
    done = subprocess.run([str(each) for each in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"FAILED with {done.returncode}: {' '.join(map(str, command))}\n{done.stdout}")
    return done.stdout


def next_version(include, target):
    """Makes a copy of the headers with the next minor version."""
    config = (include / "membar" / "base" / "config.hpp").read_text()
    number = next(int(line.split()[2]) for line in config.splitlines() if line.startswith("#define MEMBAR_VERSION "))
    space = f"v{number // 10000}_{number // 100 % 100}"
    shutil.copytree(include, target)
    changed = 0
    for path in target.rglob("*.*h*"):
        text = path.read_text()
        changed += f"inline namespace {space}" in text
        path.write_text(text.replace(space, f"v{number // 10000}_{number // 100 % 100 + 1}")
                        .replace(f"#define MEMBAR_VERSION {number}", f"#define MEMBAR_VERSION {number + 100}"))
    if changed == 0:
        sys.exit(f"FAILED: no header has the inline namespace {space}")
    return target


def other_cccl(folder):
    done = subprocess.run([sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check", "--target", folder, CCCL],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    if done.returncode != 0:
        print(f"SKIPPED: pip cannot install {CCCL}\n{done.stdout}")
        sys.exit(0)
    return next(folder.glob("**/cuda/std/atomic")).parents[2]


def linking_toolkit(nvcc, folder):
    """Returns an nvcc whose linker finds libnvvm: the given nvcc or, if the package has the library elsewhere, a copy in a folder of links."""
    toolkit = nvcc.resolve().parents[1]
    if (toolkit / "nvvm" / "lib64" / "libnvvm.so").exists():
        return nvcc
    library = next(iter(sorted(toolkit.glob("lib*/libnvvm.so*"))), None)
    if library is None:
        print(f"SKIPPED: {toolkit} has no libnvvm, which nvlink loads to optimize")
        sys.exit(0)
    for part in toolkit.iterdir():
        if part.name not in ("bin", "nvvm"):
            (folder / part.name).parent.mkdir(parents=True, exist_ok=True)
            (folder / part.name).symlink_to(part)
    for part in ("bin", "nvvm"):
        (folder / part).mkdir()
        for each in (toolkit / part).iterdir():
            if each.name in ("nvcc", "nvcc.profile"):  # nvcc searches next to the file that its name resolves to.
                shutil.copy(each, folder / part / each.name)
            else:
                (folder / part / each.name).symlink_to(each)
    (folder / "nvvm" / "lib64").mkdir()
    (folder / "nvvm" / "lib64" / "libnvvm.so").symlink_to(library)
    return folder / "bin" / "nvcc"


def kernels(machine_code):
    """Returns the instructions of each kernel from the output of cuobjdump -sass."""
    found = {}
    for line in machine_code.splitlines():
        name = re.match(r"\s*Function : (\w+)", line)
        if name:
            instructions = found.setdefault(name[1], [])
        elif found and (instruction := re.match(r"\s+/\*[0-9a-f]{4,}\*/\s+([^;]+?)\s*;", line)):
            instructions.append(instruction[1])
    return found


# The operations that the link-time optimizer must keep, in this order. For `work_`: a release before the first addition, a
# sequentially consistent fence at system scope, and the acquire of the lock. For `share_`: the release of the signal at system
# scope.
ORDERS = {
    "work_": [r"\bMEMBAR\.(ALL|SC)\.GPU", r"\b(REDG?|ATOMG?)\.E\.ADD\S*\.STRONG\.GPU", r"\bMEMBAR\.SC\.SYS", r"\bSTRONG\.GPU"],
    "share_": [r"\bMEMBAR\.(ALL|SC)\.SYS", r"\bST\S*\.STRONG\.SYS"],
}


def after_link_time_optimization(tools, program):
    """Rejects machine code without a required fence or order. Nothing runs here, so only the text can be checked."""
    if shutil.which("cuobjdump", path=tools) is None and shutil.which("cuobjdump") is None:
        print("the machine code was not checked, because cuobjdump was not found")
        return
    dump = shutil.which("cuobjdump", path=tools) or shutil.which("cuobjdump")
    found = kernels(run(dump, "-sass", program))
    for part in "ab":
        for kernel, orders in ORDERS.items():
            instructions = iter(found.get(f"{kernel}{part}", []))
            for order in orders:
                if not any(re.search(order, instruction) for instruction in instructions):
                    text = "\n".join(found.get(f"{kernel}{part}", []))
                    sys.exit(f"FAILED: the linked kernel {kernel}{part} has no {order} where it should be:\n{text}")


def main():
    way, repository, folder, nvcc, *options = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3]), *sys.argv[4:]
    compile_with, link_with = WAYS[way]
    here = pathlib.Path(__file__).resolve().parent
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    includes = {"a": [f"-I{repository / 'include'}"]}
    includes["b"] = includes["a"]
    if way == "two_versions":
        includes["b"] = [f"-I{next_version(repository / 'include', folder / 'next')}"]
    elif way == "two_cccl":
        includes["b"] = [f"-I{other_cccl(folder / 'cccl')}", *includes["a"]]
    elif way == "dlto":
        nvcc = linking_toolkit(pathlib.Path(nvcc), folder / "toolkit")
    objects = []
    for part in "ab":
        objects.append(folder / f"{part}.o")
        run(nvcc, "-std=c++20", "-arch=sm_90" if way != "dlto" else "-DLTO", f"-DPART={part}", *includes[part], *options, *compile_with, "-c",
            here / "part.cu", "-o", objects[-1])
    linked = ["-arch=sm_90"] if way != "dlto" else []
    run(nvcc, "-std=c++20", *linked, f"-DVERSIONS={2 if way == 'two_versions' else 1}", *(["-DWITHOUT_EXCEPTIONS"] if way == "no_exceptions" else []),
        *link_with, here / "main.cpp", *objects, "-o", folder / "program")
    if way == "dlto":
        after_link_time_optimization(pathlib.Path(nvcc).parent, folder / "program")
    print(run(folder / "program"))


if __name__ == "__main__":
    main()
