# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records the kernels that are launched inside a `with` block, and checks kernels with the membar-check command."""

import atexit
import contextlib
import ctypes
import numbers
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import typing

_PACKAGE = pathlib.Path(__file__).resolve().parent
_LIBRARY = "libmembar_record.so"


class Finding(AssertionError):
    """Raised if membar-check has found an error. `report` is the text of its report."""

    def __init__(self, report):
        super().__init__("\n" + report)
        self.report = report


def checker():
    """Returns the path of the command membar-check: from MEMBAR_CHECK, from the package, or from the PATH."""
    for place in (os.environ.get("MEMBAR_CHECK"), _PACKAGE / "bin" / "membar-check", shutil.which("membar-check")):
        if place and os.access(place, os.X_OK):
            return str(place)
    raise RuntimeError("membar: membar-check was not found: install a wheel that contains the commands, or set MEMBAR_CHECK to the program's path")


def recorder():
    """Returns the path of the recording library, which must be preloaded."""
    beside = pathlib.Path(checker()).resolve().parent
    for place in (beside, beside.parent / "lib" / "membar", beside.parent / "lib64" / "membar"):
        if (place / _LIBRARY).exists():
            return str(place / _LIBRARY)
    raise RuntimeError(f"membar: {_LIBRARY} was not found near {beside}: build it where CMake finds the CUDA toolkit")


def variables():
    """Returns the environment variables that must be set when a process starts so that it can call `record`."""
    before = os.environ.get("LD_PRELOAD", "")
    result = {"LD_PRELOAD": recorder() + (":" + before if before else ""), "MEMBAR_RECORD_WAITS": "1"}
    for name, value in (("CUPY_CACHE_IN_MEMORY", "1"), ("JAX_ENABLE_COMPILATION_CACHE", "0")):
        if not os.environ.get(name):
            result[name] = value  # the caches on disk contain only machine code
    result["MEMBAR_RECORD_XLA"] = result["MEMBAR_RECORD_XLA_REMOVED"] = tempfile.mkdtemp(prefix="membar-xla-")
    return result


def _loaded():
    """Returns the recording library in this process, or None if it was not preloaded."""
    process = ctypes.CDLL(None)
    if not hasattr(process, "membar_record_begin"):
        return None
    process.membar_record_begin.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_uint, ctypes.c_ulonglong]
    return process


def is_loaded():
    return _loaded() is not None


def start_again(words):
    """Restarts this process as a Python process with these arguments and the environment that `record` needs."""
    sys.stdout.flush()
    sys.stderr.flush()
    os.execve(sys.executable, [sys.executable, *words], dict(os.environ, **variables()))


if "MEMBAR_RECORD_XLA_REMOVED" in os.environ and is_loaded():
    atexit.register(shutil.rmtree, os.environ.pop("MEMBAR_RECORD_XLA_REMOVED"), ignore_errors=True)


