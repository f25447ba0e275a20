#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""membar in a kernel that CuPy compiles at run time: a sum in a single launch, in which the last block adds up the partial results of all blocks.

`last_block` makes the partial sums of all blocks visible to the last one. CuPy includes libcu++, and membar needs no option except C++20.
"""

import pathlib
import sys

try:
    import cupy
except ImportError as why:
    print(f"SKIPPED: no CuPy: {why}")
    sys.exit(77)

SOURCE = r"""
#include <membar/sync/last_block.cuh>

using last_block = membar::last_block<membar::thread_scope::device>;

extern "C" __global__ void sum(const float* in, unsigned long long n, float* partial, last_block* last, float* out) {
  __shared__ float sums[256];
  float own = 0;
  for (unsigned long long i = blockIdx.x * 256ULL + threadIdx.x; i < n; i += gridDim.x * 256ULL) {
    own += in[i];
  }
  const auto over_block = [&](float value) {
    __syncthreads();
    sums[threadIdx.x] = value;
    for (unsigned half = 128; half != 0; half /= 2) {
      __syncthreads();
      if (threadIdx.x < half) {
        sums[threadIdx.x] += sums[threadIdx.x + half];
      }
    }
    __syncthreads();
    return sums[0];
  };
  own = over_block(own);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = own;
  }
  if (last->arrive()) {  // the partial sums of all blocks are visible here
    own = over_block(threadIdx.x < gridDim.x ? partial[threadIdx.x] : 0);
    if (threadIdx.x == 0) {
      *out = own;
    }
  }
}
"""


def main():
    if cupy.cuda.runtime.getDeviceCount() == 0:
        print("SKIPPED: no GPU")
        return 77
    include = pathlib.Path(__file__).resolve().parent.parent / "include"  # If membar was installed with pip: membar.include_path()
    sum_of = cupy.RawModule(code=SOURCE, options=("--std=c++20", f"-I{include}")).get_function("sum")
    values = cupy.arange(1 << 20, dtype=cupy.float32) % 7
    blocks = 256
    partial, last, out = cupy.empty(blocks, cupy.float32), cupy.zeros(64, cupy.uint8), cupy.empty(1, cupy.float32)
    for _ in range(100):  # The object is ready for reuse after the last block.
        sum_of((blocks,), (256,), (values, cupy.uint64(values.size), partial, last, out))
        if out[0] != values.sum(dtype=cupy.float64):  # Both are whole numbers below 2^24.
            print(f"wrong: {out[0]} is not {values.sum()}")
            return 1
    print(f"CuPy {cupy.__version__}: the sum of {values.size} numbers is {float(out[0]):.0f}, 100 times")
    return 0


if __name__ == "__main__":
    sys.exit(main())
