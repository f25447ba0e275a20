// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// DeepGEMM: the barriers among a device's blocks and among devices in its multi-device kernels.
#include <cute/tensor.hpp>

#include <deep_gemm/comm/barrier.cuh>

namespace layout = deep_gemm::layout;
namespace comm = deep_gemm::comm;

__global__ void sync_grid(void* workspace, int* data, int* out) {
  const layout::Workspace of(workspace, 2, 2, 1, 1, 8);
  data[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<int>(blockIdx.x) + 1;
  comm::grid_sync<2>(of, blockIdx.x, threadIdx.x, [] { __syncthreads(); });
  out[blockIdx.x * blockDim.x + threadIdx.x] = data[(1 - blockIdx.x) * blockDim.x + threadIdx.x];
}

__global__ void sync_devices(char* mine, char* other, unsigned rank, int* to, const int* from, int* out) {
  const layout::Workspace of(mine, 2, 2, 1, 1, 8);
  layout::SymBuffer<2> buffer;
  buffer.base = reinterpret_cast<int64_t>(mine);
  buffer.offsets[rank] = 0;
  buffer.offsets[1 - rank] = other - mine;
  buffer.rank_idx = rank;
  to[threadIdx.x] = static_cast<int>(threadIdx.x) + 1;
  comm::nvlink_barrier<2, 1, 32, 0, 1>(of, buffer, blockIdx.x, threadIdx.x, [] { __syncthreads(); });
  out[threadIdx.x] = from[threadIdx.x];
}
