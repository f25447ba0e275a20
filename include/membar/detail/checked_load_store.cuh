// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Loads and stores that compile to a single instruction: the valid combinations of orders and hints, and the instruction for
/// each size.
#pragma once

#include <membar/cache_hint.cuh>
#include <membar/detail/ld_st_instructions.cuh>
#include <membar/detail/load_store_arguments.cuh>
#include <membar/detail/standard.hpp>
#include <membar/fence.cuh>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {
namespace detail {

/// Checks that the arguments can be combined. `Order` is `no_order`, `mmio_t` or an order's tag. Returns whether an instruction
/// exists for the type and the arguments, so that callers can avoid further error messages.
template <access_kind Kind, class T, class Order, class... Said>
[[nodiscard]] __device__ constexpr bool check_access() noexcept {
  constexpr bool is_load = Kind != access_kind::store;
  constexpr bool is_mmio = std::is_same_v<Order, mmio_t>;
  constexpr bool is_ordered = !std::is_same_v<Order, no_order>;
  constexpr bool has_operator = times_said<says::cache_operator, Said...> != 0;
  constexpr bool has_hint = ((said_by<Said> != says::order) || ...);
  using given_operator = picked<says::cache_operator, Said...>;

  static_assert(!std::is_volatile_v<T>,
                "membar: a volatile access cannot have an order or a hint: pass a pointer to non-volatile data, and the order "
                "relaxed if the compiler must not remove the access");
  static_assert(is_bytes<T>, "membar: the type of a load or store must be trivially copyable");
  constexpr bool has_size =
      sizeof(T) == 1 || sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16 || sizeof(T) == 32;
  static_assert(has_size, "membar: one instruction can access only 1, 2, 4, 8, 16 or 32 bytes: split other types");
  static_assert(!has_size || alignof(T) >= sizeof(T),
                "membar: a type that one instruction accesses must be aligned to its size: add alignas");
  static_assert(
      ((said_by<Said> != says::nothing) && ...),
      "membar: only these can follow the pointer and the value: an order, an L1 eviction priority, a cache operator, an L2 "
      "policy, an L2 eviction priority or a prefetch size");
  static_assert(times_said<says::l1, Said...> <= 1 && times_said<says::cache_operator, Said...> <= 1 &&
                    times_said<says::l2, Said...> <= 1 && times_said<says::policy, Said...> <= 1 &&
                    times_said<says::prefetch, Said...> <= 1 && times_said<says::order, Said...> <= 1,
                "membar: an access can have at most one order and at most one hint of each kind");
  static_assert(!is_mmio || !has_hint, "membar: an mmio access cannot have a cache hint, because it must not be cached");
  static_assert(!has_operator || !is_ordered,
                "membar: only weak accesses can have a cache operator: for an ordered access, use an L1 eviction priority");
  static_assert(!has_operator || times_said<says::l1, Said...> == 0,
                "membar: a cache operator and an L1 eviction priority cannot be combined: use one of them");
  static_assert(times_said<says::prefetch, Said...> == 0 || is_load, "membar: a store cannot have an L2 prefetch size");
  if constexpr (has_operator) {
    constexpr cache_operator op = given_operator::value;
    static_assert(Kind != access_kind::load || (op != cache_operator::wb && op != cache_operator::wt),
                  "membar: the cache operator of a load must be ca, cg, cs, lu or cv");
    static_assert(Kind != access_kind::store || op == cache_operator::wb || op == cache_operator::cg ||
                      op == cache_operator::cs || op == cache_operator::wt,
                  "membar: the cache operator of a store must be wb, cg, cs or wt");
    static_assert(
        Kind != access_kind::read_only_load || op == cache_operator::ca || op == cache_operator::cg || op == cache_operator::cs,
        "membar: the cache operator of a read-only load must be ca, cg or cs");
  }
  static_assert(!is_ordered || sizeof(T) <= 16,
                "membar: an ordered access can be at most 16 bytes wide: a wider access would be split into several");
  if constexpr (times_said<says::l2, Said...> != 0) {
    static_assert(sizeof(T) == 32,
                  "membar: only 32-byte accesses can name an L2 eviction priority directly: use a cache_policy");
    static_assert(
        picked<says::l2, Said...>::value != l2_priority::evict_unchanged,
        "membar: an L2 eviction priority that an access names directly must be evict_first, evict_last or evict_normal");
  }
#if defined(__CUDA_ARCH__)
  static_assert(sizeof(T) != 32 || is_ordered || __CUDA_ARCH__ >= 1000,
                "membar: a 32-byte access requires compute capability 10.0: compile this code only for sm_100 or newer");
  static_assert(times_said<says::policy, Said...> == 0 || __CUDA_ARCH__ >= 800,
                "membar: an L2 policy requires compute capability 8.0: compile this code only for sm_80 or newer");
  static_assert(
      !std::is_same_v<picked<says::prefetch, Said...>, prefetch_size<256>> || __CUDA_ARCH__ >= 800,
      "membar: a prefetch size of 256 bytes requires compute capability 8.0: compile this code only for sm_80 or newer");
#endif
  constexpr bool has_prefetch_size = [] {
    if constexpr (times_said<says::prefetch, Said...> != 0) {
      constexpr int bytes = picked<says::prefetch, Said...>::value;
      return bytes == 64 || bytes == 128 || bytes == 256;
    }
    return true;
  }();
  return !std::is_volatile_v<T> && is_bytes<T> && has_size && has_prefetch_size;
}

template <class Argument>
__device__ constexpr unsigned long long policy_bits_of(const Argument& argument) noexcept {
  if constexpr (said_by<Argument> == says::policy) {
    return argument.bits();
  } else {
    return 0;
  }
}
template <class... Said>
__device__ constexpr unsigned long long policy_bits(const Said&... said) noexcept {
  return (0ULL | ... | policy_bits_of(said));
}

/// Returns the address in the form that the instruction requires: in the global state space, or generic.
template <bool Global>
__device__ inline std::size_t address_of(const void* address) noexcept {
  if constexpr (Global) {
    return __cvta_generic_to_global(address);
  } else {
    return reinterpret_cast<std::size_t>(address);
  }
}

/// The order of the instruction itself. For seq_cst, a `fence.sc` precedes the instruction, which then has the order
/// `Otherwise`.
template <class Order, memory_order Otherwise>
struct own_order {
  using type = Order;
};
template <memory_order Otherwise>
struct own_order<seq_cst_t, Otherwise> {
  using type = memory_order_constant<Otherwise>;
};

template <access_kind Kind, thread_scope Scope, class Order, class T, class... Said>
__device__ inline T load_with(const T* address, const Said&... said) noexcept {
  constexpr bool there = check_access<Kind, T, Order, Said...>();
  constexpr bool ordered = !std::is_same_v<Order, no_order>;
  constexpr bool global = Kind == access_kind::read_only_load || ((said_by<Said> != says::order) || ...);
  if constexpr (std::is_same_v<Order, seq_cst_t>) {
    thread_fence<Scope>(seq_cst);
  }
  using own = typename own_order<Order, memory_order::acquire>::type;
  if constexpr (there) {
    return bits_as<T>(
        load_registers<opcode<Kind, own, Scope, global, Said...>, times_said<says::policy, Said...> != 0, ordered, sizeof(T)>(
            address_of<global>(address), policy_bits(said...)));
  } else {
    __builtin_unreachable();
  }
}

template <thread_scope Scope, class Order, class T, class... Said>
__device__ inline void store_with(T* address, const std::remove_cv_t<T>& value, const Said&... said) noexcept {
  constexpr bool there = check_access<access_kind::store, T, Order, Said...>();
  constexpr bool ordered = !std::is_same_v<Order, no_order>;
  constexpr bool global = ((said_by<Said> != says::order) || ...);
  if constexpr (std::is_same_v<Order, seq_cst_t>) {
    thread_fence<Scope>(seq_cst);
  }
  using own = typename own_order<Order, memory_order::relaxed>::type;
  if constexpr (there) {
    store_registers<opcode<access_kind::store, own, Scope, global, Said...>, times_said<says::policy, Said...> != 0, ordered,
                    sizeof(T)>(address_of<global>(address), value, policy_bits(said...));
  }
}

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
