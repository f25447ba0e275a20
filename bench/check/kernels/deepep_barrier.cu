// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DeepEP: the barrier between the devices of a node.
#include <kernels/legacy/compiled.cuh>
#include <kernels/legacy/utils.cuh>

__global__ void exchange(int** signals, int rank, int* to, const int* from, int* out) {
  to[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
  deep_ep::legacy::barrier_block<2>(signals, rank);
  out[threadIdx.x] = from[threadIdx.x];
}

__global__ void barrier(int** signals, int rank) { deep_ep::legacy::barrier_block<2, true>(signals, rank); }
