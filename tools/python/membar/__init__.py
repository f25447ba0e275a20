# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""membar: the CUDA memory model as a C++20 library. This package contains the parts that a Python program needs.

* `include_path()`, `cmake_path()`: the folders of the C++ headers and of the CMake package.
* `sync_domain`, `persisting`: set the memory synchronization domain, or an L2 access-policy window, for all kernels that a `with` block
  launches into a stream, including kernels from other libraries. Both need only the CUDA driver and do not compile any code.
* `domains.auto()`: runs the calling program under `membar-domains run`.
* `record`, `check`: check the program's kernels against the memory model with the command membar-check; `pytest --membar` does this for
  tests.
* `adopted_memory`: makes a tensor in PyTorch's symmetric memory available to an extension that uses membar's symmetric memory.
"""

import importlib.metadata
import pathlib

from membar import domains
from membar._adopted import AdoptedMemory, adopted_memory
from membar._driver import Error
from membar._record import Finding, Recording, check, record
from membar._scopes import persisting, reset_persisting_lines, sync_domain, sync_domain_count

__all__ = ["AdoptedMemory", "Error", "Finding", "Recording", "adopted_memory", "check", "cmake_path", "domains", "include_path", "persisting",
           "record", "reset_persisting_lines", "sync_domain", "sync_domain_count"]

try:
    __version__ = importlib.metadata.version("membar")
except importlib.metadata.PackageNotFoundError:  # used from the source tree
    __version__ = "0+unknown"

_PACKAGE = pathlib.Path(__file__).resolve().parent


def _installed(part):
    folder = _PACKAGE / part
    if not folder.is_dir():
        raise RuntimeError(f"membar: {folder} does not exist: install the package with pip, which creates it")
    return str(folder)


def include_path():
    """Returns the folder to pass to a compiler's -I option, which contains `membar/atomic.cuh` and the other headers."""
    return _installed("include")


def cmake_path():
    """Returns the folder of the CMake package. With `cmake -Dmembar_ROOT=<folder>`, `find_package(membar)` finds it."""
    return _installed("share/cmake/membar")
