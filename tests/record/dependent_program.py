# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""A PyTorch program with two custom kernels. The second kernel is launched as a programmatic dependent of the first.

usage: dependent_program.py <library of dependent_kernels.cu> early|right|captured <output file>
"""

import ctypes
import pathlib
import sys

import torch

N = 1000


def main():
    library, how, output = sys.argv[1:]
    launch = ctypes.CDLL(library).launch_both
    numbers = torch.arange(N, device="cuda", dtype=torch.float32)
    weights = torch.full((N,), 3.0, device="cuda")
    between, out = torch.zeros_like(numbers), torch.zeros_like(numbers)
    torch.cuda.synchronize()

    def both():
        pointers = [ctypes.c_void_p(t.data_ptr()) for t in (numbers, between, weights, out)]
        failed = launch(int(how != "right"), *pointers, N, ctypes.c_void_p(torch.cuda.current_stream().cuda_stream))
        if failed:
            sys.exit(f"CUDA error {failed}")

    if how == "captured":
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            both()
        graph.replay()
    else:
        with torch.cuda.stream(torch.cuda.Stream()):
            both()
    torch.cuda.synchronize()
    pathlib.Path(output).write_bytes(out.cpu().numpy().tobytes())


if __name__ == "__main__":
    main()
