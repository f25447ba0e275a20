// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Instances of CUB's and Thrust's algorithms; readable_kernels.py counts their kernels.
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#include <cub/device/device_for.cuh>
#include <cub/device/device_histogram.cuh>
#include <cub/device/device_merge_sort.cuh>
#include <cub/device/device_partition.cuh>
#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_run_length_encode.cuh>
#include <cub/device/device_scan.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cub/device/device_select.cuh>

namespace {

struct is_odd {
  __host__ __device__ bool operator()(int value) const { return value % 2 != 0; }
};

struct doubled {
  __host__ __device__ void operator()(int& value) const { value *= 2; }
};

}  // namespace

template <class Value>
void all_of_device(Value* in, Value* out, int* counts, int n) {
  std::size_t bytes = 0;
  cub::DeviceReduce::Sum(nullptr, bytes, in, out, n);
  cub::DeviceReduce::ArgMin(nullptr, bytes, in, out, reinterpret_cast<long long*>(counts), n);
  cub::DeviceReduce::ReduceByKey(nullptr, bytes, in, out, counts, counts, counts, cuda::std::plus<>{}, n);
  cub::DeviceScan::InclusiveSum(nullptr, bytes, in, out, n);
  cub::DeviceScan::ExclusiveSum(nullptr, bytes, in, out, n);
  cub::DeviceScan::InclusiveSumByKey(nullptr, bytes, in, in, out, n);
  cub::DeviceRadixSort::SortKeys(nullptr, bytes, in, out, n);
  cub::DeviceRadixSort::SortPairs(nullptr, bytes, in, out, counts, counts, n);
  cub::DeviceMergeSort::SortKeys(nullptr, bytes, in, n, cuda::std::less<>{});
  cub::DeviceSelect::If(nullptr, bytes, in, out, counts, n, is_odd{});
  cub::DeviceSelect::Unique(nullptr, bytes, in, out, counts, n);
  cub::DevicePartition::If(nullptr, bytes, in, out, counts, n, is_odd{});
  cub::DeviceRunLengthEncode::Encode(nullptr, bytes, in, out, counts, counts, n);
  cub::DeviceSegmentedReduce::Sum(nullptr, bytes, in, out, n, counts, counts + 1);
}

void all(int* in, int* out, int* counts, float* floats, unsigned long long* wide, int n) {
  std::size_t bytes = 0;
  all_of_device(in, out, counts, n);
  all_of_device(wide, wide, counts, n);
  all_of_device(floats, floats, counts, n);
  cub::DeviceHistogram::HistogramEven(nullptr, bytes, in, counts, 9, 0, 8, n);
  cub::DeviceFor::ForEachN(in, n, doubled{});
}

template <int Threads>
__global__ void in_block(int* data) {
  __shared__ typename cub::BlockScan<int, Threads>::TempStorage scan;
  __shared__ typename cub::BlockReduce<int, Threads>::TempStorage reduce;
  __shared__ typename cub::BlockRadixSort<int, Threads, 2>::TempStorage sort;
  int values[2] = {data[2 * threadIdx.x], data[2 * threadIdx.x + 1]};
  cub::BlockScan<int, Threads>(scan).InclusiveSum(values, values);
  cub::BlockRadixSort<int, Threads, 2>(sort).Sort(values);
  const int sum = cub::BlockReduce<int, Threads>(reduce).Sum(values[0]);
  data[threadIdx.x] = values[0] + values[1] + sum;
}
template __global__ void in_block<64>(int*);
template __global__ void in_block<256>(int*);
