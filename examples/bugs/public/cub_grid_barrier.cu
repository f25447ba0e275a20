// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// cub::GridBarrier::Sync from its header, called by a kernel whose blocks then read each other's cells.
#include <cub/grid/grid_barrier.cuh>

namespace {

struct barrier_of : cub::GridBarrier {
  __device__ explicit barrier_of(unsigned* flags) { d_sync = flags; }
};

}  // namespace

__global__ void neighbours(unsigned* flags, unsigned* cells, unsigned* seen) {
  const barrier_of all(flags);
  if (threadIdx.x == 0) {
    cells[blockIdx.x] = blockIdx.x + 1;
  }
  all.Sync();
  if (threadIdx.x == 0) {
    seen[blockIdx.x] = cells[(blockIdx.x + 1) % gridDim.x];
  }
}
