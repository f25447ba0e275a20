// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <mscclpp/concurrency_device.hpp>

__global__ void exchange(mscclpp::DeviceSyncer* all, int* data, int* out) {
  data[blockIdx.x * blockDim.x + threadIdx.x] = static_cast<int>(threadIdx.x);
  all->sync(static_cast<int>(gridDim.x));
  out[blockIdx.x * blockDim.x + threadIdx.x] = data[(blockIdx.x + 1) % gridDim.x * blockDim.x + threadIdx.x];
  data[blockIdx.x * blockDim.x + threadIdx.x] = 0;
}
