// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A CUDA program. The project does not set a C++ standard.
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <cstdio>

static_assert(__cplusplus >= 202002L, "membar::membar asks for CUDA C++20");

template <membar::memory_order_tag Order>
__global__ void store_order(Order, membar::memory_order* out) {
  *out = Order::value;
}

int main() {
  cudaFuncAttributes attributes{};
  const cudaError_t status = cudaFuncGetAttributes(&attributes, store_order<membar::acquire_t>);
  std::printf("asking for a kernel's attributes: %s\n", cudaGetErrorString(status));
  return status == cudaErrorInvalidDeviceFunction ? 1 : 0;
}
