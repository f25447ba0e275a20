// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Memory orders, which determine what an atomic operation or a fence orders. An order is passed as a tag, so it is known at
/// compile time.
#pragma once

#include <membar/base/config.hpp>

namespace membar {
inline namespace v0_3 {

/// The orders as values, for code that puts them in tables or prints them. Calls use the tags below.
///
/// The values are the same as in libcu++ and in compilers' built-in atomic functions, so
/// `memory_order(cuda::memory_order_acquire)` is `acquire`. The value 1 is `consume`, which membar does not support.
enum class memory_order { relaxed = 0, acquire = 2, release = 3, acq_rel = 4, seq_cst = 5 };

/// The type of an order's tag. Each order has its own type, so a call with an order that the operation does not support does
/// not compile.
template <memory_order Order>
struct memory_order_constant {
  static constexpr memory_order value = Order;
  explicit memory_order_constant() = default;
};

/// The type of `relaxed`.
using relaxed_t = memory_order_constant<memory_order::relaxed>;
/// The type of `acquire`.
using acquire_t = memory_order_constant<memory_order::acquire>;
/// The type of `release`.
using release_t = memory_order_constant<memory_order::release>;
/// The type of `acq_rel`.
using acq_rel_t = memory_order_constant<memory_order::acq_rel>;
/// The type of `seq_cst`.
using seq_cst_t = memory_order_constant<memory_order::seq_cst>;

/// The operation is atomic, but it is ordered only relative to other accesses to the same location.
MEMBAR_CONSTANT relaxed_t relaxed{};
/// Later accesses stay after the operation: the reader's half of synchronization.
MEMBAR_CONSTANT acquire_t acquire{};
/// Earlier accesses, including those that this thread has observed, stay before the operation: the writer's half of
/// synchronization.
MEMBAR_CONSTANT release_t release{};
/// Acquire and release, for operations that both read and write, and for fences.
MEMBAR_CONSTANT acq_rel_t acq_rel{};
/// Acquire, release or both, as the operation allows. In addition, all such operations have a single order on which all threads
/// in scope agree.
MEMBAR_CONSTANT seq_cst_t seq_cst{};

namespace detail {
/// Stands in for an order that the call does not specify.
struct missing_order {};

template <class Order, memory_order Allowed>
inline constexpr bool is_tag_of = false;
template <memory_order Allowed>
inline constexpr bool is_tag_of<memory_order_constant<Allowed>, Allowed> = true;
}  // namespace detail

/// Satisfied if `Order` is the tag of one of the `Allowed` orders.
template <class Order, memory_order... Allowed>
concept order_among = (detail::is_tag_of<Order, Allowed> || ...);

/// Satisfied by any of membar's order tags. Read-modify-writes accept all of them.
template <class Order>
concept memory_order_tag = order_among<Order, memory_order::relaxed, memory_order::acquire, memory_order::release,
                                       memory_order::acq_rel, memory_order::seq_cst>;

/// Satisfied by the orders of loads: relaxed, acquire or seq_cst. A load cannot release.
template <class Order>
concept load_order = order_among<Order, memory_order::relaxed, memory_order::acquire, memory_order::seq_cst>;

/// Satisfied by the orders of stores: relaxed, release or seq_cst. A store cannot acquire.
template <class Order>
concept store_order = order_among<Order, memory_order::relaxed, memory_order::release, memory_order::seq_cst>;

/// Satisfied by the orders of fences: any order except relaxed, because a relaxed fence would order nothing.
template <class Order>
concept fence_order =
    order_among<Order, memory_order::acquire, memory_order::release, memory_order::acq_rel, memory_order::seq_cst>;

/// Satisfied by the orders of reductions, which return nothing: relaxed or release. An operation that does not return the value
/// cannot acquire.
template <class Order>
concept reduction_order = order_among<Order, memory_order::relaxed, memory_order::release>;

/// Returns the part of `order` that a fence before a relaxed operation must have; `relaxed` means that no fence is needed.
///
/// Together with a fence of `acquire_half(order)` after the operation, that fence orders the same accesses as an operation with
/// `order`.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr memory_order release_half(memory_order order) noexcept {
  const bool releases = order == memory_order::release || order == memory_order::acq_rel;
  return order == memory_order::seq_cst ? order : releases ? memory_order::release : memory_order::relaxed;
}

/// Returns the part of `order` that a fence after a relaxed operation must have; `relaxed` means that no fence is needed.
///
/// For `seq_cst` it is `acquire`: the fence before the operation determines its position among all `seq_cst` operations.
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr memory_order acquire_half(memory_order order) noexcept {
  const bool acquires = order != memory_order::relaxed && order != memory_order::release;
  return acquires ? memory_order::acquire : memory_order::relaxed;
}

/// Returns `release_half` of an order's tag, as a tag.
template <memory_order Order>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr auto release_half(memory_order_constant<Order>) noexcept {
  return memory_order_constant<release_half(Order)>{};
}
/// Returns `acquire_half` of an order's tag, as a tag.
template <memory_order Order>
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr auto acquire_half(memory_order_constant<Order>) noexcept {
  return memory_order_constant<acquire_half(Order)>{};
}

/// Returns the order's name: "relaxed", "acquire", "release", "acq_rel" or "seq_cst".
[[nodiscard]] MEMBAR_HOST_DEVICE constexpr const char* name(memory_order order) noexcept {
  switch (order) {
    case memory_order::relaxed:
      return "relaxed";
    case memory_order::acquire:
      return "acquire";
    case memory_order::release:
      return "release";
    case memory_order::acq_rel:
      return "acq_rel";
    case memory_order::seq_cst:
      return "seq_cst";
  }
  return "unknown memory order";
}

}  // namespace v0_3
}  // namespace membar
