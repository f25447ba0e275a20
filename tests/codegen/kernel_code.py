# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Helpers for tests that compare code: the compiler, the kernels' code in a cubin, and command lines."""

import pathlib
import struct
import subprocess
import sys


def code_of_kernels(cubin):
    """Returns the bytes of each section .text.<kernel> of an ELF file."""
    image = pathlib.Path(cubin).read_bytes()
    if not image.startswith(b"\x7fELF\x02"):
        raise SystemExit("this is not a 64-bit ELF file")
    offset, = struct.unpack_from("<Q", image, 0x28)
    size, count, names_index = struct.unpack_from("<HHH", image, 0x3A)
    sections = [struct.unpack_from("<IIQQQQ", image, offset + i * size) for i in range(count)]
    names = sections[names_index][4]
    code = {}
    for name, _, _, _, at, length in sections:
        start = names + name
        text = image[start:image.index(b"\0", start)].decode()
        if text.startswith(".text."):
            code[text[len(".text."):]] = image[at:at + length]
    return code


def write_if_changed(path, text):
    """Writes a file only if its text has changed, so that an unchanged file keeps its modification time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    if not path.exists() or path.read_text() != text:
        path.write_text(text)


def split_arguments():
    """Splits the command line at `--` into options, the compiler's command, and options of its first run."""
    parts = [[]]
    for argument in sys.argv[1:]:
        if argument == "--":
            parts.append([])
        else:
            parts[-1].append(argument)
    if len(parts) < 2 or not parts[1]:
        raise SystemExit(f"{sys.argv[0]}: the compiler's command follows --")
    return (*parts, [])[:3]


def run(command):
    """Runs a command. If it fails, prints its output and exits with status 2."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
        print(f"failed: {' '.join(map(str, command))}", file=sys.stderr)
        sys.exit(2)
