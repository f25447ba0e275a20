// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "constant_table.cuh"

namespace {

__global__ void copy_elsewhere(int* out) {
  if (threadIdx.x < shared_table.size()) {
    out[threadIdx.x] = shared_table[threadIdx.x];
  }
}

}  // namespace

void copy_shared_table(int* out, cudaStream_t stream) { copy_elsewhere<<<1, 128, 0, stream>>>(out); }
