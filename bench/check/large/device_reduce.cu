// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels of cub::DeviceReduce::Sum with the library's policy, and a kernel that generates values.
#include <cub/device/dispatch/dispatch_reduce.cuh>
#include <cub/device/dispatch/tuning/tuning_reduce.cuh>

struct for_hopper {
  using ActivePolicy = cub::detail::reduce::policy_hub<int, unsigned, cuda::std::plus<>>::Policy600;
};

namespace reduce = cub::detail::reduce;

template __global__ void reduce::DeviceReduceKernel<for_hopper, const int*, unsigned, cuda::std::plus<>, int,
                                                    cuda::std::__identity>(const int*, int*, unsigned,
                                                                           cub::GridEvenShare<unsigned>, cuda::std::plus<>,
                                                                           cuda::std::__identity);
template __global__ void reduce::DeviceReduceSingleTileKernel<for_hopper, int*, int*, int, cuda::std::plus<>, int, int>(
    int*, int*, int, cuda::std::plus<>, int, cuda::std::__identity);

__global__ void make_values(int* values, unsigned count) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    values[i] = static_cast<int>(i % 1024);
  }
}
