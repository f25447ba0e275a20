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
  const support::device_memory<membar::memory_order> out(1);
  store_order<<<1, 1>>>(membar::acq_rel, out.get());
  EXPECT_EQ(copied(out)[0], membar::memory_order::acq_rel);
}

}  // namespace
}  // namespace membar_test
