// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The rules for atomic operations: the valid types, the operations on them, and the valid orders.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/atomic_refused.hpp>
#include <membar/detail/atomic_type.hpp>
#include <membar/detail/operand.hpp>
#include <membar/detail/standard.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#if !defined(__CUDACC_RTC__)
#include <cassert>
#endif

namespace membar {
inline namespace v0_3 {

class l2_policy;

namespace detail {
template <class T>
concept is_complete = requires { sizeof(T); };
}  // namespace detail

/// Satisfied by types that an atomic can hold: trivially copyable types (and packed pairs of half or bfloat16) of 1, 2, 4, 8 or
/// 16 bytes, without const or volatile.
template <class T>
concept atomic_value = detail::is_complete<T> && detail::is_bytes<T> && std::is_same_v<T, std::remove_cv_t<T>> &&
                       (sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);

/// Satisfied by types with bitwise operations: integers other than `bool`.
template <class T>
concept atomic_integer = atomic_value<T> && detail::kind_of<T> == detail::value_kind::integer;

/// Satisfied by types with wrapping increments and decrements: unsigned integers.
template <class T>
concept atomic_unsigned = atomic_integer<T> && !detail::is_signed<T>;

/// Satisfied by types with addition: integers, float, double, half, bfloat16 and their pairs, pointers to objects, and the
/// vectors that PTX can add.
template <class T>
concept atomic_addable = atomic_value<T> && detail::kind_of<T> != detail::value_kind::other &&
                         (detail::kind_of<T> != detail::value_kind::pointer || std::is_object_v<std::remove_pointer_t<T>>) &&
                         (detail::kind_of<T> != detail::value_kind::vector ||
                          detail::native_type<T>(detail::atom_op::add) != detail::ptx_type::none);

/// Satisfied by types with minimum and maximum: the types with addition, except pointers and vectors of float.
template <class T>
concept atomic_ordered = atomic_addable<T> && detail::kind_of<T> != detail::value_kind::pointer &&
                         (detail::kind_of<T> != detail::value_kind::vector ||
                          detail::native_type<T>(detail::atom_op::min) != detail::ptx_type::none);

namespace detail {

/// Explains in one sentence what is wrong with an atomic's type. Returns true, so that a `static_assert` can call it.
template <class T, thread_scope Scope>
[[nodiscard]] MEMBAR_HOST_DEVICE consteval bool require_value() noexcept {
  require_scope<Scope>();
  static_assert(
      Scope == missing_scope || is_complete<T>,
      "membar: the type of this object is declared but not defined here: include its header, which is <cuda_fp16.h> for __half "
      "and <cuda_bf16.h> for __nv_bfloat16");
  return true;
}

/// Explains in one sentence why an `atomic_ref<T>` cannot refer to the argument.
template <class T, class Argument>
MEMBAR_HOST_DEVICE constexpr void refuse_object() noexcept {
  using object = std::remove_reference_t<Argument>;
  constexpr bool same = std::is_same_v<std::remove_cv_t<object>, std::remove_cv_t<T>>;
  static_assert(!std::is_pointer_v<object>, "membar: an atomic_ref takes the object, not its address: write *pointer");
  static_assert(!same || !std::is_const_v<object>,
                "membar: the object is const: use atomic_ref<const T, Scope>, which can only load and wait");
  static_assert(!same || std::is_const_v<object>,
                "membar: an atomic_ref must refer to a non-volatile variable, not to a temporary value");
  static_assert(same || std::is_pointer_v<object>,
                "membar: an atomic_ref<T, Scope> must refer to an object of type T: use the object's type as T");
}

template <class Object>
concept atomic_object = is_atomic_object<std::remove_cvref_t<Object>>;

template <class Object>
MEMBAR_HOST_DEVICE constexpr void refuse_operator(const Object&) noexcept {
  static_assert(!is_atomic_object<Object>,
                "membar: an operator cannot take an order: use a named function, such as add(1, order), which returns nothing, "
                "or fetch_add(1, order)");
}

/// Stops a debug build if an object is not aligned to its size: on the host unless NDEBUG is defined, and in a kernel with
/// `nvcc -G`.
template <std::size_t Size>
MEMBAR_HOST_DEVICE inline void require_aligned([[maybe_unused]] const volatile void* object) noexcept {
#if !defined(__CUDACC_RTC__) && !defined(NDEBUG) && (!defined(__CUDA_ARCH__) || defined(__CUDACC_DEBUG__))
  assert(reinterpret_cast<std::size_t>(object) % Size == 0 &&
         "membar: an atomic object must be aligned to its size: use alignas");
#endif
}

template <class Order>
MEMBAR_HOST_DEVICE constexpr void require_order() noexcept {
  static_assert(!std::is_same_v<Order, missing_order>,
                "membar: an atomic operation needs an order: pass relaxed, acquire, release, acq_rel or seq_cst");
  static_assert(memory_order_tag<Order> || std::is_same_v<Order, missing_order>,
                "membar: the order must be one of membar's tags: relaxed, acquire, release, acq_rel, seq_cst");
}

template <class Order>
MEMBAR_HOST_DEVICE constexpr void require_reduction_order() noexcept {
  require_order<Order>();
  static_assert(reduction_order<Order> || !memory_order_tag<Order>,
                "membar: a reduction cannot acquire, because it returns nothing: use relaxed or release, or the fetch_ form");
}

template <class T, atom_op Op>
MEMBAR_HOST_DEVICE constexpr void require_operation() noexcept {
  if constexpr (Op == atom_op::add) {
    static_assert(atomic_addable<T>,
                  "membar: addition supports integers, float, double, half, bfloat16, their packed pairs, pointers to objects, "
                  "and vectors of 2 or 4 floats or of 2, 4 or 8 half or bfloat16 elements: use fetch_update for other types");
  } else if constexpr (Op == atom_op::min || Op == atom_op::max) {
    static_assert(atomic_ordered<T>,
                  "membar: minimum and maximum support integers, float, double, half, bfloat16, their packed pairs, and "
                  "vectors of 2, 4 or 8 half or bfloat16 elements: use fetch_update for other types");
  } else if constexpr (Op == atom_op::inc || Op == atom_op::dec) {
    static_assert(atomic_unsigned<T>, "membar: wrapping increments and decrements require an unsigned integer type");
  } else if constexpr (Op != atom_op::exchange) {
    static_assert(atomic_integer<T>, "membar: bitwise operations support only integers: use fetch_update for other types");
  }
}

/// Whether a type satisfies the rules above.
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

/// Returns the weakest order of a compare-and-swap that covers both its success order and its failure order.
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

/// Returns the failure order of a call that specifies only one order: that order without its release half.
template <class Order>
struct failure_tag {
  using type = relaxed_t;
};
template <memory_order Order>
struct failure_tag<memory_order_constant<Order>> {
  using type = std::conditional_t<Order == memory_order::seq_cst, seq_cst_t, memory_order_constant<acquire_half(Order)>>;
};

/// Stands in for an L2 policy that the call does not specify.
struct no_policy {};

template <class Policy>
inline constexpr bool is_policy = std::is_base_of_v<l2_policy, Policy>;

template <class Policy>
MEMBAR_HOST_DEVICE constexpr void require_policy() noexcept {
  static_assert(
      std::is_same_v<Policy, no_policy> || is_policy<Policy>,
      "membar: only an L2 policy can follow the order of an atomic operation: pass a cache_policy or a cache_policy_range");
}

/// `Loop` states whether the operation is implemented as a loop, in general or for this type.
template <class Policy, bool Loop = true>
MEMBAR_HOST_DEVICE constexpr void refuse_policy_of_loop() noexcept {
  static_assert(
      !Loop || std::is_same_v<Policy, no_policy>,
      "membar: an L2 policy applies to a single instruction, but this operation compiles to a loop: leave the policy out");
}

template <class T>
MEMBAR_HOST_DEVICE constexpr void require_mutable() noexcept {
  static_assert(!std::is_const_v<T>,
                "membar: a reference to const can only load: use a reference to a non-const type to modify the object");
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
