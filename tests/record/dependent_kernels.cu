// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The kernels that gpu_test.py launches from PyTorch: one kernel doubles numbers, and two kernels are its programmatic
// dependents. The first dependent kernel reads the doubled numbers before it waits.
#include <cuda_runtime.h>

__global__ void doubled(const float* from, float* to, int n) {
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  __nanosleep(500000);  // The next kernel can start before the stores.
  if (i < n) {
    to[i] = 2 * from[i];
  }
}

__global__ void scaled_early(const float* from, const float* weights, float* to, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const float weight = i < n ? weights[i] : 0;
  const float value = i < n ? *static_cast<const volatile float*>(from + i) : 0;
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (i < n) {
    to[i] = weight * value;
  }
}

__global__ void scaled(const float* from, const float* weights, float* to, int n) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  const float weight = i < n ? weights[i] : 0;  // no kernel writes the weights
  asm volatile("griddepcontrol.wait;" ::: "memory");
  if (i < n) {
    to[i] = weight * *static_cast<const volatile float*>(from + i);
  }
}

/// Launches both kernels. Returns 0 or the CUDA error.
extern "C" int launch_both(int early, const float* from, float* between, const float* weights, float* to, int n,
                           cudaStream_t stream) {
  constexpr int threads = 128;
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>((n + threads - 1) / threads));
  config.blockDim = dim3(threads);
  config.stream = stream;
  doubled<<<config.gridDim, config.blockDim, 0, stream>>>(from, between, n);
  config.attrs = &attribute;
  config.numAttrs = 1;
  const cudaError_t launched =
      cudaLaunchKernelEx(&config, early != 0 ? scaled_early : scaled, static_cast<const float*>(between), weights, to, n);
  return static_cast<int>(launched == cudaSuccess ? cudaGetLastError() : launched);
}
