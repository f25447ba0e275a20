// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A suite of atomic operations for both `membar::atomic_ref` and `cuda::atomic_ref`, on the host and in kernels.
#pragma once

#include <membar/interop/cuda_atomic.cuh>

#include <type_traits>

namespace membar_test {

/// The orders, in the form that each library's references accept.
struct membar_orders {
  static constexpr membar::relaxed_t relaxed{};
  static constexpr membar::acquire_t acquire{};
  static constexpr membar::release_t release{};
  static constexpr membar::acq_rel_t acq_rel{};
  static constexpr membar::seq_cst_t seq_cst{};
};
struct cuda_orders {
  static constexpr cuda::memory_order relaxed = membar::cuda_order_of(membar::memory_order::relaxed);
  static constexpr cuda::memory_order acquire = membar::cuda_order_of(membar::memory_order::acquire);
  static constexpr cuda::memory_order release = membar::cuda_order_of(membar::memory_order::release);
  static constexpr cuda::memory_order acq_rel = membar::cuda_order_of(membar::memory_order::acq_rel);
  static constexpr cuda::memory_order seq_cst = membar::cuda_order_of(membar::memory_order::seq_cst);
};

/// Performs each operation through `first` and checks its effect through `second`; both refer to the same object. Returns
/// the number of the first failing step, or 0.
template <class T, class Orders, class First, class Second>
__host__ __device__ int steps(First first, Second second) {
  const auto has = [&](int value) { return second.load(membar::relaxed) == static_cast<T>(value); };
  first.store(T{5}, Orders::release);
  if (!has(5)) {
    return 1;
  }
  if (first.exchange(T{7}, Orders::acq_rel) != T{5} || !has(7)) {
    return 2;
  }
  T expected{9};
  if (first.compare_exchange_strong(expected, T{8}, Orders::acq_rel, Orders::acquire) || expected != T{7} || !has(7)) {
    return 3;
  }
  if (!first.compare_exchange_strong(expected, T{8}, Orders::seq_cst, Orders::seq_cst) || !has(8)) {
    return 4;
  }
  if (first.fetch_add(T{3}, Orders::relaxed) != T{8} || first.fetch_sub(T{1}, Orders::release) != T{11} || !has(10)) {
    return 5;
  }
  if (first.fetch_max(T{20}, Orders::acquire) != T{10} || first.fetch_min(T{4}, Orders::seq_cst) != T{20} || !has(4)) {
    return 6;
  }
  if constexpr (std::is_integral_v<T>) {
    if (first.fetch_or(T{3}, Orders::acq_rel) != T{4} || first.fetch_and(T{6}, Orders::acq_rel) != T{7} ||
        first.fetch_xor(T{2}, Orders::acq_rel) != T{6} || !has(4)) {
      return 7;
    }
  }
  second.store(T{6}, membar::release);
  return first.load(Orders::acquire) == T{6} ? 0 : 8;
}

/// Runs the suite through every conversion from one library's object to the other library's reference. Returns 0, or the number
/// of the conversion times 100 plus the number of the failing step.
template <class T, cuda::thread_scope Scope>
__host__ __device__ int every_way(T& object, cuda::atomic<T, Scope>& owned) {
  constexpr membar::thread_scope scope = membar::scope_of(Scope);
  using ref = membar::atomic_ref<T, scope>;
  const cuda::atomic_ref<T, Scope> theirs(object);
  const ref of_theirs = theirs;
  const ref of_owned(owned);
  const cuda::atomic_ref<T, Scope> back = ref(object);
  const int found[] = {steps<T, membar_orders>(of_theirs, ref(object)), steps<T, cuda_orders>(theirs, of_theirs),
                       steps<T, membar_orders>(of_owned, of_owned), steps<T, cuda_orders>(back, ref(object))};
  for (int way = 0; way != 4; ++way) {
    if (found[way] != 0) {
      return 100 * (way + 1) + found[way];
    }
  }
  return owned.load(cuda::memory_order_relaxed) == T{6} ? 0 : 500;
}

}  // namespace membar_test
