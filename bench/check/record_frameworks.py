#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records unmodified programs that use CUDA languages and frameworks on this machine's GPU, checks the recordings, and writes the results.

usage: record_frameworks.py [--checker=FILE] [--cutlass=FILE] [--numba-path=FOLDER] [--symmetric-source=FILE] [--output=FILE]
                            [--recordings=FOLDER] [--budget=SECONDS] [STEP...]

The results are in the format of docs/measurements. STEP is a name in STEPS. Without a STEP, all steps run. If a step's package is not
installed, the results say so. The FILE of --cutlass is the program record/cutlass_gemm.cu, built with the headers of nvidia-cutlass. The
FOLDER of --numba-path contains Python packages that only the step numba uses, for example a NumPy version that Numba supports. The FILE of
--symmetric-source is PyTorch's torch/csrc/distributed/c10d/symm_mem/CUDASymmetricMemoryOps.cu, or a file with its kernels. Recordings of at
most 400 KiB are kept in the folder of --recordings.
"""

import argparse
import datetime
import filecmp
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PROGRAMS = HERE / "record"
sys.path.insert(0, str(ROOT / "bench" / "common"))
import include_hash  # noqa: E402
import results as result_files  # noqa: E402

PTX = ["-gencode", "arch=compute_90,code=[sm_90,compute_90]"]
MACHINE_CODE = ["-gencode", "arch=compute_90,code=sm_90"]
SMALL = 400 * 1024  # The largest recording that is kept, in bytes.
STEP_SECONDS = 110


class Skip(Exception):
    """Raised when a step cannot run on this machine; its text is the reason."""


class Runner:
    """Runs the steps' programs in a separate folder, and checks their recordings."""

    def __init__(self, options, folder):
        self.options, self.folder = options, folder
        self.checker = str(pathlib.Path(options.checker).resolve())
        self.nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
        self.environment = dict(os.environ, MEMBAR_CHECK=self.checker, PYTHONDONTWRITEBYTECODE="1", CUDACXX=self.nvcc,
                                PYTHONPATH=f"{ROOT / 'tools' / 'python'}:{PROGRAMS}", TORCH_CUDA_ARCH_LIST="9.0+PTX",
                                XLA_PYTHON_CLIENT_PREALLOCATE="false", TORCH_EXTENSIONS_DIR=str(folder / "torch"),
                                TRITON_CACHE_DIR=str(folder / "triton"))
        self.end = 0.0

    def run(self, *words, seconds=STEP_SECONDS, **variables):
        """Returns the exit status, or 124 after the time limit, and the output."""
        seconds = max(1.0, min(seconds, self.end - time.monotonic()))
        try:
            done = subprocess.run([str(w) for w in words], cwd=self.folder, env=dict(self.environment, **variables), timeout=seconds, check=False,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace")
        except subprocess.TimeoutExpired as ended:
            said = ended.stdout or b""
            return 124, said.decode(errors="replace") if isinstance(said, bytes) else said
        return done.returncode, done.stdout

    def without_folder(self, text):
        return text.replace(f"{self.folder}/", "")

    def compiled(self, source, name, *options):
        status, said = self.run(self.nvcc, "-std=c++17", "-lineinfo", *options, "-o", self.folder / name, PROGRAMS / source)
        if status != 0:
            raise Skip(f"nvcc ended with status {status}: {said.strip()[-300:]}")
        return self.folder / name

    def record(self, name, words, options=(), **variables):
        """Records a program. Returns the program's entry in the results, and the recording's folder."""
        output = self.folder / "recordings" / name
        status, said = self.run(self.checker, "record", f"--output={output}", *options, "--", *words, **variables)
        told = [self.without_folder(line.removeprefix("membar-check: ")) for line in said.splitlines() if line.startswith("membar-check: ")]
        row = {"exit": status, **({} if status == 0 else {"printed": self.last_line(said)})}
        for text in told:
            if counts := re.match(r"recorded (\d+) kernels? in (\d+) launch", text):
                row.update(kernels=int(counts[1]), launches=int(counts[2]))
        return {**row, "said": [text[:300] for text in told if not text.startswith(("recorded ", "The recording contains"))]}, output

    def last_line(self, said):
        lines = [line for line in said.splitlines() if line.strip() and not line.startswith("membar-check: ")]
        return self.without_folder(lines[-1])[:200] if lines else ""

    def decided(self, scenario):
        """Returns a scenario's status, how the checker determined it, and the rest of the result line."""
        said = ""
        for how, words, seconds in (("explored", ["--quiet"], 15), ("without load buffering", ["--quiet", "--without-load-buffering"], 10),
                                    ("sanitized", ["sanitize", "--schedules=3"], 60)):
            status, said = self.run(self.checker, *words, scenario, seconds=seconds)
            cells = (said.strip().splitlines() or [""])[0].split("\t")
            if status in (0, 1):
                return [cells[1] if len(cells) > 1 else "?", how, self.without_folder("; ".join(cells[2:]))[:200]]
        return ["not decided", "", self.last_line(said)]

    def all_decided(self, folder):
        return {path.stem: self.decided(path) for path in sorted(folder.glob("*.scenario"))} if folder.exists() else {}


def needs(*modules):
    for module in modules:
        if importlib.util.find_spec(module) is None:
            raise Skip(f"{module} is not installed")


def python(runner, name, script, *options, modules=(), **variables):
    needs(*modules)
    row, folder = runner.record(name, [sys.executable, PROGRAMS / script], options, **variables)
    row["scenarios"] = runner.all_decided(folder)
    return row


def nvcc(runner):
    program = runner.compiled("groups.cu", "groups", *PTX)
    row, folder = runner.record("nvcc", [program])
    _, again = runner.record("nvcc_again", [program])
    names = sorted(path.name for path in folder.iterdir())
    same = names == sorted(path.name for path in again.iterdir()) and not filecmp.cmpfiles(folder, again, names, shallow=False)[1]
    shutil.rmtree(again)
    return {**row, "second recording is equal": same, "scenarios": runner.all_decided(folder)}


def shrink(runner):
    program = runner.compiled("groups.cu", "groups", *PTX)
    row, folder = runner.record("shrink", [program], ["--kernels=count_ranges", "--shrink"])
    return {**row, "scenarios": runner.all_decided(folder)}


def unknown_floats(runner):
    row = python(runner, "unknown_floats", "load_inline.py", "--unknown-floats", modules=["torch"])
    text = "".join(path.read_text() for path in (runner.folder / "recordings" / "unknown_floats").glob("*.scenario"))
    return {**row, "has unknown values": " unknown " in text}


def attach(runner):
    program = runner.compiled("groups.cu", "groups_without_ptx", *MACHINE_CODE)
    row, folder = runner.record("attach", [program], ["--kernels=ring_sum"])
    for scenario in folder.glob("*.scenario"):
        row["exit of attach"] = runner.run(runner.checker, "attach", scenario, "--source", PROGRAMS / "groups.cu", "--", "-std=c++17")[0]
    return {**row, "scenarios": runner.all_decided(folder)}


def cub(runner):
    row, folder = runner.record("cub", [runner.compiled("cub_scan.cu", "cub_scan", *PTX)], ["--all"])
    return {**row, "scenarios": runner.all_decided(folder)}


def cutlass(runner):
    program = pathlib.Path(runner.options.cutlass).resolve()
    if not program.exists():
        raise Skip("give the program with --cutlass")
    row, folder = runner.record("cutlass", [program])
    return {**row, "scenarios": runner.all_decided(folder)}


def torch_symmetric(runner):
    """Records two processes, on two GPUs if there are two. Attaches the source of PyTorch's kernels if --symmetric-source names it."""
    needs("torch")
    gpus = min(2, len(subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False).stdout.splitlines()))
    words = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", PROGRAMS / "torch_symmetric.py"]
    one_gpu = {"TORCH_SYMM_MEM_ALLOW_OVERLAPPING_DEVICES": "1"} if gpus == 1 else {}
    row, folder = runner.record("torch_symmetric", words, ["--kernels=all_reduce"], TORCH_SYMM_MEM_DISABLE_MULTICAST="1", **one_gpu)
    row["GPUs"] = gpus
    if runner.options.symmetric_source:
        include = pathlib.Path(importlib.util.find_spec("torch").origin).parent / "include"
        for scenario in sorted(folder.glob("*.scenario")):
            status, said = runner.run(runner.checker, "attach", scenario, "--source", pathlib.Path(runner.options.symmetric_source).resolve(), "--",
                                      "-std=c++17", f"-I{include}", f"-I{include}/torch/csrc/api/include")
            row.setdefault("attach", []).append([status, runner.last_line(said)])
    return {**row, "scenarios": runner.all_decided(folder)}


