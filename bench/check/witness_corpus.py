#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Runs `membar-check witness` over the bug corpus, the faults found in public code and the dependent kernels of a PyTorch program, in their
wrong and fixed versions, on this machine's GPU, and reports how often each failed.

usage: witness_corpus.py [--checker=FILE] [--runs=N] [--seconds-per-entry=S] [--minutes=M] [--output=FILE] [--reproducers=FOLDER] [--folder=bugs|found|record]
                         [--range=FROM:TO] [NAME...]

NAME is an entry in examples/bugs, examples/found or tests/record, such as look_back; without a NAME, all entries run, starting with
examples/found. --range selects some of the entries by their position in this order. Each kind of run is repeated N times (default
1,000,000), and ten times as often for the fixed version. An entry that would take longer than S seconds (half of them for each version) is
run less often, and the result says so. The result is written after each entry. Entries that already have N runs in the output are skipped,
so the same command continues where an earlier one stopped. --minutes ends the command before an entry that would probably exceed the time
limit.
"""

import argparse
import datetime
import json
import pathlib
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = {"found": ROOT / "examples" / "found", "bugs": ROOT / "examples" / "bugs", "record": ROOT / "tests" / "record"}
sys.path.insert(0, str(ROOT / "bench" / "common"))
import include_hash  # noqa: E402
import results as result_files  # noqa: E402


def witnessed(checker, name, options):
    folder = next((each for each in FOLDERS.values() if (each / f"{name}.wrong.scenario").exists()), FOLDERS["bugs"])
    words = [checker, "witness", f"{name}.wrong.scenario", "--fixed", f"{name}.fixed.scenario", "--format=json", "--patience=20",
             f"--seconds={options.seconds_per_entry / 2}", f"--runs={options.runs}"]
    if options.reproducers:
        words += ["--reproducer", str(pathlib.Path(options.reproducers).resolve() / name)]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
    try:
        return json.loads(done.stdout)
    except ValueError:
        return {"status": "error", "message": done.stderr.strip() or f"exit status {done.returncode}"}


def counted(form, delayed):
    """Returns how many runs failed or hung, and how many runs there were, with or without delays."""
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


def all_runs(result):
    return sum(arm["runs"] + arm["repeated"] for form in ("wrong", "fixed") for arm in result.get(form, {}).get("runs", []))


def earlier_results(path, context):
    """Returns the entries of an output that an earlier command with the same context wrote."""
    if not path.exists():
        return {}
    told = json.loads(path.read_text(encoding="utf-8"))
    other = [key for key in context if key != "date" and told["context"].get(key) != context[key]]
    if other:
        sys.exit(f"{path} has results with different {', '.join(other)}: name another file with --output, or remove this file")
    return told["entries"]


def wanted_names(options):
    folders = [FOLDERS[options.folder]] if options.folder else FOLDERS.values()
    names = options.names or [name for folder in folders for name in sorted(p.name.split(".")[0] for p in folder.glob("*.wrong.scenario"))]
    first, _, last = options.range.partition(":")
    return names[int(first or 0):int(last) if last else None]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--checker", default=str(ROOT / "build" / "default" / "bin" / "membar-check"))
    parser.add_argument("--runs", type=int, default=1_000_000)
    parser.add_argument("--seconds-per-entry", type=float, default=240)
    parser.add_argument("--minutes", type=float, default=0)
    parser.add_argument("--output", default="witness.json")
    parser.add_argument("--reproducers", default="")
    parser.add_argument("--folder", choices=list(FOLDERS), default="")
    parser.add_argument("--range", default="")
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    names = wanted_names(options)
    output = pathlib.Path(options.output)
    checker = str(pathlib.Path(options.checker).resolve())
    context = {"date": datetime.date.today().isoformat(), "driver": driver(), "include": include_hash.tree_hash(ROOT / "include").hexdigest()}
    results = earlier_results(output, context)
    open_names = [name for name in names if name not in results or results[name].get("wanted_runs", 0) < options.runs]
    rows = [["entry", "status", "wrong, delays", "wrong, no delays", "fixed, delays", "smallest"]]
    begin = time.monotonic()
    for done, name in enumerate(open_names):
        spent = time.monotonic() - begin
        each = spent / max(done, 1)
        if options.minutes and done and spent + each > 60 * options.minutes:
            print(f"stopped after {spent:.0f} s with {len(open_names) - done} entries left: give the same command again", file=sys.stderr)
            break
        result = witnessed(checker, name, options)
        if result["status"] == "no GPU":
            print(result.get("message", "no GPU"), file=sys.stderr)
            return 4
        results[name] = {**result, "wanted_runs": options.runs}
        rows.append(row(name, result))
        took = time.monotonic() - begin - spent
        left = (time.monotonic() - begin) / (done + 1) * (len(open_names) - done - 1)
        print("\t".join(rows[-1]) + f"\t{took:.1f} s, {all_runs(result) / took:,.0f} runs/s; about {left:.0f} s left", flush=True)
        ordered = {n: results[n] for n in sorted(results, key=lambda n: (not (FOLDERS["bugs"] / f"{n}.wrong.scenario").exists(), n))}
        output.write_text(result_files.text_of({"context": context, "entries": ordered}), encoding="utf-8")
    print("\n" + "\n".join("| " + " | ".join(r) + " |" for r in [rows[0], ["---"] * len(rows[0]), *rows[1:]]))
    seen = sum(r["status"] == "observed" for r in results.values())
    print(f"\n{seen} of {len(results)} observed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
