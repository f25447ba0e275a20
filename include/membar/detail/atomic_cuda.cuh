// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Loads and stores on the device: by `cuda::atomic_ref` where it emits the right instruction, else by membar's own.
#pragma once

#include <membar/detail/atomic_device.cuh>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <cuda/atomic>

namespace membar::inline v0_2::detail {

template <thread_scope Scope>
inline constexpr cuda::thread_scope cuda_scope = cuda::thread_scope_system;
template <>
inline constexpr cuda::thread_scope cuda_scope<thread_scope::device> = cuda::thread_scope_device;
template <>
inline constexpr cuda::thread_scope cuda_scope<thread_scope::block> = cuda::thread_scope_block;

template <memory_order Order>
inline constexpr cuda::memory_order cuda_order = cuda::memory_order_seq_cst;
template <>
inline constexpr cuda::memory_order cuda_order<memory_order::relaxed> = cuda::memory_order_relaxed;
template <>
inline constexpr cuda::memory_order cuda_order<memory_order::acquire> = cuda::memory_order_acquire;
template <>
inline constexpr cuda::memory_order cuda_order<memory_order::release> = cuda::memory_order_release;

/// Whether `cuda::atomic_ref` emits the right loads and stores of a `T` at a scope: integers of 32 and 64 bits, but no cluster
/// scope.
template <class T, thread_scope Scope>
inline constexpr bool cuda_loads_and_stores =
    Scope != thread_scope::cluster && kind_of<T> == value_kind::integer && (sizeof(T) == 4 || sizeof(T) == 8);

/// Loads the object, which may be const.
template <class T, thread_scope Scope, memory_order Order>
[[nodiscard]] __device__ inline T load_on_device(const T* object) noexcept {
  if constexpr (cuda_loads_and_stores<T, Scope>) {
    return cuda::atomic_ref<T, cuda_scope<Scope>>(*const_cast<T*>(object)).load(cuda_order<Order>);
  } else {
    return device_load<T, Scope, Order>(object);
  }
}

template <class T, thread_scope Scope, memory_order Order>
__device__ inline void store_on_device(T* object, const T& value) noexcept {
  if constexpr (cuda_loads_and_stores<T, Scope>) {
    cuda::atomic_ref<T, cuda_scope<Scope>>(*object).store(value, cuda_order<Order>);
  } else {
    device_store<T, Scope, Order>(object, value);
  }
}

}  // namespace membar::inline v0_2::detail
