# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""python -m membar --include | --cmake: prints the folder of the headers or of the CMake package, for a shell or a makefile."""

import sys

import membar

FOLDERS = {"--include": membar.include_path, "--cmake": membar.cmake_path}

if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in FOLDERS:
        sys.exit(f"usage: python -m membar {' | '.join(FOLDERS)}")
    print(FOLDERS[sys.argv[1]]())
