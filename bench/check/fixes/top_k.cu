// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <cub/device/device_topk.cuh>

cudaError_t largest(void* storage, size_t& bytes, const float* in, float* out, int n, int k, cudaStream_t stream) {
  const auto how = cuda::std::execution::env{
      cuda::stream_ref{stream},
      cuda::execution::require(cuda::execution::determinism::not_guaranteed, cuda::execution::output_ordering::unsorted)};
  return cub::DeviceTopK::MaxKeys(storage, bytes, in, out, n, k, how);
}
