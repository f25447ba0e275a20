# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""`membar-domains run` for the program that calls it."""

import os
import pathlib
import shutil
import sys

_OF_THE_LIBRARY = "MEMBAR_DOMAINS_JOB"  # membar-domains sets it for the processes that it starts


def _command():
    own = pathlib.Path(__file__).resolve().parent / "bin" / "membar-domains"
    found = str(own) if own.exists() else shutil.which("membar-domains")
    if not found:
        raise RuntimeError("membar: the command membar-domains is neither in this package nor in PATH: build the wheel with the CUDA toolkit, which it needs")
    return found


def auto(seconds=None, output=None):
    """Finds the kernels of this program that hold others up, and runs them in another memory synchronization domain while that gains.

    It starts the program again, under `membar-domains run`, which stands in front of the driver from the beginning; in the program that was
    so started it returns at once. So call it first, before anything that must happen once. `seconds` is how long it watches the kernels before
    it moves any (default 10), `output` the folder of the report (default membar-domains). It does nothing where membar-domains already runs
    the program. RuntimeError says what is missing: the command; a program that has a file to start again from; CUDA not in use yet.
    """
    if os.environ.get(_OF_THE_LIBRARY):
        return
    if sys.argv[0] in ("", "-") or hasattr(sys, "ps1") or "ipykernel" in sys.modules:
        raise RuntimeError("membar: an interactive Python cannot be started again: start it by membar-domains run -- <command>")
    if "libcuda.so" in pathlib.Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace"):
        raise RuntimeError("membar: the CUDA driver is loaded already, and the program would start again: call membar.domains.auto() before it uses CUDA")
    words = pathlib.Path("/proc/self/cmdline").read_bytes().split(b"\0")[1:-1]
    options = [f"--seconds={seconds}"] if seconds is not None else []
    options += [f"--output={output}"] if output is not None else []
    command = _command()
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(command, [command, "run", *options, "--", sys.executable, *(os.fsdecode(word) for word in words)])
