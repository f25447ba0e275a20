// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Orders and scopes are known at compile time: if code uses them to select a value, only that value remains, without a branch.
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

template <membar::thread_scope Scope, membar::memory_order_tag Order>
__device__ int choose(Order) {
  return Scope == membar::thread_scope::system && membar::fence_order<Order> ? 1234 : 5678;
}

// CHECK-LABEL: .entry fence_orders_at_system_scope(
// CHECK-NOT: bra
// CHECK: mov.{{[bu]}}32 %[[VALUE:r[0-9]+]], 1234;
// CHECK: st.global.{{[bu]}}32 [%{{.*}}], %[[VALUE]];
// CHECK: ret;
extern "C" __global__ void fence_orders_at_system_scope(int* out) {
  *out = choose<membar::thread_scope::system>(membar::release);
}

// CHECK-LABEL: .entry other_orders(
// CHECK-NOT: bra
// CHECK: mov.{{[bu]}}32 %[[VALUE:r[0-9]+]], 5678;
// CHECK: st.global.{{[bu]}}32 [%{{.*}}], %[[VALUE]];
// CHECK: ret;
extern "C" __global__ void other_orders(int* out) { *out = choose<membar::thread_scope::system>(membar::relaxed); }