class Recording:
    """The scenarios in `folder` that were recorded from the launches of a `with` block. `said` is the output of the command that wrote the scenarios."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.scenarios: typing.List[pathlib.Path] = []
        self.said = ""
        self.undecided: typing.List[str] = []

    def check(self, *, options=(), schedules=10, seconds=60):
        """Checks each scenario. Raises `Finding` with the report if a scenario has an error.

        A scenario that cannot be explored in `seconds` is explored without load buffering. If that takes too long as well, or if the launch has
        too many threads, the scenario is executed at full size, once per schedule, and its result line is added to `undecided`. Raises RuntimeError
        if nothing was recorded, or if a scenario cannot be read.
        """
        self._each(lambda scenario: _check(scenario, options, schedules, seconds, self.undecided))

    def sanitize(self, *, options=(), schedules=10, seconds=600):
        """Executes each scenario at full size, once per schedule. Raises `Finding` with the report if a schedule shows an error.

        `options` are passed to membar-check sanitize. The result lines of scenarios that are cut short, for example after `seconds`, are added to
        `undecided`. The absence of findings says nothing about other schedules.
        """
        self._each(lambda scenario: _sanitize(scenario, options, schedules, seconds, self.undecided))

    def _each(self, report_of):
        if not self.scenarios:
            raise RuntimeError(f"membar: nothing was recorded.\n{self.said}")
        self.undecided = []
        found = "".join(filter(None, [report_of(each) for each in self.scenarios]))
        if found:
            raise Finding(found)


def _run(words, scenario, seconds):
    """Runs membar-check. Returns its exit status and its output. The status is 3 if membar-check took too long."""
    try:
        done = subprocess.run([checker(), *words, str(scenario)], capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        return 3, f"{scenario}\tgave up\tafter {seconds} s\n"
    if done.returncode not in (0, 1, 2, 3):
        raise RuntimeError(f"membar: membar-check ended with status {done.returncode} for {scenario}: {done.stdout}{done.stderr}")
    return done.returncode, done.stdout + (done.stderr if done.returncode == 2 else "")


def _sanitize(scenario, options, schedules, seconds, undecided, says_clean=False):
    """Executes a scenario. Returns the report if a schedule shows an error, otherwise None."""
    status, text = _run(["sanitize", f"--schedules={schedules}", *options], scenario, seconds)
    if status == 2:
        raise RuntimeError(f"membar: {scenario} cannot be checked: {text}")
    if status == 3 or (status == 0 and says_clean):
        undecided.append(text.partition("\n")[0])
    return text if status == 1 else None


def _check(scenario, options, schedules, seconds, undecided):
    """Checks a scenario. Returns the report if the scenario has an error, otherwise None."""
    status, text = _run(options, scenario, seconds)
    if status == 3:
        status, more = _run([*options, "--without-load-buffering"], scenario, seconds)
        text = text if status == 3 else more
        if status == 0:
            undecided.append(text.partition("\n")[0])
    if status in (2, 3) and schedules:  # a launch that is too large for exploration can still be executed
        return _sanitize(scenario, (), schedules, seconds, undecided, says_clean=True)
    if status == 2:
        raise RuntimeError(f"membar: {scenario} cannot be checked: {text}")
    if status == 3:
        undecided.append(text.partition("\n")[0])
    return text if status == 1 else None


@contextlib.contextmanager
def record(kernels="", *, all=False, contents=True, unknown_floats=False, shrink=False, limit=0, folder=None):  # pylint: disable=redefined-builtin
    """Records the kernels that the block launches. Returns a `Recording`, which is complete after the block.

    `kernels` is an extended regular expression that selects kernels by name. Without it, all kernels are selected if `all` is true, and
    otherwise the kernels whose PTX synchronizes. Without `contents`, memory contents are not recorded. With `unknown_floats`, words of the
    contents that may be floats become unknown values. With `shrink`, launches that are too large to explore are recorded with fewer blocks, if possible.
    `limit` is the maximum number of bytes to write; 0 means 1 GiB. The recording is written to `folder`, or to a temporary folder that is
    removed when the interpreter exits.
    """
    process = _loaded()
    if process is None:
        raise RuntimeError("membar: the recorder is not loaded in this process. It must be loaded before CUDA starts: run "
                           "'python -m membar run SCRIPT', or 'pytest --membar'")
    if folder is None:
        folder = tempfile.mkdtemp(prefix="membar-recording-")
        atexit.register(shutil.rmtree, folder, ignore_errors=True)
    result = Recording(folder)
    with tempfile.TemporaryDirectory(prefix="membar-records-") as records:
        flags = (1 if all else 0) + (0 if contents else 2)
        if process.membar_record_begin(records.encode(), kernels.encode(), flags, limit) != 0:
            raise RuntimeError(f"membar: recording did not begin, because another block is recording or {kernels!r} is not an extended regular expression")
        try:
            yield result
        finally:
            process.membar_record_end()
            options = {"--unknown-floats": unknown_floats, "--shrink": shrink}
            words = ["record", *(name for name, asked in options.items() if asked), f"--from={records}", f"--output={folder}"]
            done = subprocess.run([checker(), *words], capture_output=True, text=True, check=False)
            result.said = done.stderr
            result.scenarios = sorted(result.folder.glob("*.scenario"))


class _Arguments:
    """Converts the arguments of a launch to lines of a scenario, including the memory that they point to."""

    TYPES = {"u": "u", "i": "s", "f": "f"}

    def __init__(self, folder):
        self.folder = folder
        self.memory = {}
        self.lines = []

    @staticmethod
    def _hexadecimal(data):
        words = [hex(int.from_bytes(data[at:at + 8], "little")) for at in range(0, len(data), 8)]
        return words[0] if len(words) == 1 else "{" + " ".join(words) + "}"

    def _array(self, array, index):
        root = array
        while getattr(root, "base", None) is not None and hasattr(root.base, "__array_interface__"):
            root = root.base
        at = root.__array_interface__["data"][0]
        if not (root.flags.c_contiguous or root.flags.f_contiguous):
            raise ValueError(f"membar: argument {index} is a view of memory that is not contiguous: pass a contiguous array")
        if at not in self.memory:
            same = sum(name.split("_")[0] == f"arg{index}" for name in self.memory.values())
            name = f"arg{index}" + (f"_{same + 1}" if same else "")
            size = root.dtype.itemsize
            kind = self.TYPES.get(root.dtype.kind)
            typed = kind is not None and size in ((4, 8) if kind == "f" else (1, 2, 4, 8))
            (self.folder / f"{name}.bin").write_bytes(root.tobytes("A"))
            count, name_of_type = (root.size, f"{kind}{8 * size}") if typed else (root.nbytes, "u8")
            self.lines.append(f"memory {name} {name_of_type}[{count}] from {name}.bin\n")
            self.memory[at] = name
        offset = array.__array_interface__["data"][0] - at
        return self.memory[at] + (f"+{offset}" if offset else "")

    def word(self, argument, index):
        if hasattr(argument, "__array_interface__") and getattr(argument, "shape", ()) != ():
            return self._array(argument, index)
        if hasattr(argument, "tobytes"):  # a NumPy scalar
            return self._hexadecimal(argument.tobytes())
        if isinstance(argument, (bytes, bytearray)):
            return self._hexadecimal(argument)
        if isinstance(argument, (tuple, list)):
            return "{" + " ".join(self.word(each, index) for each in argument) + "}"
        if isinstance(argument, numbers.Integral):
            return str(int(argument))
        if isinstance(argument, numbers.Real):
            return f"{float(argument):f}" if float(f"{float(argument):f}") == float(argument) else f"{float(argument):.17e}"
        raise TypeError(f"membar: argument {index} is of type {type(argument).__name__}: expected an array, a number, bytes, or a tuple of the 8-byte "
                        "words of a struct")


def _shape(of):
    return " ".join(str(int(each)) for each in (of if isinstance(of, (tuple, list)) else (of,)))


def check(ptx, kernel, grid, block, args=(), *, shared=0, cluster=0, final=(), options=(), schedules=10, seconds=60):
    """Checks one launch of a kernel without running it. Raises `Finding` with the report if the launch has an error, and returns the result line otherwise.

    `ptx` is PTX text or the path of a `.ptx` or `.cu` file. A NumPy array is passed as memory with its contents; a view is passed as the memory of
    its base array. A number is passed as a number, and bytes or a tuple of words as a struct. `final` contains conditions that must hold at
    the end. In the conditions, argN is the array in argument N: "arg0[0] == 2". Further arrays in the same argument are named argN_2, argN_3 and so on.
    """
    with tempfile.TemporaryDirectory(prefix="membar-check-") as name:
        folder = pathlib.Path(name)
        text = str(ptx)
        if ".entry" in text:
            (folder / "kernel.ptx").write_text(text)
            source = "kernel.ptx"
        else:
            source = str(pathlib.Path(ptx).resolve())
        arguments = _Arguments(folder)
        words = [arguments.word(each, index) for index, each in enumerate(args)]
        launch = f"launch {kernel} grid {_shape(grid)} block {_shape(block)}" + (f" shared {shared}" if shared else "") + (
            f" cluster {cluster}" if cluster else "") + (" args " + " ".join(words) if words else "")
        scenario = folder / "launch.scenario"
        scenario.write_text(f"source {source}\n" + "".join(arguments.lines) + launch + "\n" + "".join(f"final {each}\n" for each in final))
        undecided = []
        found = _check(scenario, options, schedules, seconds, undecided)
        if found:
            raise Finding(found)
        return undecided[0] if undecided else "verified"
