// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A chain of kernels, each of which adds to the previous kernel's result.
#include <membar/sync/dependent_chain.cuh>

extern "C" __global__ void add_one(membar::chained<unsigned> values) {
  membar::chain_link<> link;
  const unsigned at = threadIdx.x;
  values.after(link.wait())[at] += 1 + at;
}

/// Uses the previous kernel's result without waiting for that kernel to end.
extern "C" __global__ void pass_by(unsigned* other) {
  membar::chain_link<> link;
  *other = 5;
}
