# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m membar --include | --cmake: the folders of the headers and of the CMake package, for a shell or a makefile."""

import sys

import membar

FOLDERS = {"--include": membar.include_path, "--cmake": membar.cmake_path}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in FOLDERS:
        sys.exit(f"usage: python -m membar {' | '.join(FOLDERS)}")
    print(FOLDERS[sys.argv[1]]())
