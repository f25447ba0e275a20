// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The rules of atomic operations: which values, which operations on them, which orders.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/atomic_refused.hpp>
#include <membar/detail/atomic_type.hpp>
#include <membar/detail/standard.hpp>
#include <membar/memory_order.hpp>

namespace membar {
inline namespace v0_2 {

class l2_policy;

/// The rule for the type that an atomic holds: trivially copyable (or a packed pair of half or bfloat16), of 1, 2, 4, 8 or 16
/// bytes, without const or volatile.
template <class T>
concept atomic_value = (std::is_trivially_copyable_v<T> || detail::kind_of<T> == detail::value_kind::half_pair ||
                        detail::kind_of<T> == detail::value_kind::bfloat16_pair) &&
                       std::is_same_v<T, std::remove_cv_t<T>> &&
                       (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);

/// The rule for bitwise operations: integers other than `bool`.
template <class T>
concept atomic_integer = atomic_value<T> && detail::kind_of<T> == detail::value_kind::integer;

/// The rule for wrapping increments and decrements: unsigned integers.
template <class T>
concept atomic_unsigned = atomic_integer<T> && !detail::is_signed<T>;

/// The rule for addition: integers, float, double, half, bfloat16 and their pairs, pointers to objects, and the vectors that
/// PTX can add.
template <class T>
concept atomic_addable = atomic_value<T> && detail::kind_of<T> != detail::value_kind::other &&
                         (detail::kind_of<T> != detail::value_kind::pointer || std::is_object_v<std::remove_pointer_t<T>>) &&
                         (detail::kind_of<T> != detail::value_kind::vector ||
                          detail::native_type<T>(detail::atom_op::add) != detail::ptx_type::none);

/// The rule for minimum and maximum: the types of addition, but no pointers and no vectors of float.
template <class T>
concept atomic_ordered = atomic_addable<T> && detail::kind_of<T> != detail::value_kind::pointer &&
                         (detail::kind_of<T> != detail::value_kind::vector ||
                          detail::native_type<T>(detail::atom_op::min) != detail::ptx_type::none);

namespace detail {

template <class Order>
MEMBAR_HOST_DEVICE constexpr void require_order() noexcept {
  static_assert(!std::is_same_v<Order, missing_order>,
                "membar: an atomic operation is given its order: add relaxed, acquire, release, acq_rel or seq_cst");
  static_assert(memory_order_tag<Order> || std::is_same_v<Order, missing_order>,
                "membar: an order is one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
}

template <class Order>
MEMBAR_HOST_DEVICE constexpr void require_reduction_order() noexcept {
  require_order<Order>();
  static_assert(
      reduction_order<Order> || !memory_order_tag<Order>,
      "membar: a reduction takes relaxed or release: it returns nothing, so there is nothing to acquire; use the fetch_ form");
}

template <class T, atom_op Op>
MEMBAR_HOST_DEVICE constexpr void require_operation() noexcept {
  if constexpr (Op == atom_op::add) {
    static_assert(
        atomic_addable<T>,
        "membar: addition takes integers, float, double, half, bfloat16, their packed pairs, pointers to objects, and "
        "vectors of 2 or 4 floats or 2, 4 or 8 half or bfloat16: use fetch_update for other types");
  } else if constexpr (Op == atom_op::min || Op == atom_op::max) {
    static_assert(
        atomic_ordered<T>,
        "membar: minimum and maximum take integers, float, double, half, bfloat16, their packed pairs, and vectors of 2, "
        "4 or 8 half or bfloat16: use fetch_update for other types");
  } else if constexpr (Op == atom_op::inc || Op == atom_op::dec) {
    static_assert(atomic_unsigned<T>, "membar: wrapping increments and decrements take unsigned integers");
  } else if constexpr (Op != atom_op::exchange) {
    static_assert(atomic_integer<T>, "membar: bitwise operations take integers: use fetch_update for other types");
  }
}

/// Whether the rules above hold.
template <class T, atom_op Op>
inline constexpr bool has_operation = Op == atom_op::add                         ? atomic_addable<T>
                                      : Op == atom_op::min || Op == atom_op::max ? atomic_ordered<T>
                                      : Op == atom_op::inc || Op == atom_op::dec ? atomic_unsigned<T>
                                                                                 : Op == atom_op::exchange || atomic_integer<T>;

template <class T>
struct pointer_difference {
  using type = T;
};
template <class T>
struct pointer_difference<T*> {
  using type = decltype(static_cast<char*>(nullptr) - static_cast<char*>(nullptr));
};

/// The weakest order of a compare-and-swap that covers its order on success and its order on failure.
template <memory_order Success, memory_order Failure>
[[nodiscard]] MEMBAR_HOST_DEVICE consteval memory_order covering_order() noexcept {
  if (Success == memory_order::seq_cst || Failure == memory_order::seq_cst) {
    return memory_order::seq_cst;
  }
  if (Failure == memory_order::acquire) {
    const bool releases = Success == memory_order::release || Success == memory_order::acq_rel;
    return releases ? memory_order::acq_rel : memory_order::acquire;
  }
  return Success;
}

/// The tag of the order on failure where a call gives one order: that without its release half.
template <class Order>
struct failure_tag {
  using type = relaxed_t;
};
template <memory_order Order>
struct failure_tag<memory_order_constant<Order>> {
  using type = std::conditional_t<Order == memory_order::seq_cst, seq_cst_t, memory_order_constant<acquire_half(Order)>>;
};

/// In place of an L2 policy that a call does not give.
struct no_policy {};

template <class Policy>
inline constexpr bool is_policy = std::is_base_of_v<l2_policy, Policy>;

template <class Policy>
MEMBAR_HOST_DEVICE constexpr void require_policy() noexcept {
  static_assert(
      std::is_same_v<Policy, no_policy> || is_policy<Policy>,
      "membar: what follows the order of an atomic operation is an L2 policy: a cache_policy or a cache_policy_range");
}

/// For an operation that is a loop, or that is one for a type: `Loop` says so.
template <class Policy, bool Loop = true>
MEMBAR_HOST_DEVICE constexpr void refuse_policy_of_loop() noexcept {
  static_assert(!Loop || std::is_same_v<Policy, no_policy>,
                "membar: an L2 policy goes with one instruction, and this operation is a loop: leave the policy out");
}

template <class T>
MEMBAR_HOST_DEVICE constexpr void require_mutable() noexcept {
  static_assert(!std::is_const_v<T>, "membar: a reference to const loads only: refer to the object itself to change it");
}

}  // namespace detail
}  // namespace v0_2
}  // namespace membar
