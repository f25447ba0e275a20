// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Atomic operations on the host, implemented with the compiler's atomic functions on the value's bits. Every scope includes
/// the whole host.
#pragma once

#include <membar/detail/atomic_arithmetic.hpp>
#include <membar/detail/atomic_rules.hpp>
#include <membar/detail/atomic_type.hpp>
#include <membar/detail/host_order.hpp>
#include <membar/detail/standard.hpp>
#include <membar/memory_order.hpp>

#if defined(__clang__)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Watomic-alignment"  // 16-byte operations call libatomic, as documented
#endif

namespace membar {
inline namespace v0_3 {
namespace detail {

/// Returns a pointer to the object's bits as a type that may alias, so that the compiler makes no type-based assumptions about
/// what the functions below modify.
template <class T>
[[nodiscard]] MEMBAR_HOST inline auto host_bits(T* object) noexcept {
  return reinterpret_cast<bits_of<std::remove_const_t<T>>*>(const_cast<std::remove_const_t<T>*>(object));
}

template <memory_order Order, class T>
[[nodiscard]] MEMBAR_HOST inline std::remove_const_t<T> host_load(T* object) noexcept {
  return from_bits<std::remove_const_t<T>>(__atomic_load_n(host_bits(object), host_order<Order>));
}

template <memory_order Order, class T>
MEMBAR_HOST inline void host_store(T* object, const T& value) noexcept {
  __atomic_store_n(host_bits(object), to_bits(value), host_order<Order>);
}

/// `Order` covers both the success order and the failure order. The failure order is `Order` without its release half.
template <memory_order Order, class T>
MEMBAR_HOST inline bool host_compare_exchange(T* object, T& expected, const T& desired) noexcept {
  constexpr int failure = host_order<failure_tag<memory_order_constant<Order>>::type::value>;
  bits_of<T> seen = to_bits(expected);
  const bool exchanged =
      __atomic_compare_exchange_n(host_bits(object), &seen, to_bits(desired), false, host_order<Order>, failure);
  if (!exchanged) {
    expected = from_bits<T>(seen);
  }
  return exchanged;
}

/// A compare-and-swap loop on the bits, for the host.
template <memory_order Order, class T, class Function>
MEMBAR_HOST inline T host_update(T* object, Function function) {
  bits_of<T>* const bits = host_bits(object);
  bits_of<T> seen = __atomic_load_n(bits, host_order<memory_order::relaxed>);
  // Failed attempts are relaxed. The successful attempt has the operation's order.
  while (!__atomic_compare_exchange_n(bits, &seen, to_bits<T>(function(from_bits<T>(seen))), false, host_order<Order>,
                                      host_order<memory_order::relaxed>)) {
  }
  return from_bits<T>(seen);
}

/// Performs a read-modify-write on any type except a vector, and returns the previous value.
template <atom_op Op, memory_order Order, class T>
MEMBAR_HOST inline T host_fetch(T* object, T value) noexcept {
  [[maybe_unused]] constexpr int order = host_order<Order>;
  constexpr bool is_integer = kind_of<T> == value_kind::integer;
  if constexpr (Op == atom_op::exchange) {
    return from_bits<T>(__atomic_exchange_n(host_bits(object), to_bits(value), order));
  } else if constexpr (is_integer && Op == atom_op::add) {
    return from_bits<T>(__atomic_fetch_add(host_bits(object), to_bits(value), order));
  } else if constexpr (Op == atom_op::bitwise_and) {
    return from_bits<T>(__atomic_fetch_and(host_bits(object), to_bits(value), order));
  } else if constexpr (Op == atom_op::bitwise_or) {
    return from_bits<T>(__atomic_fetch_or(host_bits(object), to_bits(value), order));
  } else if constexpr (Op == atom_op::bitwise_xor) {
    return from_bits<T>(__atomic_fetch_xor(host_bits(object), to_bits(value), order));
  } else {
    return host_update<Order>(object, [=](T old) { return applied<Op>(old, value); });
  }
}

/// Performs a read-modify-write on an element of a vector. Like the vector instruction, and unlike the scalar operation,
/// minimum and maximum ignore a single NaN.
template <atom_op Op, memory_order Order, class T>
MEMBAR_HOST inline T host_fetch_element(T* element, T value) noexcept {
  if constexpr (Op == atom_op::min || Op == atom_op::max) {
    return host_update<Order>(element,
                              [=](T old) { return from_bits<T>(extreme_number<Op, T>(to_bits(old), to_bits(value))); });
  } else {
    return host_fetch<Op, Order>(element, value);
  }
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar

#if defined(__clang__)
#pragma clang diagnostic pop
#endif
