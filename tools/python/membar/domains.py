# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs the calling program under `membar-domains run`."""

import os
import pathlib
import shutil
import sys

_OF_THE_LIBRARY = "MEMBAR_DOMAINS_JOB"  # set by membar-domains for the processes that it starts


def _command():
    own = pathlib.Path(__file__).resolve().parent / "bin" / "membar-domains"
    found = str(own) if own.exists() else shutil.which("membar-domains")
    if not found:
        raise RuntimeError("membar: the command membar-domains is neither in this package nor in PATH: build the wheel where CMake finds the CUDA toolkit")
    return found


def auto(seconds=None, output=None):
    """Finds the kernels of this program that delay others, and runs them in another memory synchronization domain if that makes the program faster.

    The call restarts the program under `membar-domains run`, which must intercept the driver from the start. In the restarted program, the call
    returns immediately. Therefore, call it first, before any code that must run only once. `seconds` is how long `run` watches the kernels
    before it moves any (default 10); `output` is the folder of the report (default membar-domains). If membar-domains already runs the program,
    the call does nothing. It raises RuntimeError if the command membar-domains is missing, if the program cannot be restarted because it is
    interactive, or if CUDA is already in use.
    """
    if os.environ.get(_OF_THE_LIBRARY):
        return
    if sys.argv[0] in ("", "-") or hasattr(sys, "ps1") or "ipykernel" in sys.modules:
        raise RuntimeError("membar: domains.auto() cannot restart an interactive Python: start it with membar-domains run -- <command>")
    if "libcuda.so" in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace"):
        raise RuntimeError("membar: the CUDA driver is already loaded, but domains.auto() restarts the program: call it before the program uses CUDA")
    words = pathlib.Path("/proc/self/cmdline").read_bytes().split(b"\0")[1:-1]
    options = [f"--seconds={seconds}"] if seconds is not None else []
    options += [f"--output={output}"] if output is not None else []
    command = _command()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command, [command, "run", *options, "--", sys.executable, *(os.fsdecode(word) for word in words)])