def jax(runner, name, *flags):
    # Autotuning launches kernels on 16 MiB, which take minutes to sanitize.
    return python(runner, name, "jax_scatter.py", modules=["jax"], XLA_FLAGS=" ".join(["--xla_gpu_autotune_level=0", *flags]))


def numba(runner):
    folder = runner.options.numba_path
    path = f"{pathlib.Path(folder).resolve()}:" if folder else ""
    row = python(runner, "numba", "numba_lock.py", modules=["numba"], PYTHONPATH=path + runner.environment["PYTHONPATH"])
    return {**row, **({"own packages": sorted(p.stem for p in pathlib.Path(folder).glob("*.dist-info"))} if folder else {})}


def block(runner):
    needs("cupy")
    status, said = runner.run(sys.executable, "-m", "membar", "run", PROGRAMS / "block.py")
    return {"exit": status, "found in wrong and not in right": status == 0, **({} if status == 0 else {"printed": runner.last_line(said)})}


def pytest_plugin(runner):
    needs("cupy", "pytest")
    status, said = runner.run(sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "membar._pytest", "--membar", "-q",
                              PROGRAMS / "test_ticket.py")
    return {"exit": status, "found in wrong and not in right": "1 failed, 1 passed" in said, "printed": runner.last_line(said)}


