# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""The compiler, and the code of the kernels in a cubin, for tests that compare it."""

import pathlib
import struct
import subprocess
import sys


def code_of_kernels(cubin):
    """The bytes of each section .text.<kernel> of an ELF file."""
    image = pathlib.Path(cubin).read_bytes()
    if image[:5] != b"\x7fELF\x02":
        raise SystemExit(f"{cubin} is no 64-bit ELF file")
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


def run(command):
    """Ends the program with exit status 2 if the command fails, and shows what it said."""
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        print(done.stdout + done.stderr, file=sys.stderr)
        print(f"failed: {' '.join(map(str, command))}", file=sys.stderr)
        sys.exit(2)
