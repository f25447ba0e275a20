// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Replacements for an invalid order and for the operations of a type that cannot be atomic, so that one mistake causes one
/// error message.
#pragma once

#include <membar/base/config.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {

template <class T, thread_scope Scope = detail::missing_scope>
class atomic_ref;
template <class T, thread_scope Scope = detail::missing_scope>
class atomic;

namespace detail {

template <class T>
inline constexpr bool is_atomic_object = false;
template <class T, thread_scope Scope>
inline constexpr bool is_atomic_object<atomic_ref<T, Scope>> = true;
template <class T, thread_scope Scope>
inline constexpr bool is_atomic_object<atomic<T, Scope>> = true;

/// Returns the order of a tag. Any other argument is rejected and replaced with `relaxed`, so that it causes no further errors.
template <class Order>
inline constexpr memory_order order_of = memory_order::relaxed;
template <memory_order Order>
inline constexpr memory_order order_of<memory_order_constant<Order>> = Order;

/// Declares all operations with arbitrary arguments. A derived class explains in one sentence why it rejects them, and no
/// further errors follow.
template <class T>
class refused_atomic {
 public:
  refused_atomic() = default;
  template <class... Objects>
  MEMBAR_HOST_DEVICE constexpr explicit refused_atomic(Objects&&...) noexcept {}

  [[nodiscard]] MEMBAR_HOST_DEVICE bool is_lock_free() const noexcept { __builtin_unreachable(); }
  [[nodiscard]] MEMBAR_HOST_DEVICE T load(auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE void store(T, auto...) const noexcept {}
  MEMBAR_HOST_DEVICE void wait(T, auto...) const noexcept {}
  MEMBAR_HOST_DEVICE bool compare_exchange(T&, T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE bool compare_exchange_weak(T&, T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE bool compare_exchange_strong(T&, T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_update(auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T exchange(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_add(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_sub(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_and(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_or(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_xor(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_min(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_max(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_inc(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_dec(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_fminimum_num(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE T fetch_fmaximum_num(T, auto...) const noexcept { __builtin_unreachable(); }
  MEMBAR_HOST_DEVICE void add(T, auto...) const noexcept {}
  MEMBAR_HOST_DEVICE void sub(T, auto...) const noexcept {}
  MEMBAR_HOST_DEVICE void bit_and(T, auto...) const noexcept {}
  MEMBAR_HOST_DEVICE void bit_or(T, auto...) const noexcept {}
  MEMBAR_HOST_DEVICE void bit_xor(T, auto...) const noexcept {}
  MEMBAR_HOST_DEVICE void min(T, auto...) const noexcept {}
  MEMBAR_HOST_DEVICE void max(T, auto...) const noexcept {}
  MEMBAR_HOST_DEVICE void inc(T, auto...) const noexcept {}
  MEMBAR_HOST_DEVICE void dec(T, auto...) const noexcept {}
};

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
