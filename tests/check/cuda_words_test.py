#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Compiles the C++ that --repair prints next to PTX, and checks that the compiler generates that PTX.

usage: cuda_words_test.py <membar-check> <nvcc> <include folder>

If a kernel accesses only one word, all of its orders are stronger than needed, so membar-check prints each instruction with relaxed order
and block scope. The test substitutes the other orders and scopes in both the PTX and the C++.
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
UPDATES = ["exch", "add", "and", "or", "xor", "min", "max", "inc", "dec", "cas"]
PLAIN = [("ld", "ld.acquire.sys.global.u32 %r1, [%rd1];"), ("st", "st.release.sys.global.u32 [%rd1], 1;")]
UPDATED = [*((f"atom.{what}", f"atom.acq_rel.sys.global.{what}.{'b' if what in ('exch', 'cas', 'and', 'or', 'xor') else 'u'}32 %r1, [%rd1], 1{', 2' if what == 'cas' else ''};")
             for what in UPDATES),
           *((f"red.{what}", f"red.release.sys.global.{what}.{'b' if what in ('and', 'or', 'xor') else 'u'}32 [%rd1], 1;") for what in UPDATES[1:-1])]
ORDERS = {"ld": ["relaxed", "acquire"], "st": ["relaxed", "release"], "atom": ["relaxed", "acquire", "release", "acq_rel"], "red": ["relaxed", "release"]}
SCOPES = {"block": "cta", "cluster": "cluster", "device": "gpu", "system": "sys"}
CUDA_FENCES = {"cta": "membar.cta", "gpu": "membar.gl", "sys": "membar.sys"}
HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
KERNEL = ".visible .entry {}(.param .u64 d)\n{{\n.reg .b64 %rd<3>; .reg .b32 %r<3>;\nld.param.u64 %rd1, [d];\n{}ret;\n}}\n"
# The flag orders the data only if both sides have a fence.
FENCES = (".visible .entry both(.param .u64 d)\n{\n.reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .pred %p<2>;\nld.param.u64 %rd1, [d];\nmov.u32 %r1, %ctaid.x;\n"
          "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra R;\nst.global.u32 [%rd1], 1;\nst.relaxed.gpu.global.u32 [%rd1+4], 1;\nret;\n"
          "R: ld.relaxed.gpu.global.u32 %r1, [%rd1+4];\nsetp.eq.u32 %p1, %r1, 0;\n@%p1 bra R;\nld.global.u32 %r2, [%rd1];\nret;\n}\n")


def changes(check, folder, scenario):
    """Returns the changes listed in a scenario's JSON report."""
    done = subprocess.run([check, "--repair", "--format=json", scenario], cwd=folder, capture_output=True, text=True)
    file = json.loads(done.stdout)["files"][0]
    return file["excess_orders"]["each"] if file["status"] == "verified" else [c for one in file["repairs"]["found"] for c in one["changes"]]


def substituted(change, order, scope):
    """Returns (PTX, CUDA's C++ or "", membar's C++), with relaxed order and block scope replaced by the given order and
    scope."""
    ptx = change["change"].split(" becomes ")[1].replace(".relaxed.cta", f".{order}.{SCOPES[scope]}")
    cuda = change.get("in_cuda", "").replace("memory_order_relaxed", f"memory_order_{order}").replace("thread_scope_block", f"thread_scope_{scope}")
    ours = change["in_membar"].replace("membar::relaxed", f"membar::{order}").replace("thread_scope::block", f"thread_scope::{scope}")
    return ptx, cuda if scope != "cluster" else "", ours


def compiled(nvcc, include, folder, statements):
    """Compiles one kernel per statement, and returns the PTX of each."""
    kernels = "".join(f'extern "C" __global__ void k{k}(T* p, T v, T old, T* out) {{ {"*out = " if ".load(" in s or "::load<" in s else ""}{s}; {"*out = old;" if "old" in s else ""} }}\n'
                      for k, s in enumerate(statements))
    (folder / "k.cu").write_text("#include <cuda/atomic>\n#include <cuda/ptx>\n#include <membar/atomic.cuh>\n#include <membar/fence.cuh>\n#include <membar/load_store.cuh>\n"
                                 "using T = unsigned;\n" + kernels, encoding="utf-8")
    subprocess.run([nvcc, "-std=c++20", "-ptx", "-arch=sm_90", f"-I{include}", "-o", "k.ptx", "k.cu"], cwd=folder, check=True)
    ptx = (folder / "k.ptx").read_text(encoding="utf-8")
    return [re.search(rf"\.entry k{k}\(.*?^}}", ptx, re.S | re.M)[0] for k in range(len(statements))]


def has(ptx, wanted, what):
    """Returns whether the PTX contains an instruction with these words. For CUDA C++, which has no reductions, an atom instruction is also
    accepted in place of red."""
    names = {"red": ("red", "atom")}.get(wanted.split(".")[0], (wanted.split(".")[0],))
    words = set(wanted.split(".")[1:]) | ({what} if what else set())
    return any(one.split(".")[0] in names and words <= set(one.split(".")) for one in re.findall(r"^\s*([a-z]+\.[\w.:]+)", ptx, re.M))


def main():
    check, nvcc, include = pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], pathlib.Path(sys.argv[3]).resolve()
    wrong, wanted = [], []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        kernels = "".join(KERNEL.format(name, "".join(one + "\n" for _, one in instructions)) for name, instructions in (("plain", PLAIN), ("updated", UPDATED)))
        (folder / "a.ptx").write_text(HEAD + kernels + FENCES, encoding="utf-8")
        for kernel, shape in (("plain", "block 2"), ("updated", "block 1"), ("both", "grid 2")):
            (folder / f"{kernel}.scenario").write_text(f"source a.ptx\nmemory d u32[2]\nlaunch {kernel} {shape} args d\n", encoding="utf-8")
        found = changes(check, folder, "plain.scenario") + changes(check, folder, "updated.scenario")
        if len(found) != len(PLAIN + UPDATED):
            wrong.append(f"{len(found)} orders are listed, but the kernels have {len(PLAIN + UPDATED)}")
        for (kind, _), change in zip(PLAIN + UPDATED, found):
            if ("in_cuda" in change) == kind.endswith((".inc", ".dec")) or "in_membar" not in change:
                wrong.append(f"the spellings of {kind}: {change}")
                continue
            for order in ORDERS[kind.split(".")[0]]:
                for scope in SCOPES:
                    ptx, *both = substituted(change, order, scope)
                    wanted += [(ptx, (kind.split(".") + [""])[1], text) for text in both if text]
        fences = changes(check, folder, "both.scenario")
        copies = changes(check, ROOT / "tests/check/scenarios", "stage_filled_again.scenario")
        for change in fences + copies:
            if ": fence." in change["change"]:
                ptx = change["change"].split(": ")[1]
                wanted += [(ptx, "", change["in_membar"]), (ptx if "proxy" in ptx else CUDA_FENCES[ptx.rpartition(".")[2]], "", change["in_cuda"])]
        spelled = {ptx for ptx, _, _ in wanted}
        if not spelled >= {"fence.acquire.gpu", "fence.release.gpu", "fence.proxy.async.shared::cta"}:
            wrong.append(f"the repairs lack a fence: {spelled}")
        for (ptx, what, text), code in zip(wanted, compiled(nvcc, include, folder, [text for _, _, text in wanted])):
            if not has(code, ptx, what):
                wrong.append(f"'{text}' is not compiled to '{ptx}' ({what}): {code}")
    print(f"{len(wanted)} spellings, {len(wrong)} wrong")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
