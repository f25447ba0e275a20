// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/memory_order.hpp>

#include <cuda_runtime_api.h>

int runtime_version() {
  int version = 0;
  return cudaRuntimeGetVersion(&version) == cudaSuccess ? version : 0;
}
