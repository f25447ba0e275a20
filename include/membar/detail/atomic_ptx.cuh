// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Atomic instructions that membar emits itself, for what `cuda::atomic_ref` lacks.
#pragma once

#include <membar/detail/config.hpp>
#include <membar/detail/ptx.cuh>
#include <membar/fence.cuh>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

#include <type_traits>

namespace membar::detail {

#if defined(__CUDA_ARCH__)
inline constexpr bool compiling_for_device = true;
#else
inline constexpr bool compiling_for_device = false;
#endif

/// The order of a compare-and-swap that is as strong as both of its outcomes ask for.
template <memory_order Success, memory_order Failure>
inline constexpr memory_order covering_order = [] {
  if (Success == memory_order::seq_cst || Failure == memory_order::seq_cst) {
    return memory_order::seq_cst;
  }
  if (Failure == memory_order::acquire) {
    const bool releases = Success == memory_order::release || Success == memory_order::acq_rel;
    return releases ? memory_order::acq_rel : memory_order::acquire;
  }
  return Success;
}();

/// Sequential consistency is a `fence.sc` before the instruction; this is the order that the instruction itself then has.
template <memory_order Order>
__device__ constexpr memory_order order_after_fence(memory_order otherwise) noexcept {
  return Order == memory_order::seq_cst ? otherwise : Order;
}

template <thread_scope Scope, memory_order Order>
__device__ inline void fence_if_sequentially_consistent() noexcept {
  if constexpr (Order == memory_order::seq_cst) {
    thread_fence<Scope>(seq_cst);
  }
}

template <class T>
MEMBAR_HOST_DEVICE constexpr T negated(T value) noexcept {
  using unsigned_type = std::make_unsigned_t<T>;
  return static_cast<T>(unsigned_type{0} - static_cast<unsigned_type>(value));
}

enum class atom_op { exchange, add, bitwise_and, bitwise_or, bitwise_xor, min, max };

/// The operation and the type as `atom` spells them: untyped bits where the sign does not matter to the result, except that
/// addition takes .u64 for both signs.
template <atom_op Op, bool Signed, int Bytes>
struct ptx_atom;
template <bool Signed>
struct ptx_atom<atom_op::exchange, Signed, 4> {
  static constexpr char text[] = "exch.b32";
};
template <bool Signed>
struct ptx_atom<atom_op::exchange, Signed, 8> {
  static constexpr char text[] = "exch.b64";
};
template <>
struct ptx_atom<atom_op::add, true, 4> {
  static constexpr char text[] = "add.s32";
};
template <>
struct ptx_atom<atom_op::add, false, 4> {
  static constexpr char text[] = "add.u32";
};
template <bool Signed>
struct ptx_atom<atom_op::add, Signed, 8> {
  static constexpr char text[] = "add.u64";
};
template <bool Signed>
struct ptx_atom<atom_op::bitwise_and, Signed, 4> {
  static constexpr char text[] = "and.b32";
};
template <bool Signed>
struct ptx_atom<atom_op::bitwise_and, Signed, 8> {
  static constexpr char text[] = "and.b64";
};
template <bool Signed>
struct ptx_atom<atom_op::bitwise_or, Signed, 4> {
  static constexpr char text[] = "or.b32";
};
template <bool Signed>
struct ptx_atom<atom_op::bitwise_or, Signed, 8> {
  static constexpr char text[] = "or.b64";
};
template <bool Signed>
struct ptx_atom<atom_op::bitwise_xor, Signed, 4> {
  static constexpr char text[] = "xor.b32";
};
template <bool Signed>
struct ptx_atom<atom_op::bitwise_xor, Signed, 8> {
  static constexpr char text[] = "xor.b64";
};
template <>
struct ptx_atom<atom_op::min, true, 4> {
  static constexpr char text[] = "min.s32";
};
template <>
struct ptx_atom<atom_op::min, false, 4> {
  static constexpr char text[] = "min.u32";
};
template <>
struct ptx_atom<atom_op::min, true, 8> {
  static constexpr char text[] = "min.s64";
};
template <>
struct ptx_atom<atom_op::min, false, 8> {
  static constexpr char text[] = "min.u64";
};
template <>
struct ptx_atom<atom_op::max, true, 4> {
  static constexpr char text[] = "max.s32";
};
template <>
struct ptx_atom<atom_op::max, false, 4> {
  static constexpr char text[] = "max.u32";
};
template <>
struct ptx_atom<atom_op::max, true, 8> {
  static constexpr char text[] = "max.s64";
};
template <>
struct ptx_atom<atom_op::max, false, 8> {
  static constexpr char text[] = "max.u64";
};

template <class T, thread_scope Scope, memory_order Order>
__device__ inline T ptx_load(const T* address) noexcept {
  require_architecture_of<Scope>();
  fence_if_sequentially_consistent<Scope, Order>();
  using order = ptx_order<order_after_fence<Order>(memory_order::acquire)>;
  T value;
  // ld.sem.scope.type d, [a];  sem: relaxed, acquire (PTX ISA 6.0, sm_70); scope: cluster (7.8, sm_90)
  if constexpr (sizeof(T) == 4) {
    asm volatile("ld.%2.%3.b32 %0, [%1];"
                 : "=r"(value)
                 : "l"(address), "C"(order::text), "C"(ptx_scope<Scope>::text)
                 : "memory");
  } else {
    asm volatile("ld.%2.%3.b64 %0, [%1];"
                 : "=l"(value)
                 : "l"(address), "C"(order::text), "C"(ptx_scope<Scope>::text)
                 : "memory");
  }
  return value;
}

template <class T, thread_scope Scope, memory_order Order>
__device__ inline void ptx_store(T* address, T value) noexcept {
  require_architecture_of<Scope>();
  fence_if_sequentially_consistent<Scope, Order>();
  using order = ptx_order<order_after_fence<Order>(memory_order::relaxed)>;
  // st.sem.scope.type [a], b;  sem: relaxed, release (PTX ISA 6.0, sm_70); scope: cluster (7.8, sm_90)
  if constexpr (sizeof(T) == 4) {
    asm volatile("st.%2.%3.b32 [%0], %1;" ::"l"(address), "r"(value), "C"(order::text), "C"(ptx_scope<Scope>::text) : "memory");
  } else {
    asm volatile("st.%2.%3.b64 [%0], %1;" ::"l"(address), "l"(value), "C"(order::text), "C"(ptx_scope<Scope>::text) : "memory");
  }
}

template <atom_op Op, class T, thread_scope Scope, memory_order Order>
__device__ inline T ptx_fetch(T* address, T value) noexcept {
  require_architecture_of<Scope>();
  fence_if_sequentially_consistent<Scope, Order>();
  using order = ptx_order<order_after_fence<Order>(memory_order::acquire)>;
  using operation = ptx_atom<Op, std::is_signed_v<T>, sizeof(T)>;
  T old;
  // atom.sem.scope.op.type d, [a], b;  sem: relaxed, acquire, release, acq_rel (PTX ISA 6.0, sm_70); scope: cluster (7.8,
  // sm_90)
  if constexpr (sizeof(T) == 4) {
    asm volatile("atom.%3.%4.%5 %0, [%1], %2;"
                 : "=r"(old)
                 : "l"(address), "r"(value), "C"(order::text), "C"(ptx_scope<Scope>::text), "C"(operation::text)
                 : "memory");
  } else {
    asm volatile("atom.%3.%4.%5 %0, [%1], %2;"
                 : "=l"(old)
                 : "l"(address), "l"(value), "C"(order::text), "C"(ptx_scope<Scope>::text), "C"(operation::text)
                 : "memory");
  }
  return old;
}

template <class T, thread_scope Scope, memory_order Order>
__device__ inline bool ptx_compare_exchange(T* address, T& expected, T desired) noexcept {
  require_architecture_of<Scope>();
  fence_if_sequentially_consistent<Scope, Order>();
  using order = ptx_order<order_after_fence<Order>(memory_order::acquire)>;
  T old;
  // atom.sem.scope.cas.type d, [a], b, c;  sem: relaxed, acquire, release, acq_rel (PTX ISA 6.0, sm_70); scope: cluster (7.8,
  // sm_90)
  if constexpr (sizeof(T) == 4) {
    asm volatile("atom.%4.%5.cas.b32 %0, [%1], %2, %3;"
                 : "=r"(old)
                 : "l"(address), "r"(expected), "r"(desired), "C"(order::text), "C"(ptx_scope<Scope>::text)
                 : "memory");
  } else {
    asm volatile("atom.%4.%5.cas.b64 %0, [%1], %2, %3;"
                 : "=l"(old)
                 : "l"(address), "l"(expected), "l"(desired), "C"(order::text), "C"(ptx_scope<Scope>::text)
                 : "memory");
  }
  const bool exchanged = old == expected;
  expected = old;
  return exchanged;
}

}  // namespace membar::detail
