// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cub/device/device_merge_sort.cuh>

struct less {
  __device__ bool operator()(int a, int b) const { return a < b; }
};
template cudaError_t cub::DeviceMergeSort::SortKeys(void*, size_t&, int*, int, less, cudaStream_t);
