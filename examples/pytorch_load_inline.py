#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""membar in an operator that PyTorch builds at run time: a launch in the remote synchronization domain, in PyTorch's current stream."""

import os
import pathlib
import sys

try:
    import torch
    from torch.utils.cpp_extension import load_inline
except ImportError as why:
    print(f"SKIPPED: no PyTorch: {why}")
    sys.exit(77)

DECLARATION = "torch::Tensor histogram(torch::Tensor values, int64_t bins);"
SOURCE = r"""
#include <ATen/cuda/CUDAContext.h>
#include <torch/extension.h>

#include <membar/atomic.cuh>
#include <membar/launch.hpp>
#include <membar/sync_domain.hpp>

__global__ void count(const long* values, long size, int* counts) {
  for (long i = blockIdx.x * 256L + threadIdx.x; i < size; i += gridDim.x * 256L) {
    membar::atomic_ref<int, membar::thread_scope::device>(counts[values[i]]).add(1, membar::relaxed);  // one red
  }
}

torch::Tensor histogram(torch::Tensor values, int64_t bins) {
  TORCH_CHECK(values.is_cuda() && values.is_contiguous() && values.scalar_type() == torch::kInt64, "values must be a contiguous int64 tensor on a GPU");
  torch::Tensor counts = torch::zeros({bins}, values.options().dtype(torch::kInt32));
  membar::launch(membar::launch_config{256, 256, at::cuda::getCurrentCUDAStream()}.with(membar::sync_domain::remote), count,
                 values.const_data_ptr<int64_t>(), values.numel(), counts.mutable_data_ptr<int>());
  return counts;
}
"""


def main():
    if not torch.cuda.is_available():
        print("SKIPPED: no GPU")
        return 77
    include = pathlib.Path(__file__).resolve().parent.parent / "include"  # If membar was installed with pip: membar.include_path()
    major, minor = torch.cuda.get_device_capability()
    os.environ.setdefault("TORCH_CUDA_ARCH_LIST", f"{major}.{minor}")
    operators = load_inline("membar_example", DECLARATION, SOURCE, functions=["histogram"], extra_include_paths=[str(include)],
                            extra_cflags=["-std=c++20"], extra_cuda_cflags=["-std=c++20"])
    values = torch.randint(100, (1 << 20,), device="cuda")
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda.current_stream().wait_stream(torch.cuda.default_stream())
        counts = operators.histogram(values, 100)
    torch.cuda.synchronize()
    right = torch.equal(counts.long(), torch.bincount(values, minlength=100))
    print(f"PyTorch {torch.__version__}: {values.numel()} values in {counts.numel()} bins, {'as' if right else 'NOT as'} torch.bincount counts them")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
