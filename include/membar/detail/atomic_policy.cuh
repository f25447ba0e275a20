// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Read-modify-writes with an L2 policy, implemented with instructions that name global memory.
#pragma once

#include <membar/detail/atomic_device.cuh>
#include <membar/detail/atomic_rules.hpp>

namespace membar {
inline namespace v0_3 {
namespace detail {

/// atom.sem.scope.global.op.level::cache_hint.type d, [a], b, cache-policy; cache_hint (PTX ISA 7.4, sm_80); otherwise as
/// `ptx_atom` without a policy. Returns the previous value.
template <atom_op Op, ptx_type Type, thread_scope Scope, memory_order Order, class Bits>
__device__ inline Bits ptx_atom_with_policy(void* object, Bits value, unsigned long long policy) noexcept {
  using order = ptx_order<Order>;
  using scope = ptx_scope<Scope>;
  using operation = ptx_operation<Op>;
  using type = ptx_type_name<Type>;
  const unsigned long long address = ptx_address<state_space::global>(object);
  Bits old;
  if constexpr (sizeof(Bits) == 4) {
    asm volatile("atom.%4.%5.global.%6.L2::cache_hint.%7 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(address), "r"(value), "l"(policy), "C"(order::text), "C"(scope::text), "C"(operation::text),
                   "C"(type::text)
                 : "memory");
  } else if constexpr (sizeof(Bits) == 8) {
    asm volatile("atom.%4.%5.global.%6.L2::cache_hint.%7 %0, [%1], %2, %3;"
                 : "=l"(old)
                 : "l"(address), "l"(value), "l"(policy), "C"(order::text), "C"(scope::text), "C"(operation::text),
                   "C"(type::text)
                 : "memory");
  } else {
    asm volatile("atom.%4.%5.global.%6.L2::cache_hint.%7 %0, [%1], %2, %3;"
                 : "=q"(old)
                 : "l"(address), "q"(value), "l"(policy), "C"(order::text), "C"(scope::text), "C"(operation::text),
                   "C"(type::text)
                 : "memory");
  }
  return old;
}

/// red.sem.scope.global.op.level::cache_hint.type [a], b, cache-policy; cache_hint (PTX ISA 7.4, sm_80); otherwise as `ptx_red`
/// without a policy
template <atom_op Op, ptx_type Type, thread_scope Scope, memory_order Order, class Bits>
__device__ inline void ptx_red_with_policy(void* object, Bits value, unsigned long long policy) noexcept {
  using order = ptx_order<Order>;
  using scope = ptx_scope<Scope>;
  using operation = ptx_operation<Op>;
  using type = ptx_type_name<Type>;
  const unsigned long long address = ptx_address<state_space::global>(object);
  if constexpr (sizeof(Bits) == 4) {
    asm volatile("red.%3.%4.global.%5.L2::cache_hint.%6 [%0], %1, %2;" ::"l"(address), "r"(value), "l"(policy),
                 "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  } else {
    asm volatile("red.%3.%4.global.%5.L2::cache_hint.%6 [%0], %1, %2;" ::"l"(address), "l"(value), "l"(policy),
                 "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  }
}

/// atom.sem.scope.global.op.level::cache_hint.vec.type d, [a], b, cache-policy;  as the vector form of `ptx_atom`
template <atom_op Op, ptx_type Type, thread_scope Scope, memory_order Order, class Bits, std::size_t Size>
__device__ inline void ptx_atom_with_policy(void* object, const Bits (&v)[Size], Bits (&old)[Size],
                                            unsigned long long policy) noexcept {
  using order = ptx_order<Order>;
  using scope = ptx_scope<Scope>;
  using operation = ptx_operation<Op>;
  using type = ptx_type_name<Type>;
  const unsigned long long address = ptx_address<state_space::global>(object);
  if constexpr (sizeof(Bits) == 4 && Size == 2) {
    asm volatile("atom.%6.%7.global.%8.L2::cache_hint.%9 {%0, %1}, [%2], {%3, %4}, %5;"
                 : "=r"(old[0]), "=r"(old[1])
                 : "l"(address), "r"(v[0]), "r"(v[1]), "l"(policy), "C"(order::text), "C"(scope::text), "C"(operation::text),
                   "C"(type::text)
                 : "memory");
  } else if constexpr (sizeof(Bits) == 4) {
    asm volatile("atom.%10.%11.global.%12.L2::cache_hint.%13 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8}, %9;"
                 : "=r"(old[0]), "=r"(old[1]), "=r"(old[2]), "=r"(old[3])
                 : "l"(address), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "l"(policy), "C"(order::text), "C"(scope::text),
                   "C"(operation::text), "C"(type::text)
                 : "memory");
  } else if constexpr (Size == 2) {
    asm volatile("atom.%6.%7.global.%8.L2::cache_hint.%9 {%0, %1}, [%2], {%3, %4}, %5;"
                 : "=h"(old[0]), "=h"(old[1])
                 : "l"(address), "h"(v[0]), "h"(v[1]), "l"(policy), "C"(order::text), "C"(scope::text), "C"(operation::text),
                   "C"(type::text)
                 : "memory");
  } else if constexpr (Size == 4) {
    asm volatile("atom.%10.%11.global.%12.L2::cache_hint.%13 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8}, %9;"
                 : "=h"(old[0]), "=h"(old[1]), "=h"(old[2]), "=h"(old[3])
                 : "l"(address), "h"(v[0]), "h"(v[1]), "h"(v[2]), "h"(v[3]), "l"(policy), "C"(order::text), "C"(scope::text),
                   "C"(operation::text), "C"(type::text)
                 : "memory");
  } else {
    asm volatile(
        "atom.%18.%19.global.%20.L2::cache_hint.%21 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], {%9, %10, %11, %12, %13, %14, %15, "
        "%16}, %17;"
        : "=h"(old[0]), "=h"(old[1]), "=h"(old[2]), "=h"(old[3]), "=h"(old[4]), "=h"(old[5]), "=h"(old[6]), "=h"(old[7])
        : "l"(address), "h"(v[0]), "h"(v[1]), "h"(v[2]), "h"(v[3]), "h"(v[4]), "h"(v[5]), "h"(v[6]), "h"(v[7]), "l"(policy),
          "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
        : "memory");
  }
}

/// red.sem.scope.global.op.level::cache_hint.vec.type [a], b, cache-policy;  as the vector form of `ptx_red`
template <atom_op Op, ptx_type Type, thread_scope Scope, memory_order Order, class Bits, std::size_t Size>
__device__ inline void ptx_red_with_policy(void* object, const Bits (&v)[Size], unsigned long long policy) noexcept {
  using order = ptx_order<Order>;
  using scope = ptx_scope<Scope>;
  using operation = ptx_operation<Op>;
  using type = ptx_type_name<Type>;
  const unsigned long long address = ptx_address<state_space::global>(object);
  if constexpr (sizeof(Bits) == 4 && Size == 2) {
    asm volatile("red.%4.%5.global.%6.L2::cache_hint.%7 [%0], {%1, %2}, %3;" ::"l"(address), "r"(v[0]), "r"(v[1]), "l"(policy),
                 "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  } else if constexpr (sizeof(Bits) == 4) {
    asm volatile("red.%6.%7.global.%8.L2::cache_hint.%9 [%0], {%1, %2, %3, %4}, %5;" ::"l"(address), "r"(v[0]), "r"(v[1]),
                 "r"(v[2]), "r"(v[3]), "l"(policy), "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  } else if constexpr (Size == 2) {
    asm volatile("red.%4.%5.global.%6.L2::cache_hint.%7 [%0], {%1, %2}, %3;" ::"l"(address), "h"(v[0]), "h"(v[1]), "l"(policy),
                 "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  } else if constexpr (Size == 4) {
    asm volatile("red.%6.%7.global.%8.L2::cache_hint.%9 [%0], {%1, %2, %3, %4}, %5;" ::"l"(address), "h"(v[0]), "h"(v[1]),
                 "h"(v[2]), "h"(v[3]), "l"(policy), "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  } else {
    asm volatile("red.%10.%11.global.%12.L2::cache_hint.%13 [%0], {%1, %2, %3, %4, %5, %6, %7, %8}, %9;" ::"l"(address),
                 "h"(v[0]), "h"(v[1]), "h"(v[2]), "h"(v[3]), "h"(v[4]), "h"(v[5]), "h"(v[6]), "h"(v[7]), "l"(policy),
                 "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  }
}

/// Returns whether the operation is implemented with instructions that accept a policy. Rejects all other operations, and
/// architectures without policies.
template <atom_op Op, class T, thread_scope Scope>
__device__ constexpr bool takes_policy() noexcept {
  constexpr bool is_vector = is_by_element<Op, T>;
  constexpr bool lacks_instruction = !has_hopper_instructions && (is_vector || sizeof(T) == 16);
  constexpr bool is_loop = !is_vector && !lacks_instruction && lowering_of<Op, T>() == lowering::loop;
  require_architecture_of<Scope>();
  if constexpr (is_vector) {
    require_vector_instructions<T>();
  } else {
    require_compare_and_swap<T>();
  }
  refuse_policy_of_loop<l2_policy, is_loop>();
#if defined(__CUDA_ARCH__)
  static_assert(__CUDA_ARCH__ >= 800 || is_loop || lacks_instruction,
                "membar: an L2 policy requires compute capability 8.0: compile this code only for sm_80 or newer");
#endif
  return !is_loop && !lacks_instruction;
}

/// Performs a read-modify-write with an L2 policy on an object in global memory, and returns the previous value.
///
/// In global memory ptxas adds no loops, so the order of the instruction itself is sufficient.
template <atom_op Op, class T, thread_scope Scope, memory_order Order>
__device__ inline T device_fetch_with_policy(T* object, T value, unsigned long long policy) noexcept {
  constexpr memory_order own = order_after_fence<Order, memory_order::acquire>;
  if constexpr (!takes_policy<Op, T, Scope>()) {
    __builtin_unreachable();
  } else if constexpr (is_by_element<Op, T>) {
    const auto operand = element_bits<typename T::value_type, T::size>::of(value);
    auto old = operand;
    fence_if_sequentially_consistent<Scope, Order>();
    ptx_atom_with_policy<Op, native_type<T>(Op), Scope, own>(object, operand.values, old.values, policy);
    return old.get();
  } else {
    const bits_of<T> operand = to_bits(value);
    fence_if_sequentially_consistent<Scope, Order>();
    if constexpr (lowering_of<Op, T>() == lowering::instruction) {
      return from_bits<T>(ptx_atom_with_policy<Op, native_type<T>(Op), Scope, own>(object, operand, policy));
    } else {
      using form = integer_form<Op, T>;
      return from_bits<T>(form::is_signed(operand)
                              ? ptx_atom_with_policy<form::opposite, form::as_unsigned, Scope, own>(object, operand, policy)
                              : ptx_atom_with_policy<Op, form::as_signed, Scope, own>(object, operand, policy));
    }
  }
}

/// Performs a read-modify-write with an L2 policy on an object in global memory, and returns nothing. `Order` is relaxed or
/// release.
template <atom_op Op, class T, thread_scope Scope, memory_order Order>
__device__ inline void device_reduce_with_policy(T* object, T value, unsigned long long policy) noexcept {
  if constexpr (!takes_policy<Op, T, Scope>()) {
    // The static_assert above rejects this case.
  } else if constexpr (is_by_element<Op, T>) {
    const auto operand = element_bits<typename T::value_type, T::size>::of(value);
    ptx_red_with_policy<Op, native_type<T>(Op), Scope, Order>(object, operand.values, policy);
  } else {
    const bits_of<T> operand = to_bits(value);
    if constexpr (lowering_of<Op, T>() == lowering::instruction) {
      ptx_red_with_policy<Op, native_type<T>(Op), Scope, Order>(object, operand, policy);
    } else {
      using form = integer_form<Op, T>;
      if (form::is_signed(operand)) {
        ptx_red_with_policy<form::opposite, form::as_unsigned, Scope, Order>(object, operand, policy);
      } else {
        ptx_red_with_policy<Op, form::as_signed, Scope, Order>(object, operand, policy);
      }
    }
  }
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
