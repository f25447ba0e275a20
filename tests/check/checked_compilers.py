#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks that membar-check reads the PTX of an NVRTC library and reaches the same verdicts as with nvcc.

usage: checked_compilers.py <membar-check> <libnvrtc.so>...

Compiles the wrong and fixed kernels in the bug corpus that include no header, and checks their scenarios. For each library, prints a row
for the table in docs/compilers.md. Exit status: 1 if a verdict differs, or if the page has a different row for a library.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests/headers"))
import nvrtc  # noqa: E402

BUGS = ROOT / "examples/bugs"
WRONG = {"fence_after_barrier": "race", "last_block_reads": "race", "leader_scalar": "race", "reduce_in_a_loop": "race", "scan_without_fence": "race",
         "shared_semaphore": "violated", "skipped_tiles": "race", "warp_in_step": "violated"}


def verdicts(check, compiler, folder):
    """Returns the PTX ISA version and the status of each scenario."""
    found, version = {}, "none"
    for name in WRONG:
        ptx, log = compiler.ptx((BUGS / f"{name}.cu").read_text(encoding="utf-8"), ["--gpu-architecture=compute_90", "-lineinfo"])
        if ptx is None:
            found[name] = log
            continue
        (folder / f"{name}.ptx").write_text(ptx, encoding="utf-8")
        version = re.search(r"^\.version (\S+)", ptx, re.M)[1]
        for kind in ("wrong", "fixed"):
            scenario = re.sub(r"(?m)^source .*$", f"source {name}.ptx", (BUGS / f"{name}.{kind}.scenario").read_text(encoding="utf-8"))
            (folder / f"{name}.{kind}.scenario").write_text(scenario, encoding="utf-8")
            done = subprocess.run([check, "--quiet", f"{name}.{kind}.scenario"], cwd=folder, capture_output=True, text=True)
            found[f"{name}.{kind}"] = (done.stdout.split("\t") + ["no answer"])[1]
    return version, found


def main():
    check, failed = pathlib.Path(sys.argv[1]).resolve(), 0
    page = (ROOT / "docs/compilers.md").read_text(encoding="utf-8")
    expected = {f"{name}.wrong": status for name, status in WRONG.items()} | {f"{name}.fixed": "verified" for name in WRONG}
    for library in sys.argv[2:]:
        if not os.path.exists(library):
            print(f"SKIPPED: {library} does not exist")
            continue
        compiler = nvrtc.Nvrtc(library, {})
        with tempfile.TemporaryDirectory() as folder:
            version, found = verdicts(check, compiler, pathlib.Path(folder))
        different = {name: (found.get(name), status) for name, status in expected.items() if found.get(name) != status}
        row = f"| NVRTC {compiler.version} | {version} | {len(expected) - len(different)} of {len(expected)} |"
        print(row)
        if different or row not in page:
            failed = 1
            print(f"verdicts that differ: {different}, {found if different else 'and the page lacks this row'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
