#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Checks what the documentation's kernels and the examples do if the wait for an asynchronous copy times out.

    timeouts_test.py MEMBAR_CHECK

A block must not exit while a copy accesses its shared memory. After a timeout, a kernel may therefore only trap or wait again. membar-check
must verify each kernel as it is shown. With a budget of 0, with which it explores the timeouts, it must find that the kernel traps.
"""
import pathlib
import re
import subprocess
import sys
import tempfile

import extract_snippets

ROOT = pathlib.Path(__file__).resolve().parents[2]
COPIES = re.compile(r"\b(bulk_load|bulk_send|bulk_store|async_store|async_reduce|async_arrive|cp_async_bulk\w*|cancel_launch|bulk_pipeline|"
                    r"cluster_broadcast)\b(?!\.)")  # not the name of a header
BUDGET = re.compile(r"wait_budget::\w+\([\d']+\)")
STAGE = """
__global__ void one_tile(const float* from, float* to) {
  __shared__ alignas(128) float stage[256];
  __shared__ membar::mbarrier<thread_scope::block> full;
  if (threadIdx.x == 0) {
    full.init(1);
    membar::mbarrier_init_fence();
  }
  __syncthreads();
  stage_of_one_tile(stage, from, to, full, 0);
}
"""
# The kernel's file and a word in its code block -> nvcc's options, the scenario's lines, replacements that make the launch small, and code
# to add.
KERNELS = {
    ("docs/asynchronous_copies.md", "stage_of_one_tile"): (
        "", "memory in f32[256] = 1, 2\nmemory out f32[256]\nlaunch one_tile block 256 args in out\nfinal out[1] == 4.0", {}, STAGE),
    ("docs/asynchronous_copies.md", "CUtensorMap"): (
        "", "memory in f32[256] = 1, 2\nmemory out f32[256]\ntensor_map from of in type f32 dims 16 16 strides 64 box 16 16\n"
        "tensor_map to of out type f32 dims 16 16 strides 64 box 16 16\nlaunch twice block 256 args from to\nfinal out[1] == 4.0", {}, ""),
    ("docs/headers/async_copy.md", "pass_to_the_right"): (
        "", "memory out s32[3]\nlaunch pass_to_the_right grid 3 cluster 3 args out\nfinal out[0] == 2 /\\ out[2] == 1", {}, ""),
    ("docs/headers/bulk_copy.md", "twice"): (
        "", "memory in f32[16] = 1, 2\nmemory out f32[16]\nlaunch twice block 4 args in out\nfinal out[1] == 4.0", {"256": "4"}, ""),
    ("docs/headers/cluster_launch.md", "persistent"): ("-arch=sm_100", "memory out f32[4]\nlaunch persistent grid 2 block 2 args out", {}, ""),
    ("docs/headers/sync_bulk_pipeline.md", "sum"): (
        "", "memory in f32[12] = 1, 2, 3, 4, 5\nmemory out f32[2]\nlaunch sum block 33 args in out 3\nfinal out[0] == 6.0",
        {"<4, 4096>": "<2, 16>", "4096": "16", "1024": "4", "init(32)": "init(2)", "threadIdx.x < 32": "threadIdx.x < 2"}, ""),
    ("docs/headers/sync_cluster_broadcast.md", "sum"): (
        "", "memory in f32[4] = 1\nmemory out f32[64]\nlaunch sum grid 2 cluster 2 block 65 args in out 1\nfinal out[32] == 1.0",
        {"<4, 4096>": "<1, 16>", "4096": "16", "1024": "4", "init(32)": "init(1)", "threadIdx.x < 32": "threadIdx.x < 1"}, ""),
    ("examples/bugs/flag_before_copy.cu", ""): (
        "-I../examples/bugs", "memory data u32[4]\nmemory flag u32\nmemory wrong u32\nmemory late u32\n"
        "launch fetch_after_flag<true> grid 2 args data flag wrong late\nfinal wrong == 0", {}, ""),
    ("examples/bugs/stage_still_read.cu", ""): (
        "", "memory from u32[8] = 1, 2, 3, 4, 5, 6, 7, 8\nmemory to u32[8]\nlaunch pass_through<true> args from to 2\nfinal to[4] == 5", {}, ""),
}


def kernels():
    """Yields (file, text) for every code block in the pages and every example that waits for a copy with a budget."""
    pages = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
    texts = [(page, "\n".join(lines)) for page in pages for _, lines in extract_snippets.blocks(page)]
    texts += [(file, file.read_text(encoding="utf-8")) for file in sorted((ROOT / "examples").rglob("*.cu*"))]
    for file, text in texts:
        if COPIES.search(text) and BUDGET.search(text):
            yield file.relative_to(ROOT).as_posix(), text


def status(checker, folder, text, row):
    """Returns membar-check's report on a kernel."""
    options, lines, replaced, added = row
    for old, new in replaced.items():
        text = text.replace(old, new)
    (folder / "kernel.cu").write_text(text + added, encoding="utf-8")
    scenario = folder / "kernel.scenario"
    scenario.write_text(f'source kernel.cu "-I{ROOT}/include" {options.replace("..", str(ROOT))}\n{lines}\n', encoding="utf-8")
    result = subprocess.run([checker, "--limit=2000000", str(scenario)], capture_output=True, text=True, check=False)
    return (result.stdout + result.stderr).replace(str(scenario), "").strip()


def main():
    checker, wrong, left = sys.argv[1], [], set(KERNELS)
    with tempfile.TemporaryDirectory() as folder:
        for file, text in kernels():
            key = next((key for key in KERNELS if key[0] == file and key[1] in text), None)
            if key is None:
                wrong.append(f"{file}: a kernel waits for an asynchronous copy with a budget, but KERNELS has no row for it")
                continue
            left.discard(key)
            for shown, expected in ((text, "verified"), (BUDGET.sub("wait_budget::nanoseconds(0)", text), "violated")):
                said = status(checker, pathlib.Path(folder), shown, KERNELS[key])
                if not said.startswith(expected) or (expected == "violated" and not re.search(r"thread \d+ traps", said)):
                    budget, should = ("its own budget", "be verified") if expected == "verified" else ("a budget of 0", "trap")
                    wrong.append(f"{' '.join(key)}: with {budget}, the kernel should {should}, but membar-check prints: {said}")
    wrong += [f"{' '.join(key)}: KERNELS has a row for it, but no kernel there waits for a copy with a budget" for key in left]
    print("\n".join(wrong) or f"{len(KERNELS)} kernels")
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main())
