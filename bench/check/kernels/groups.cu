// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Cooperative groups: the grid, a cluster, a block with early arrival, copies, tiles, and reductions over tiles.
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cuda/barrier>

namespace cg = cooperative_groups;

__global__ void by_grid(int* data, int* out, int rounds) {
  const auto grid = cg::this_grid();
  const unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
  for (int k = 0; k < rounds; ++k) {
    data[n] = data[n] + 1;
    grid.sync();
    out[n] = data[(n + blockDim.x) % (gridDim.x * blockDim.x)];
    grid.sync();
  }
}

__global__ void by_early_arrival(int* data, int* out) {
  const auto grid = cg::this_grid();
  const unsigned n = blockIdx.x * blockDim.x + threadIdx.x;
  data[n] = static_cast<int>(n);
  auto token = grid.barrier_arrive();
  const int own = static_cast<int>(n) * 2;
  grid.barrier_wait(std::move(token));
  out[n] = own + data[(n + blockDim.x) % (gridDim.x * blockDim.x)];
}

__global__ void __cluster_dims__(2, 1, 1) by_cluster(int* out) {
  __shared__ int word[32];
  const auto cluster = cg::this_cluster();
  word[threadIdx.x] = static_cast<int>(cluster.block_rank() * 32 + threadIdx.x);
  cluster.sync();
  out[blockIdx.x * 32 + threadIdx.x] = cluster.map_shared_rank(word, 1 - cluster.block_rank())[threadIdx.x];
  cluster.sync();
}

__global__ void by_copy(const int* from, int* out) {
  __shared__ int word[64];
  const auto block = cg::this_thread_block();
  cg::memcpy_async(block, word, from, cuda::aligned_size_t<16>(256));
  cg::wait(block);
  out[threadIdx.x] = word[63 - threadIdx.x];
}

__global__ void by_tiles(const int* from, int* sums, int* out) {
  const auto block = cg::this_thread_block();
  const auto tile = cg::tiled_partition<32>(block);
  const int before = cg::exclusive_scan(tile, from[threadIdx.x]);
  const int sum = cg::reduce(tile, from[threadIdx.x], cg::plus<int>());
  cg::invoke_one(tile, [&] { sums[tile.meta_group_rank()] = sum; });
  block.sync();
  out[threadIdx.x] = before + (tile.meta_group_rank() == 0 ? 0 : sums[0]);
}
