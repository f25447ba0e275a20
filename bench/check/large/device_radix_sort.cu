// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of cub::DeviceRadixSort, launched the way CUB's dispatch code launches them for 32-bit keys with the library's
// policy, and kernels that generate keys and check that they are sorted.
#include <cub/device/dispatch/dispatch_radix_sort.cuh>
#include <cub/device/dispatch/tuning/tuning_radix_sort.cuh>

#include <cassert>

struct for_hopper {
  using ActivePolicy = cub::detail::radix::policy_hub<unsigned, cub::NullType, unsigned>::Policy900;
};

namespace radix_sort = cub::detail::radix_sort;
using cub::detail::identity_decomposer_t;

template __global__ void radix_sort::DeviceRadixSortHistogramKernel<for_hopper, cub::SortOrder::Ascending, unsigned, unsigned>(
    unsigned*, const unsigned*, unsigned, int, int, identity_decomposer_t);
template __global__ void radix_sort::DeviceRadixSortExclusiveSumKernel<for_hopper, unsigned>(unsigned*);
template __global__ void
radix_sort::DeviceRadixSortOnesweepKernel<for_hopper, cub::SortOrder::Ascending, unsigned, cub::NullType, unsigned, int>(
    int*, int*, unsigned*, const unsigned*, unsigned*, const unsigned*, cub::NullType*, const cub::NullType*, int, int, int,
    identity_decomposer_t);

__global__ void make_keys(unsigned* keys, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    const unsigned x = (i ^ (i >> 15)) * 0x2c1b3c6dU;
    keys[i] = (x ^ (x >> 12)) * 0x297a2d39U;
  }
}

__global__ void check_keys(const unsigned* keys, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + 1 < count) {
    assert(keys[i] <= keys[i + 1]);
  }
}
