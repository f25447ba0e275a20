// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Converts between the atomics, scopes and orders of libcu++ and membar.
///
/// With this header, a `membar::atomic_ref` can be constructed from a `cuda::atomic_ref` or a `cuda::atomic` of the same type
/// and scope. The conversion from `membar::atomic_ref` and `membar::atomic` to `cuda::atomic_ref` requires only <cuda/atomic>.
/// Atomics of both libraries may access an object concurrently, because their operations follow the same memory model.
#pragma once

#include <membar/atomic.cuh>
#include <membar/detail/standard.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <cuda/atomic>

namespace membar {
inline namespace v0_3 {

/// Returns the narrowest membar scope that includes `scope`. For libcu++'s thread scope, this is `block`.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr thread_scope scope_of(cuda::thread_scope scope) noexcept {
  return scope == cuda::thread_scope_thread ? thread_scope::block : static_cast<thread_scope>(scope);
}
/// Returns the narrowest libcu++ scope that includes `scope`. For `cluster`, this is `thread_scope_device`.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr cuda::thread_scope cuda_scope_of(thread_scope scope) noexcept {
  return scope == thread_scope::cluster ? cuda::thread_scope_device : static_cast<cuda::thread_scope>(scope);
}

/// Returns the weakest membar order that is at least as strong as `order`. For `consume`, this is `acquire`.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr memory_order order_of(cuda::memory_order order) noexcept {
  return order == cuda::memory_order_consume ? memory_order::acquire : static_cast<memory_order>(order);
}
/// Returns libcu++'s order of the same name.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr cuda::memory_order cuda_order_of(memory_order order) noexcept {
  return static_cast<cuda::memory_order>(order);
}
template <memory_order Order>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr cuda::memory_order cuda_order_of(memory_order_constant<Order>) noexcept {
  return cuda_order_of(Order);
}
/// Returns the tag of `order_of(Order)`: `n.load(tag_of<cuda::memory_order_acquire>())`.
template <cuda::memory_order Order>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr auto tag_of() noexcept {
  return memory_order_constant<order_of(Order)>{};
}

namespace detail {

template <class T, cuda::thread_scope Scope>
struct cuda_object<cuda::atomic_ref<T, Scope>> {
  using value_type = T;
  static constexpr thread_scope scope = scope_of(Scope);

  [[nodiscard]] MEMBAR_HOST_DEVICE static T* address(const cuda::atomic_ref<T, Scope>& ref) noexcept {
    static_assert(sizeof(ref) == sizeof(T*),
                  "membar: in this version of libcu++, a cuda::atomic_ref contains more than its object's address: construct "
                  "the membar::atomic_ref from the object");
    return __builtin_bit_cast(T*, ref);
  }
};
template <class T, cuda::thread_scope Scope>
struct cuda_object<cuda::atomic<T, Scope>> {
  using value_type = T;
  static constexpr thread_scope scope = scope_of(Scope);

  template <class Object>
  [[nodiscard]] MEMBAR_HOST_DEVICE static auto address(Object& object) noexcept {
    static_assert((sizeof(T) == 4 || sizeof(T) == 8) && sizeof(Object) == sizeof(T),
                  "membar: a cuda::atomic of 1, 2 or 16 bytes contains more than its value: declare a T, and access it through "
                  "cuda::atomic_ref and membar::atomic_ref");
    using value = std::conditional_t<std::is_const_v<Object>, const T, T>;
    return reinterpret_cast<value*>(__builtin_addressof(object));
  }
};

}  // namespace detail

template <class T, cuda::thread_scope Scope>
atomic_ref(cuda::atomic_ref<T, Scope>) -> atomic_ref<T, scope_of(Scope)>;
template <class T, cuda::thread_scope Scope>
atomic_ref(cuda::atomic<T, Scope>&) -> atomic_ref<T, scope_of(Scope)>;
template <class T, cuda::thread_scope Scope>
atomic_ref(const cuda::atomic<T, Scope>&) -> atomic_ref<const T, scope_of(Scope)>;

}  // namespace v0_3
}  // namespace membar
