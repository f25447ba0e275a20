// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <tests/common/gpu_test.hpp>

namespace membar_test {
namespace {

using vocabulary = gpu_test;

template <membar::memory_order_tag Order>
__global__ void store_order(Order, membar::memory_order* out) {
  *out = Order::value;
}

TEST_F(vocabulary, an_order_is_a_kernel_argument) {
  membar::memory_order* out = nullptr;
  check(cudaMallocManaged(&out, sizeof *out));
  store_order<<<1, 1>>>(membar::acq_rel, out);
  finish();
  EXPECT_EQ(*out, membar::memory_order::acq_rel);
  check(cudaFree(out));
}

}  // namespace
}  // namespace membar_test
