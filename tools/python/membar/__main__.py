# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Commands for a shell or a makefile.

python -m membar --include | --cmake | --recorder prints the folder of the headers, the folder of the CMake package, or the path of the recording
library. python -m membar run [-m MODULE | SCRIPT] [ARGUMENT...] runs Python with that library preloaded, so that `membar.record` works.
"""

import sys

import membar
from membar import _record

PATHS = {"--include": membar.include_path, "--cmake": membar.cmake_path, "--recorder": _record.recorder}

if __name__ == "__main__":
    if len(sys.argv) > 2 and sys.argv[1] == "run":
        try:
            _record.start_again(sys.argv[2:])
        except RuntimeError as why:
            sys.exit(str(why))
    if len(sys.argv) != 2 or sys.argv[1] not in PATHS:
        sys.exit(f"usage: python -m membar {' | '.join(PATHS)} | run SCRIPT [ARGUMENT...]")
    print(PATHS[sys.argv[1]]())
