// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <tests/common/atomic_interop.cuh>
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

template <class T, cuda::thread_scope Scope>
__global__ void use_both_libraries(T* object, cuda::atomic<T, Scope>* owned, int* failed) {
  *failed = every_way(*object, *owned);
}

template <class T, cuda::thread_scope Scope>
int of_both_libraries() {
  const support::device_memory<T> object(1);
  const support::device_memory<cuda::atomic<T, Scope>> owned(1);
  const support::device_memory<int> failed(1);
  check(cudaMemset(object.get(), 0, sizeof(T)));
  check(cudaMemset(owned.get(), 0, sizeof(T)));
  use_both_libraries<<<1, 1>>>(object.get(), owned.get(), failed.get());
  return copied(failed)[0];
}

template <class T>
class atomic_of_two_libraries : public gpu_test {};
using types_of_both = ::testing::Types<int, unsigned, long, unsigned long long, float, double>;
TYPED_TEST_SUITE(atomic_of_two_libraries, types_of_both);

TYPED_TEST(atomic_of_two_libraries, is_one_object) {
  EXPECT_EQ((of_both_libraries<TypeParam, cuda::thread_scope_block>()), 0);
  EXPECT_EQ((of_both_libraries<TypeParam, cuda::thread_scope_device>()), 0);
  EXPECT_EQ((of_both_libraries<TypeParam, cuda::thread_scope_system>()), 0);
}

}  // namespace
}  // namespace membar_test
