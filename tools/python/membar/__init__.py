# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""membar: the CUDA memory model as a C++20 library, and what of it a Python program needs.

* `include_path()`, `cmake_path()`: where the C++ headers and the CMake package are.
* `sync_domain`, `persisting`: the memory synchronization domain, and an L2 access-policy window, of the kernels that a `with` block
  launches, whoever compiled them. They call the CUDA driver; nothing else is needed, and nothing is compiled.
* `domains.auto()`: `membar-domains run` for the program that calls it.
* `record`, `check`: what kernels of the program may do under the memory model, by the command membar-check; `pytest --membar` does it for tests.
* `adopted_memory`: a tensor of PyTorch's symmetric memory, for an extension that uses membar's symmetric memory.
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
        raise RuntimeError(f"membar: there is no {folder}: install the package with pip, which puts it there")
    return str(folder)


def include_path():
    """The folder for a compiler's -I: it holds `membar/atomic.cuh` and the other headers."""
    return _installed("include")


def cmake_path():
    """The folder of the CMake package: `cmake -Dmembar_ROOT=<it>`, and `find_package(membar)` finds it."""
    return _installed("share/cmake/membar")
