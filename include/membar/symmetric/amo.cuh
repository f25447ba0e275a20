// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Atomic memory operations (AMOs) on any PE's counters, executed by the calling thread.
///
/// An AMO is atomic with respect to all PEs' AMOs on the same counter. With the peer backend, coherence orders a thread's AMOs
/// on one counter, even relaxed AMOs. A counter supports the AMOs that its type lists. The order is `relaxed` unless a tag
/// after the PE argument specifies another order. It applies at system scope. A release covers this thread's blocking puts to
/// the same PE or, with `peer_backend`, to any PE.
#pragma once

#include <membar/detail/standard.hpp>
#include <membar/symmetric/operations.cuh>

namespace membar {
inline namespace v0_3 {
namespace symmetric {

namespace detail {

template <class Counter, amo Operation>
[[nodiscard]] __device__ constexpr bool require_amo() noexcept {
  constexpr bool symmetric = require_symmetric<Counter>();
  if constexpr (symmetric) {
    using element = typename Counter::element_type;
    static_assert(is_counter<element>,
                  "membar: an AMO needs a counter: on data or a signal, it would not be atomic with respect to the other "
                  "operations on that object");
    static_assert(is_one<Counter> || !is_counter<element>,
                  "membar: an AMO needs a single counter: select one element of the span with [index]");
    if constexpr (is_counter<element> && is_one<Counter>) {
      constexpr bool listed = (element::amos & Operation) != amo::none;
      static_assert(listed,
                    "membar: the counter's type does not list this AMO: add it to the list, so that the heap can check that "
                    "every link supports it");
      return listed;
    } else {
      return false;
    }
  } else {
    return false;
  }
}

/// The type of a counter's value. For anything that is not a counter, it is a type that any argument converts to, so that the
/// compiler reports only the rejected call.
template <class Counter>
struct counted_of {
  using type = anything;
};
template <class Address>
  requires(is_symmetric<Address> && is_counter<typename Address::element_type>)
struct counted_of<Address> {
  using type = typename Address::element_type::value_type;
};
template <class Counter>
using counted = typename counted_of<Counter>::type;

template <class Order>
[[nodiscard]] __device__ constexpr bool require_no_result_order() noexcept {
  constexpr bool has_order = order_among<Order, memory_order::relaxed, memory_order::release>;
  static_assert(has_order,
                "membar: an AMO without a result cannot acquire, because it returns nothing: use relaxed or release");
  return has_order;
}
template <class Order>
__device__ constexpr void require_result_order() noexcept {
  static_assert(
      order_among<Order, memory_order::relaxed, memory_order::acquire, memory_order::release, memory_order::acq_rel>,
      "membar: the order of an AMO must be relaxed, acquire, release or acq_rel: no backend has a single total order of AMOs");
}

template <amo Operation, class Counter, class Value, class Order>
__device__ inline Value apply_amo(const Counter& counter, Value value, pe other, Order order) noexcept {
  return transport_of<Counter>::template apply<Operation>(counter.reach(), word(counter), value, other, order);
}

/// Performs an AMO without a result.
template <amo Operation, class Counter, class Order>
__device__ inline void change(const Counter& counter, counted<Counter> value, pe other, Order order) noexcept {
  if constexpr (require_no_result_order<Order>() && require_amo<Counter, Operation>()) {
    static_cast<void>(apply_amo<Operation>(counter, value, other, order));
  }
}

/// Performs an AMO and returns the previous value.
template <amo Operation, class Counter, class Order>
__device__ inline counted<Counter> fetch_and_change(const Counter& counter, counted<Counter> value, pe other,
                                                    Order order) noexcept {
  require_result_order<Order>();
  if constexpr (require_amo<Counter, Operation>()) {
    return apply_amo<Operation>(counter, value, other, order);
  } else {
    return value;
  }
}

}  // namespace detail

/// Returns the counter's value on `other`. PTX (peer): `ld.{relaxed,acquire}.sys`. NVSHMEM: `nvshmem_*_atomic_fetch`.
template <class Counter, class Order = relaxed_t>
[[nodiscard]] __device__ inline detail::counted<Counter> amo_load(const Counter& counter, pe other,
                                                                  Order order = Order()) noexcept {
  static_assert(order_among<Order, memory_order::relaxed, memory_order::acquire>,
                "membar: an AMO that loads cannot release, because it writes nothing: use relaxed or acquire");
  if constexpr (detail::require_amo<Counter, amo::load>()) {
    return detail::apply_amo<amo::load>(counter, detail::counted<Counter>(), other, order);
  }
}

/// Sets the counter on `other` to `value`. PTX (peer): `st.{relaxed,release}.sys`. NVSHMEM: `nvshmem_*_atomic_set`.
template <class Counter, class Order = relaxed_t>
__device__ inline void amo_store(const Counter& counter, detail::counted<Counter> value, pe other,
                                 Order order = Order()) noexcept {
  detail::change<amo::store>(counter, value, other, order);
}

/// Sets the counter on `other` to `desired` if its value was `expected`, and returns the previous value. PTX (peer):
/// `atom.cas.*.sys`. NVSHMEM: `nvshmem_*_atomic_compare_swap`.
template <class Counter, class Order = relaxed_t>
__device__ inline detail::counted<Counter> amo_compare_exchange(const Counter& counter, detail::counted<Counter> expected,
                                                                detail::counted<Counter> desired, pe other,
                                                                Order order = Order()) noexcept {
  detail::require_result_order<Order>();
  if constexpr (detail::require_amo<Counter, amo::compare_exchange>()) {
    return detail::transport_of<Counter>::compare_exchange(counter.reach(), detail::word(counter), expected, desired, other,
                                                           order);
  }
}

/// Sets the counter on `other` to `value` and returns the previous value. PTX (peer): `atom.exch.*.sys`. NVSHMEM:
/// `nvshmem_*_atomic_swap`.
template <class Counter, class Order = relaxed_t>
__device__ inline detail::counted<Counter> amo_exchange(const Counter& counter, detail::counted<Counter> value, pe other,
                                                        Order order = Order()) noexcept {
  return detail::fetch_and_change<amo::exchange>(counter, value, other, order);
}

// Arithmetic. The first form of each operation returns nothing, and the second form returns the previous value. PTX (peer):
// `red.*.sys` and `atom.*.sys`. NVSHMEM: `nvshmem_*_atomic_*` and `nvshmem_*_atomic_fetch_*`, but no minimum or maximum.

/// Adds `value` to the counter. Integer sums wrap around.
template <class Counter, class Order = relaxed_t>
__device__ inline void amo_add(const Counter& counter, detail::counted<Counter> value, pe other,
                               Order order = Order()) noexcept {
  detail::change<amo::add>(counter, value, other, order);
}
template <class Counter, class Order = relaxed_t>
__device__ inline detail::counted<Counter> amo_fetch_add(const Counter& counter, detail::counted<Counter> value, pe other,
                                                         Order order = Order()) noexcept {
  return detail::fetch_and_change<amo::fetch_add>(counter, value, other, order);
}

/// Replaces the counter's value with the bitwise AND of that value and `value`.
template <class Counter, class Order = relaxed_t>
__device__ inline void amo_bitwise_and(const Counter& counter, detail::counted<Counter> value, pe other,
                                       Order order = Order()) noexcept {
  detail::change<amo::bitwise_and>(counter, value, other, order);
}
template <class Counter, class Order = relaxed_t>
__device__ inline detail::counted<Counter> amo_fetch_and(const Counter& counter, detail::counted<Counter> value, pe other,
                                                         Order order = Order()) noexcept {
  return detail::fetch_and_change<amo::fetch_and>(counter, value, other, order);
}

/// Replaces the counter's value with the bitwise OR of that value and `value`.
template <class Counter, class Order = relaxed_t>
__device__ inline void amo_bitwise_or(const Counter& counter, detail::counted<Counter> value, pe other,
                                      Order order = Order()) noexcept {
  detail::change<amo::bitwise_or>(counter, value, other, order);
}
template <class Counter, class Order = relaxed_t>
__device__ inline detail::counted<Counter> amo_fetch_or(const Counter& counter, detail::counted<Counter> value, pe other,
                                                        Order order = Order()) noexcept {
  return detail::fetch_and_change<amo::fetch_or>(counter, value, other, order);
}

/// Replaces the counter's value with the bitwise exclusive OR of that value and `value`.
template <class Counter, class Order = relaxed_t>
__device__ inline void amo_bitwise_xor(const Counter& counter, detail::counted<Counter> value, pe other,
                                       Order order = Order()) noexcept {
  detail::change<amo::bitwise_xor>(counter, value, other, order);
}
template <class Counter, class Order = relaxed_t>
__device__ inline detail::counted<Counter> amo_fetch_xor(const Counter& counter, detail::counted<Counter> value, pe other,
                                                         Order order = Order()) noexcept {
  return detail::fetch_and_change<amo::fetch_xor>(counter, value, other, order);
}

/// Replaces the counter's value with `value` if `value` is smaller.
template <class Counter, class Order = relaxed_t>
__device__ inline void amo_min(const Counter& counter, detail::counted<Counter> value, pe other,
                               Order order = Order()) noexcept {
  detail::change<amo::min>(counter, value, other, order);
}
template <class Counter, class Order = relaxed_t>
__device__ inline detail::counted<Counter> amo_fetch_min(const Counter& counter, detail::counted<Counter> value, pe other,
                                                         Order order = Order()) noexcept {
  return detail::fetch_and_change<amo::fetch_min>(counter, value, other, order);
}

/// Replaces the counter's value with `value` if `value` is larger.
template <class Counter, class Order = relaxed_t>
__device__ inline void amo_max(const Counter& counter, detail::counted<Counter> value, pe other,
                               Order order = Order()) noexcept {
  detail::change<amo::max>(counter, value, other, order);
}
template <class Counter, class Order = relaxed_t>
__device__ inline detail::counted<Counter> amo_fetch_max(const Counter& counter, detail::counted<Counter> value, pe other,
                                                         Order order = Order()) noexcept {
  return detail::fetch_and_change<amo::fetch_max>(counter, value, other, order);
}

}  // namespace symmetric
}  // namespace v0_3
}  // namespace membar
