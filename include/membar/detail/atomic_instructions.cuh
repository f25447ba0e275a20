// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The atomic instructions that membar emits itself. Each function is one instruction, and registers hold untyped bits.
#pragma once

#include <membar/base/config.hpp>
#include <membar/detail/atomic_type.hpp>
#include <membar/detail/ld_st_instructions.cuh>
#include <membar/detail/ptx_spelling.cuh>
#include <membar/fence.cuh>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {
namespace detail {

// clang-format off
template <atom_op Op> struct ptx_operation;
template <> struct ptx_operation<atom_op::exchange> { static constexpr char text[] = "exch"; };
template <> struct ptx_operation<atom_op::add> { static constexpr char text[] = "add"; };
template <> struct ptx_operation<atom_op::bitwise_and> { static constexpr char text[] = "and"; };
template <> struct ptx_operation<atom_op::bitwise_or> { static constexpr char text[] = "or"; };
template <> struct ptx_operation<atom_op::bitwise_xor> { static constexpr char text[] = "xor"; };
template <> struct ptx_operation<atom_op::min> { static constexpr char text[] = "min"; };
template <> struct ptx_operation<atom_op::max> { static constexpr char text[] = "max"; };
template <> struct ptx_operation<atom_op::inc> { static constexpr char text[] = "inc"; };
template <> struct ptx_operation<atom_op::dec> { static constexpr char text[] = "dec"; };

template <ptx_type Type> struct ptx_type_name;
template <> struct ptx_type_name<ptx_type::b32> { static constexpr char text[] = "b32"; };
template <> struct ptx_type_name<ptx_type::b64> { static constexpr char text[] = "b64"; };
template <> struct ptx_type_name<ptx_type::b128> { static constexpr char text[] = "b128"; };
template <> struct ptx_type_name<ptx_type::s32> { static constexpr char text[] = "s32"; };
template <> struct ptx_type_name<ptx_type::u32> { static constexpr char text[] = "u32"; };
template <> struct ptx_type_name<ptx_type::s64> { static constexpr char text[] = "s64"; };
template <> struct ptx_type_name<ptx_type::u64> { static constexpr char text[] = "u64"; };
template <> struct ptx_type_name<ptx_type::f32> { static constexpr char text[] = "f32"; };
template <> struct ptx_type_name<ptx_type::f64> { static constexpr char text[] = "f64"; };
template <> struct ptx_type_name<ptx_type::f16x2> { static constexpr char text[] = "noftz.f16x2"; };
template <> struct ptx_type_name<ptx_type::bf16x2> { static constexpr char text[] = "noftz.bf16x2"; };
template <> struct ptx_type_name<ptx_type::v2_f32> { static constexpr char text[] = "v2.f32"; };
template <> struct ptx_type_name<ptx_type::v4_f32> { static constexpr char text[] = "v4.f32"; };
template <> struct ptx_type_name<ptx_type::v2_f16> { static constexpr char text[] = "noftz.v2.f16"; };
template <> struct ptx_type_name<ptx_type::v4_f16> { static constexpr char text[] = "noftz.v4.f16"; };
template <> struct ptx_type_name<ptx_type::v8_f16> { static constexpr char text[] = "noftz.v8.f16"; };
template <> struct ptx_type_name<ptx_type::v2_bf16> { static constexpr char text[] = "noftz.v2.bf16"; };
template <> struct ptx_type_name<ptx_type::v4_bf16> { static constexpr char text[] = "noftz.v4.bf16"; };
template <> struct ptx_type_name<ptx_type::v8_bf16> { static constexpr char text[] = "noftz.v8.bf16"; };
// clang-format on

/// ld.sem.scope.type d, [a];  sem: relaxed, acquire (PTX ISA 6.0, sm_70); scope: cluster (7.8, sm_90); type: b8, b16, b32, b64,
/// b128 (8.3, sm_70)
template <thread_scope Scope, memory_order Order, class Bits>
__device__ inline Bits ptx_load(const Bits* address) noexcept {
  return bits_as<Bits>(
      load_registers<ptx_semantics<Order, Scope>, false, true, sizeof(Bits)>(reinterpret_cast<std::size_t>(address), 0));
}

/// st.sem.scope.type [a], b;  sem: relaxed, release (PTX ISA 6.0, sm_70); scope: cluster (7.8, sm_90); type: b8, b16, b32, b64,
/// b128 (8.3, sm_70)
template <thread_scope Scope, memory_order Order, class Bits>
__device__ inline void ptx_store(Bits* address, Bits value) noexcept {
  store_registers<ptx_semantics<Order, Scope>, false, true, sizeof(Bits)>(reinterpret_cast<std::size_t>(address), value, 0);
}

/// The state space that an instruction names.
enum class state_space { generic, global, shared };

/// Returns the address in the form that an instruction for this state space requires.
template <state_space Space>
[[nodiscard]] __device__ inline unsigned long long ptx_address(void* address) noexcept {
  if constexpr (Space == state_space::global) {
    return __cvta_generic_to_global(address);
  } else if constexpr (Space == state_space::shared) {
    return __cvta_generic_to_shared(address);
  } else {
    return reinterpret_cast<unsigned long long>(address);
  }
}

// clang-format off
template <state_space Space> struct ptx_space;
template <> struct ptx_space<state_space::generic> { static constexpr char text[] = ""; };
template <> struct ptx_space<state_space::global> { static constexpr char text[] = ".global"; };
template <> struct ptx_space<state_space::shared> { static constexpr char text[] = ".shared"; };
// clang-format on

/// atom.sem.scope.cas.type d, [a], b, c; sem: relaxed, acquire, release, acq_rel (PTX ISA 6.0, sm_70); scope: cluster (7.8,
/// sm_90); type: b32, b64, b128 (8.3, sm_90). Returns the previous value.
template <thread_scope Scope, memory_order Order, class Bits>
__device__ inline Bits ptx_compare_and_swap(Bits* address, Bits expected, Bits desired) noexcept {
  using order = ptx_order<Order>;
  using scope = ptx_scope<Scope>;
  Bits old;
  if constexpr (sizeof(Bits) == 4) {
    asm volatile("atom.%4.%5.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(address), "r"(expected), "r"(desired), "C"(order::text), "C"(scope::text)
                 : "memory");
  } else if constexpr (sizeof(Bits) == 8) {
    asm volatile("atom.%4.%5.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(old)
                 : "l"(address), "l"(expected), "l"(desired), "C"(order::text), "C"(scope::text)
                 : "memory");
  } else {
    asm volatile("atom.%4.%5.cas.b128 %0, [%1], %2, %3;"
                 : "=q"(old)
                 : "l"(address), "q"(expected), "q"(desired), "C"(order::text), "C"(scope::text)
                 : "memory");
  }
  return old;
}

/// atom.sem.scope{.global}.op.type d, [a], b; sem: relaxed, acquire, release, acq_rel (PTX ISA 6.0, sm_70); scope: cluster
/// (7.8, sm_90); op: exch (b128 8.3, sm_90), add (noftz.f16x2 6.3, sm_70; noftz.bf16x2 7.8, sm_90), and, or, xor, min, max,
/// inc, dec. Returns the previous value.
template <atom_op Op, ptx_type Type, thread_scope Scope, memory_order Order, state_space Space, class Bits>
__device__ inline Bits ptx_atom(void* object, Bits value) noexcept {
  using order = ptx_order<Order>;
  using scope = ptx_scope<Scope>;
  using space = ptx_space<Space>;
  using operation = ptx_operation<Op>;
  using type = ptx_type_name<Type>;
  const unsigned long long address = ptx_address<Space>(object);
  Bits old;
  if constexpr (sizeof(Bits) == 4) {
    asm volatile("atom.%3.%4%5.%6.%7 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(address), "r"(value), "C"(order::text), "C"(scope::text), "C"(space::text), "C"(operation::text),
                   "C"(type::text)
                 : "memory");
  } else if constexpr (sizeof(Bits) == 8) {
    asm volatile("atom.%3.%4%5.%6.%7 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(address), "l"(value), "C"(order::text), "C"(scope::text), "C"(space::text), "C"(operation::text),
                   "C"(type::text)
                 : "memory");
  } else {
    asm volatile("atom.%3.%4%5.%6.%7 %0, [%1], %2;"
                 : "=q"(old)
                 : "l"(address), "q"(value), "C"(order::text), "C"(scope::text), "C"(space::text), "C"(operation::text),
                   "C"(type::text)
                 : "memory");
  }
  return old;
}

/// red.sem.scope{.global,.shared}.op.type [a], b; sem: relaxed, release (PTX ISA 6.0, sm_70); otherwise as for atom, but
/// without exch and b128
template <atom_op Op, ptx_type Type, thread_scope Scope, memory_order Order, state_space Space, class Bits>
__device__ inline void ptx_red(void* object, Bits value) noexcept {
  using order = ptx_order<Order>;
  using scope = ptx_scope<Scope>;
  using space = ptx_space<Space>;
  using operation = ptx_operation<Op>;
  using type = ptx_type_name<Type>;
  const unsigned long long address = ptx_address<Space>(object);
  if constexpr (sizeof(Bits) == 4) {
    asm volatile("red.%2.%3%4.%5.%6 [%0], %1;" ::"l"(address), "r"(value), "C"(order::text), "C"(scope::text), "C"(space::text),
                 "C"(operation::text), "C"(type::text)
                 : "memory");
  } else {
    asm volatile("red.%2.%3%4.%5.%6 [%0], %1;" ::"l"(address), "l"(value), "C"(order::text), "C"(scope::text), "C"(space::text),
                 "C"(operation::text), "C"(type::text)
                 : "memory");
  }
}

/// atom.sem.scope.global.op.vec.type d, [a], b; op.vec.type: add.{v2,v4}.f32, {add,min,max}.noftz.{v2,v4,v8}.{f16,bf16} (PTX
/// ISA 8.1, sm_90). `v` and `old` are the bits of the elements; atomic per element.
template <atom_op Op, ptx_type Type, thread_scope Scope, memory_order Order, class Bits, std::size_t Size>
__device__ inline void ptx_atom(void* object, const Bits (&v)[Size], Bits (&old)[Size]) noexcept {
  using order = ptx_order<Order>;
  using scope = ptx_scope<Scope>;
  using operation = ptx_operation<Op>;
  using type = ptx_type_name<Type>;
  const unsigned long long address = ptx_address<state_space::global>(object);
  if constexpr (sizeof(Bits) == 4 && Size == 2) {
    asm volatile("atom.%5.%6.global.%7.%8 {%0, %1}, [%2], {%3, %4};"
                 : "=r"(old[0]), "=r"(old[1])
                 : "l"(address), "r"(v[0]), "r"(v[1]), "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  } else if constexpr (sizeof(Bits) == 4) {
    asm volatile("atom.%9.%10.global.%11.%12 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};"
                 : "=r"(old[0]), "=r"(old[1]), "=r"(old[2]), "=r"(old[3])
                 : "l"(address), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]), "C"(order::text), "C"(scope::text),
                   "C"(operation::text), "C"(type::text)
                 : "memory");
  } else if constexpr (Size == 2) {
    asm volatile("atom.%5.%6.global.%7.%8 {%0, %1}, [%2], {%3, %4};"
                 : "=h"(old[0]), "=h"(old[1])
                 : "l"(address), "h"(v[0]), "h"(v[1]), "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  } else if constexpr (Size == 4) {
    asm volatile("atom.%9.%10.global.%11.%12 {%0, %1, %2, %3}, [%4], {%5, %6, %7, %8};"
                 : "=h"(old[0]), "=h"(old[1]), "=h"(old[2]), "=h"(old[3])
                 : "l"(address), "h"(v[0]), "h"(v[1]), "h"(v[2]), "h"(v[3]), "C"(order::text), "C"(scope::text),
                   "C"(operation::text), "C"(type::text)
                 : "memory");
  } else {
    asm volatile("atom.%17.%18.global.%19.%20 {%0, %1, %2, %3, %4, %5, %6, %7}, [%8], {%9, %10, %11, %12, %13, %14, %15, %16};"
                 : "=h"(old[0]), "=h"(old[1]), "=h"(old[2]), "=h"(old[3]), "=h"(old[4]), "=h"(old[5]), "=h"(old[6]),
                   "=h"(old[7])
                 : "l"(address), "h"(v[0]), "h"(v[1]), "h"(v[2]), "h"(v[3]), "h"(v[4]), "h"(v[5]), "h"(v[6]), "h"(v[7]),
                   "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  }
}

/// red.sem.scope.global.op.vec.type [a], b;  as the vector form of atom (PTX ISA 8.1, sm_90)
template <atom_op Op, ptx_type Type, thread_scope Scope, memory_order Order, class Bits, std::size_t Size>
__device__ inline void ptx_red(void* object, const Bits (&v)[Size]) noexcept {
  using order = ptx_order<Order>;
  using scope = ptx_scope<Scope>;
  using operation = ptx_operation<Op>;
  using type = ptx_type_name<Type>;
  const unsigned long long address = ptx_address<state_space::global>(object);
  if constexpr (sizeof(Bits) == 4 && Size == 2) {
    asm volatile("red.%3.%4.global.%5.%6 [%0], {%1, %2};" ::"l"(address), "r"(v[0]), "r"(v[1]), "C"(order::text),
                 "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  } else if constexpr (sizeof(Bits) == 4) {
    asm volatile("red.%5.%6.global.%7.%8 [%0], {%1, %2, %3, %4};" ::"l"(address), "r"(v[0]), "r"(v[1]), "r"(v[2]), "r"(v[3]),
                 "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  } else if constexpr (Size == 2) {
    asm volatile("red.%3.%4.global.%5.%6 [%0], {%1, %2};" ::"l"(address), "h"(v[0]), "h"(v[1]), "C"(order::text),
                 "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  } else if constexpr (Size == 4) {
    asm volatile("red.%5.%6.global.%7.%8 [%0], {%1, %2, %3, %4};" ::"l"(address), "h"(v[0]), "h"(v[1]), "h"(v[2]), "h"(v[3]),
                 "C"(order::text), "C"(scope::text), "C"(operation::text), "C"(type::text)
                 : "memory");
  } else {
    asm volatile("red.%9.%10.global.%11.%12 [%0], {%1, %2, %3, %4, %5, %6, %7, %8};" ::"l"(address), "h"(v[0]), "h"(v[1]),
                 "h"(v[2]), "h"(v[3]), "h"(v[4]), "h"(v[5]), "h"(v[6]), "h"(v[7]), "C"(order::text), "C"(scope::text),
                 "C"(operation::text), "C"(type::text)
                 : "memory");
  }
}

/// Emits the fence before or after an operation that is relaxed itself; `relaxed` needs no fence.
template <thread_scope Scope, memory_order Half>
__device__ inline void half_fence() noexcept {
  if constexpr (Half != memory_order::relaxed) {
    thread_fence<Scope>(memory_order_constant<Half>{});
  }
}

/// Emits `fence.sc` if the operation is sequentially consistent.
template <thread_scope Scope, memory_order Order>
__device__ inline void fence_if_sequentially_consistent() noexcept {
  if constexpr (Order == memory_order::seq_cst) {
    thread_fence<Scope>(seq_cst);
  }
}
/// The order of the instruction itself, which is `Otherwise` after a `fence.sc`.
template <memory_order Order, memory_order Otherwise>
inline constexpr memory_order order_after_fence = Order == memory_order::seq_cst ? Otherwise : Order;

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
