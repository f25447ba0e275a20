#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Prints git's hash of a folder's current files. For an unchanged `include`, it equals the output of `git rev-parse
HEAD:include`.

    include_hash.py <folder> [<file.cpp>]

With a second argument it writes a C++ function that returns the hash, `include_hash` for the folder `include`. The benches
and the conformance suite record the hash.
"""
import hashlib
import os
import pathlib
import sys

SOURCE = """// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
namespace support {{
const char* {}_hash() noexcept {{ return "{}"; }}
}}  // namespace support
"""


def object_hash(kind, content):
    return hashlib.sha1(f"{kind} {len(content)}\0".encode() + content)


def tree_hash(folder):
    entries = []
    for path in folder.iterdir():
        if path.name == "__pycache__":
            continue
        if path.is_dir():
            entries.append((path.name + "/", b"40000", tree_hash(path)))
        else:
            entries.append((path.name, b"100755" if os.access(path, os.X_OK) else b"100644", object_hash("blob", path.read_bytes())))
    content = b"".join(mode + b" " + name.rstrip("/").encode() + b"\0" + each.digest() for name, mode, each in sorted(entries, key=lambda e: e[0]))
    return object_hash("tree", content)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    folder = pathlib.Path(sys.argv[1])
    found = tree_hash(folder).hexdigest()
    if len(sys.argv) == 2:
        print(found)
    else:
        pathlib.Path(sys.argv[2]).write_text(SOURCE.format(folder.name, found), encoding="utf-8")


if __name__ == "__main__":
    main()
