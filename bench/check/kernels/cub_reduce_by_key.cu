// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of cub::DeviceReduce::ReduceByKey, with few items for each thread.
#include <cub/device/dispatch/dispatch_reduce_by_key.cuh>

struct few_items {
  struct ActivePolicy {
    using ReduceByKeyPolicyT =
        cub::AgentReduceByKeyPolicy<32, 1, cub::BLOCK_LOAD_DIRECT, cub::LOAD_DEFAULT, cub::BLOCK_SCAN_WARP_SCANS>;
  };
};

using keyed_tiles = cub::ReduceByKeyScanTileState<int, int>;
template __global__ void cub::detail::scan::DeviceCompactInitKernel<keyed_tiles, int*>(keyed_tiles, int, int*);
template __global__ void cub::detail::reduce::DeviceReduceByKeyKernel<
    few_items, const int*, int*, const int*, int*, int*, keyed_tiles, cuda::std::equal_to<>, cuda::std::plus<>, int, int>(
    const int*, int*, const int*, int*, int*, keyed_tiles, int, cuda::std::equal_to<>, cuda::std::plus<>, int);