STEPS = {
    "nvcc": nvcc, "shrink": shrink, "attach": attach, "cub": cub, "cutlass": cutlass,
    "torch load_inline": lambda r: python(r, "load_inline", "load_inline.py", modules=["torch"]),
    "unknown floats": unknown_floats,
    "torch cumsum": lambda r: python(r, "torch_cumsum", "torch_cumsum.py", "--kernels=scan", modules=["torch"]),
    "torch symmetric memory": torch_symmetric,
    "triton": lambda r: python(r, "triton", "triton_lock.py", modules=["torch", "triton"]),
    "cupy": lambda r: python(r, "cupy", "cupy_ticket.py", modules=["cupy"]),
    "jax": lambda r: jax(r, "jax"),
    "jax with ptxas": lambda r: jax(r, "jax_ptxas", "--xla_gpu_enable_libnvptxcompiler=false"),
    "numba": numba,
    "cuda.core": lambda r: python(r, "cuda_core", "cuda_core_ticket.py", modules=["cuda.core"] if importlib.util.find_spec("cuda") else ["cuda"]),
    "flashinfer": lambda r: python(r, "flashinfer", "flashinfer_norm.py", modules=["torch", "flashinfer"]),
    "membar.record": block, "pytest --membar": pytest_plugin,
}


def context(runner):
    def said(*words):
        try:
            return subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
        except OSError:
            return ""
    packages = {}
    for name in ("torch", "triton", "cupy-cuda13x", "cupy-cuda12x", "jax", "jaxlib", "numba", "numba-cuda", "numpy", "cuda-core",
                 "flashinfer-python", "pytest"):
        try:
            packages[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            pass
    machine, _, driver = said("nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader").partition("\n")[0].partition(", ")
    return {"date": datetime.date.today().isoformat(), "machine": machine, "driver": driver, "nvcc": said(runner.nvcc, "--version").rpartition("\n")[2],
            "membar-check": said(runner.checker, "--version"),
            **{folder: include_hash.tree_hash(ROOT / folder).hexdigest() for folder in ("include", "tools")}, "packages": packages}


def keep_small(recordings, to):
    """Copies the recordings that can serve as tests."""
    for folder in sorted(recordings.glob("*")):
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(f"{folder.name}: {size} bytes")
        if size <= SMALL:
            shutil.copytree(folder, to / folder.name, dirs_exist_ok=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checker", default=str(ROOT / "build" / "default" / "bin" / "membar-check"))
    parser.add_argument("--cutlass", default=str(ROOT / "build" / "exp" / "cutlass_gemm"))
    parser.add_argument("--numba-path", default="")
    parser.add_argument("--symmetric-source", default="")
    parser.add_argument("--output", default="record_frameworks.json")
    parser.add_argument("--recordings", default="recordings")
    parser.add_argument("--budget", type=float, default=480)
    parser.add_argument("steps", nargs="*", metavar="STEP")
    options = parser.parse_args()
    if wrong := [name for name in options.steps if name not in STEPS]:
        parser.error(f"no step is named {wrong[0]!r}: expected one of {', '.join(STEPS)}")
    recordings = pathlib.Path(options.recordings).resolve()
    recordings.mkdir(parents=True, exist_ok=True)
    end = time.monotonic() + options.budget
    with tempfile.TemporaryDirectory(prefix="record-frameworks-") as name:
        runner = Runner(options, pathlib.Path(name))
        (runner.folder / "recordings").mkdir()
        table = {}
        for step in options.steps or STEPS:
            begin = time.monotonic()
            runner.end = min(end, begin + STEP_SECONDS)
            try:
                table[step] = STEPS[step](runner) if begin < end else {"skipped": "no time was left"}
            except Skip as why:
                table[step] = {"skipped": str(why)}
            except (OSError, ValueError, LookupError) as why:
                table[step] = {"failed": f"{type(why).__name__}: {why}"}
            table[step]["seconds"] = round(time.monotonic() - begin, 1)
            print(f"{step}: {json.dumps(table[step], indent=1)}", flush=True)
            pathlib.Path(options.output).write_text(result_files.text_of({"context": context(runner), "steps": table}), encoding="utf-8")
        keep_small(runner.folder / "recordings", recordings)
    return 0


if __name__ == "__main__":
    sys.exit(main())
