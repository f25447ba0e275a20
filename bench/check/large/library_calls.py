#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Records CUB's scan, radix sort and reduction of 10^6 elements on this machine's GPU, sanitizes each recorded scenario on the
CPU, and reports the time and memory that each takes.

usage: library_calls.py --checker=<membar-check> [--calls=NAME,...] [--schedules=N] [--jobs=N] [--minutes=N] [--program=COMMAND] [--out=FILE.json]
       library_calls.py --from=FILE.json --page=FILE.md

The recordings are in a temporary folder because they are large: each scenario contains the memory of its launch. nvcc
compiles library_calls.cu, unless --program specifies another command; the name of a call is appended to that command.
"""

import argparse
import concurrent.futures
import datetime
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "bench/common"))
import include_hash  # noqa: E402
import results as result_files  # noqa: E402


def ended(words, seconds):
    """Returns the exit status, the output, the time in seconds, and the peak memory in MiB. A process that takes longer than
    the limit is stopped, with status 124."""
    begin = time.monotonic()
    with tempfile.TemporaryFile("w+") as said, tempfile.TemporaryFile("w+") as complained:
        process = subprocess.Popen([str(w) for w in words], stdout=said, stderr=complained)
        # Unlike Python's own wait, wait4 reports memory. The value is never less than the size of the Python process that
        # starts the measured process.
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(os.wait4, process.pid, 0)
            try:
                _, status, used = waiting.result(timeout=max(seconds, 0.001))
                process.returncode = os.waitstatus_to_exitcode(status)
            except concurrent.futures.TimeoutError:
                os.kill(process.pid, 9)
                _, _, used = waiting.result()
                process.returncode = 124
        texts = [(f.seek(0), f.read())[1] for f in (said, complained)]
    return process.returncode, texts[0], texts[1], time.monotonic() - begin, used.ru_maxrss / 1024


def program(options, folder):
    if options.program:
        return shlex.split(options.program)
    nvcc = os.environ.get("CUDACXX") or shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc"
    output = folder / "library_calls"
    subprocess.run([nvcc, "-std=c++17", "-O2", "-lineinfo", "-gencode", "arch=compute_90,code=[sm_90,compute_90]", "-o", output,
                    HERE / "library_calls.cu"], check=True)
    return [output]


def recorded(options, words, name, folder):
    """Returns the outcome of recording a call, and the recorded scenarios."""
    output = folder / name
    status, said, complained, seconds, _ = ended([options.checker, "record", "--all", "--limit=1G", f"--output={output}", "--", *words, name],
                                                 options.end - time.monotonic())
    scenarios = sorted(output.glob("*.scenario")) if output.exists() else []
    row = {"exit": status, "seconds": round(seconds, 1), "MiB": round(sum(p.stat().st_size for p in output.glob("*")) / (1 << 20), 1)}
    return row | ({"said": (said + complained)[-300:]} if status != 0 or not scenarios else {}), scenarios


def sanitized(options, scenario):
    status, said, complained, seconds, peak = ended([options.checker, "sanitize", f"--schedules={options.schedules}", "--format=json", scenario],
                                                    options.end - time.monotonic())
    row = {"exit": status, "total seconds": round(seconds, 1), "peak MiB": round(peak)}
    try:
        file = json.loads(said)["files"][0]
    except (ValueError, KeyError, IndexError):
        return row | {"status": "not finished" if status == 124 else "error", "message": (said + complained)[-300:]}
    if "findings" not in file:
        return row | {"status": file["status"], "message": file.get("message", "")[:300]}
    return row | {"status": file["status"], "schedules": file["schedules"], "instructions": file["instructions"], "seconds": round(file["seconds"], 2),
                  "findings": [f"{f['status']}: {f['message']}"[:400] for f in file["findings"]][:8]}


def device():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def table(document):
    lines = ["| call | recorded kernel and launch number | result | instructions per schedule | seconds per schedule | peak MiB |",
             "|---|---|---|---|---|---|"]
    for name, call in document["calls"].items():
        for scenario, row in sorted(call["scenarios"].items()):
            schedules = max(row.get("schedules", 0), 1)
            lines.append(f"| {name} | `{scenario}` | {row['status']} | {row.get('instructions', 0) / schedules / 1e6:.2f} million | "
                         f"{row.get('seconds', 0) / schedules:.1f} | {row['peak MiB']} |")
    return "\n".join(lines)


def measured(options):
    options.checker, options.end = options.checker.resolve(), time.monotonic() + 60 * options.minutes
    document = {"context": {"date": datetime.date.today().isoformat(), "device": device(), "cores": os.cpu_count(), "jobs": options.jobs,
                            **{folder: include_hash.tree_hash(ROOT / folder).hexdigest() for folder in ("include", "tools")}}, "calls": {}}

    def write():
        if options.out:
            options.out.write_text(result_files.text_of(document), encoding="utf-8")

    with tempfile.TemporaryDirectory() as temporary, concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        folder = pathlib.Path(temporary)
        words, waiting = program(options, folder), {}
        for name in options.calls.split(","):
            row, scenarios = recorded(options, words, name, folder)
            document["calls"][name] = {"recording": row, "scenarios": {}}
            waiting.update({pool.submit(sanitized, options, scenario): (name, scenario.stem) for scenario in scenarios})
            write()
        for done in concurrent.futures.as_completed(waiting):
            name, scenario = waiting[done]
            document["calls"][name]["scenarios"][scenario] = done.result()
            write()
    return document


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checker", default="membar-check", type=pathlib.Path)
    parser.add_argument("--calls", default="scan,sort,reduce")
    parser.add_argument("--schedules", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1, help="the number of scenarios to sanitize at the same time")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--program", default="")
    parser.add_argument("--out", type=pathlib.Path)
    parser.add_argument("--from", dest="before", type=pathlib.Path, help="only write the table for the results in this file")
    parser.add_argument("--page", type=pathlib.Path, help="replace the table between the marks in this page")
    options = parser.parse_args()
    document = json.loads(options.before.read_text()) if options.before else measured(options)
    print(table(document))
    if options.page:
        begin = "<!-- what bench/check/large/library_calls.py writes -->\n"
        page = options.page.read_text(encoding="utf-8")
        options.page.write_text(re.sub(f"({re.escape(begin)}).*?(<!-- its end -->)", lambda m: m[1] + table(document) + "\n" + m[2], page, flags=re.S),
                                encoding="utf-8")
    rows = [row for call in document["calls"].values() for row in call["scenarios"].values()]
    return 0 if rows and all(row["exit"] == 0 for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
