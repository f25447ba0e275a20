// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of cub::DeviceScan, with few items for each thread.
#include <cub/device/dispatch/dispatch_scan.cuh>

struct few_items {
  struct ActivePolicy {
    using ScanPolicyT = cub::AgentScanPolicy<128, 2, int, cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::LOAD_DEFAULT,
                                             cub::BLOCK_STORE_WARP_TRANSPOSE, cub::BLOCK_SCAN_WARP_SCANS>;
  };
};

using tiles = cub::ScanTileState<int>;

template __global__ void cub::detail::scan::DeviceScanInitKernel<tiles>(tiles, int);
template __global__ void cub::detail::scan::DeviceScanKernel<few_items, const int*, int*, tiles, cuda::std::plus<>,
                                                             cub::NullType, unsigned, int, true, cub::NullType>(
    const int*, int*, tiles, int, cuda::std::plus<>, cub::NullType, unsigned);
