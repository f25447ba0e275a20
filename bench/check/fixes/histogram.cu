// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cub/device/device_histogram.cuh>

template cudaError_t cub::DeviceHistogram::HistogramEven(void*, size_t&, const float*, int*, int, float, float, int,
                                                          const cuda::std::execution::env<>&);
