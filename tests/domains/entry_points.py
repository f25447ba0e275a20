#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Finds the CUDA driver functions in cuda.h that launch kernels, read or write launch attributes, or return kernels.

    entry_points.py cuda.h                            prints their symbols, one on a line
    entry_points.py cuda.h hooks.def not_hooked.txt   fails if a symbol is neither hooked nor listed with the reason

A function counts if a parameter has one of the types below. Each line in not_hooked.txt consists of a regular expression that matches
symbols, a colon, and the reason.
"""
import re
import sys

TYPES = {
    "launches": r"\b(CUlaunchConfig|CUDA_LAUNCH_PARAMS)\b|^CUfunction \w+(, int grid_width, int grid_height(, CUstream \w+)?)?$",
    "attributes": r"\bCU(stream|kernelNode|launch)Attr\w*\b",
    "graphs that run": r"\bCUgraphExec\b",
    "kernels of nodes": r"\b(CUgraphNodeParams|CUDA_KERNEL_NODE_PARAMS(_v\d)?)\b",
    "graphs that are copied": r"\bCUgraph ?\* ?\w+|\bCUgraph \w+, .*\bCUgraph \w+|CUgraph childGraph",
    "code and kernels": r"\b(CUmodule|CUlibrary|CUfunction|CUkernel) ?\* ?\w+",
}
BY_NAME = re.compile(r"^cuLaunch(?!HostFunc)|CopyAttributes")


def declarations(text):
    """Yields (name, parameters, whether it belongs to an earlier version of CUDA) for each function."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S)
    earlier = text.find("#if defined(__CUDA_API_VERSION_INTERNAL)\n", text.find("CUresult CUDAAPI cuInit"))
    if earlier < 0:
        earlier = len(text)
    for found in re.finditer(r"CUresult CUDAAPI\s+(\w+)\s*\(([^;]*?)\)\s*;", text):
        yield found[1], " ".join(found[2].split()), found.start() > earlier


def entry_points(text):
    exported = {}
    for name, symbol, per_thread in re.findall(r"#\s*define (cu\w+)\s+(?:(cu\w+)|__CUDA_API_PT[DS][SZ]\((cu\w+)\))", text):
        exported[name] = [symbol] if symbol else [per_thread, per_thread + "_ptsz"]
    out = set()
    for name, parameters, is_earlier in declarations(text):
        if any(re.search(type_, parameters) for type_ in TYPES.values()) or BY_NAME.search(name):
            out.update([name] if is_earlier else exported.get(name, [name]))
    return sorted(out)


def main(cuda_h, hooks=None, not_hooked=None):
    with open(cuda_h, encoding="utf-8", errors="replace") as file:
        found = entry_points(file.read())
    if hooks is None:
        print("\n".join(found))
        return 0
    with open(hooks, encoding="utf-8") as file:
        hooked = set(re.findall(r"^MEMBAR_HOOK\((\w+),", file.read(), flags=re.M))
    reasons = []
    with open(not_hooked, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            if line.strip() and not line.startswith("#"):
                pattern, colon, reason = line.partition(": ")
                if not colon or len(reason.split()) < 3:
                    sys.exit(f"{not_hooked}:{number}: write a regular expression that matches symbols, a colon and the reason")
                reasons.append((pattern, number))
    if len(found) < 50 or "cuLaunchKernel" not in found:
        sys.exit(f"{cuda_h}: only {len(found)} functions were found, so this script does not recognize its declarations")
    wrong = []
    for symbol in found:
        listed = [number for pattern, number in reasons if re.fullmatch(pattern, symbol)]
        if symbol in hooked and listed:
            wrong.append(f"{not_hooked}:{listed[0]}: {symbol} is hooked, but is listed as not hooked")
        elif symbol not in hooked and not listed:
            wrong.append(f"{symbol} launches kernels or concerns their attributes: hook it in {hooks}, or give the reason in {not_hooked}")
    print("\n".join(wrong) if wrong else f"{len(found)} functions, of which {len(hooked & set(found))} are hooked")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
