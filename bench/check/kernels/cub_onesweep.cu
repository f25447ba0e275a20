// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernel of cub::DeviceRadixSort that looks back for each digit, with digits of few bits.
#include <cub/device/dispatch/kernels/radix_sort.cuh>

struct few_bits {
  struct ActivePolicy {
    using OnesweepPolicy = cub::AgentRadixSortOnesweepPolicy<32, 1, int, 1, cub::RADIX_RANK_MATCH_EARLY_COUNTS_ANY,
                                                             cub::BLOCK_SCAN_WARP_SCANS, cub::RADIX_SORT_STORE_DIRECT, 5>;
  };
};

template __global__ void
cub::detail::radix_sort::DeviceRadixSortOnesweepKernel<few_bits, cub::SortOrder::Ascending, unsigned, cub::NullType, int, int>(
    int*, int*, int*, const int*, unsigned*, const unsigned*, cub::NullType*, const cub::NullType*, int, int, int,
    cub::detail::identity_decomposer_t);
