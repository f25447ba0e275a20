#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs `membar-check witness` over the bug corpus and the faults found in public code, wrong and fixed, on the GPU of this machine, and writes how
often each went wrong.

usage: witness_corpus.py [--checker=FILE] [--seconds-per-entry=S] [--runs=N] [--output=FILE] [--reproducers=FOLDER] [NAME...]

NAME is an entry of examples/bugs or examples/found, such as look_back; without any, all are run. An entry has half of its seconds for each of its forms.
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = [ROOT / "examples" / "bugs", ROOT / "examples" / "found"]
sys.path.insert(0, str(ROOT / "bench" / "common"))
import include_hash  # noqa: E402
import results as result_files  # noqa: E402


def witnessed(checker, name, options):
    folder = next((each for each in FOLDERS if (each / f"{name}.wrong.scenario").exists()), FOLDERS[0])
    words = [checker, "witness", f"{name}.wrong.scenario", "--fixed", f"{name}.fixed.scenario", "--format=json", "--patience=10",
             f"--seconds={options.seconds_per_entry / 2}", f"--runs={options.runs}"]
    if options.reproducers:
        words += ["--reproducer", str(pathlib.Path(options.reproducers).resolve() / name)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"status": "error", "message": done.stderr.strip() or f"exit status {done.returncode}"}


def counted(form, delayed):
    """Wrong runs and hangs, and all runs, of those with delays or of those without."""
    arms = [a for a in form.get("runs", []) if a["kind"].startswith("delays") == delayed]
    return sum(a["wrong"] + a["hangs"] for a in arms), sum(a["runs"] for a in arms)


def row(name, result):
    if "wrong" not in result:
        return [name, result["status"], result.get("message", "").splitlines()[0][:100] if result.get("message") else "", "", "", ""]
    wrong, fixed = result["wrong"], result.get("fixed", {})
    shown = [a for a in wrong["runs"] if a["kind"].startswith("delays") and a["wrong"] + a["hangs"] > 0]
    smallest = min(shown, key=lambda a: a["smallest_ns"], default=None)
    cells = ["{} of {}".format(*counted(f, d)) for f, d in ((wrong, True), (wrong, False), (fixed, True))]
    return [name, result["status"], *cells, f"{smallest['smallest_ns']:.0f} ns, {smallest['kind']}" if smallest else ""]


def driver():
    try:
        return subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True).stdout.split("\n")[0]
    except OSError:
        return ""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checker", default=str(ROOT / "build" / "default" / "bin" / "membar-check"))
    parser.add_argument("--seconds-per-entry", type=float, default=6)
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--output", default="witness.json")
    parser.add_argument("--reproducers", default="")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = options.names or [name for folder in FOLDERS for name in sorted(p.name.split(".")[0] for p in folder.glob("*.wrong.scenario"))]
    checker = str(pathlib.Path(options.checker).resolve())
    context = {"date": datetime.date.today().isoformat(), "driver": driver(), "include": include_hash.tree_hash(ROOT / "include").hexdigest()}
    rows = [["entry", "status", "wrong, delays", "wrong, no delays", "fixed, delays", "smallest"]]
    results = {}
    for name in names:
        results[name] = witnessed(checker, name, options)
        rows.append(row(name, results[name]))
        print("\t".join(rows[-1]), flush=True)
        pathlib.Path(options.output).write_text(result_files.text_of({"context": context, "entries": results}), encoding="utf-8")
        if results[name]["status"] == "no GPU":
            print(results[name].get("message", "no GPU"), file=sys.stderr)
            return 4
    print("\n" + "\n".join("| " + " | ".join(r) + " |" for r in [rows[0], ["---"] * len(rows[0]), *rows[1:]]))
    seen = sum(r["status"] == "observed" for r in results.values())
    print(f"\n{seen} of {len(results)} observed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
