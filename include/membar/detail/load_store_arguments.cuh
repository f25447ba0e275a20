// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The arguments of a load or a store after its pointer and value: the meaning of each, and the opcode that they form.
#pragma once

#include <membar/base/config.hpp>
#include <membar/cache_hint.cuh>
#include <membar/detail/ld_st_instructions.cuh>
#include <membar/detail/standard.hpp>
#include <membar/memory_order.hpp>
#include <membar/thread_scope.hpp>

namespace membar {
inline namespace v0_3 {

/// The type of `mmio`, which is passed in place of an order.
struct mmio_t {
  explicit mmio_t() = default;
};
/// Marks an access to memory-mapped device registers: it is performed exactly once, as written.
///
/// Use: `load<thread_scope::system>(p, mmio)`.
MEMBAR_CONSTANT mmio_t mmio{};

namespace detail {

enum class access_kind { load, store, read_only_load };

/// The kind of an argument that follows the pointer or the value.
enum class says { nothing, order, l1, cache_operator, l2, policy, prefetch };

template <class T>
inline constexpr says said_by = std::is_base_of_v<l2_policy, T> ? says::policy : says::nothing;
template <memory_order Order>
inline constexpr says said_by<memory_order_constant<Order>> = says::order;
template <>
inline constexpr says said_by<mmio_t> = says::order;
template <l1_priority Priority>
inline constexpr says said_by<l1_hint<Priority>> = says::l1;
template <cache_operator Operator>
inline constexpr says said_by<cache_operator_hint<Operator>> = says::cache_operator;
template <l2_priority Priority>
inline constexpr says said_by<l2_hint<Priority>> = says::l2;
template <int Bytes>
inline constexpr says said_by<prefetch_size<Bytes>> = says::prefetch;

template <says What, class... Said>
inline constexpr int times_said = (0 + ... + (said_by<Said> == What ? 1 : 0));

/// Stands in for an argument that the call does not specify.
struct unsaid {};

/// The type of the first argument in `Said` that specifies `What`, or `unsaid`.
template <says What, class... Said>
struct pick {
  using type = unsaid;
};
template <says What, class First, class... Rest>
struct pick<What, First, Rest...> {
  using type = typename std::conditional_t<said_by<First> == What, std::type_identity<First>, pick<What, Rest...>>::type;
};
template <says What, class... Said>
using picked = typename pick<What, Said...>::type;

/// Stands in for the order of an access without one: a weak access, or an access through the read-only path.
struct no_order {};

// clang-format off
struct no_text { static constexpr char text[] = ""; };

template <class Hint> struct hint_text;
template <> struct hint_text<unsaid> : no_text {};
template <> struct hint_text<l1_hint<l1_priority::evict_normal>> { static constexpr char text[] = ".L1::evict_normal"; };
template <> struct hint_text<l1_hint<l1_priority::evict_unchanged>> { static constexpr char text[] = ".L1::evict_unchanged"; };
template <> struct hint_text<l1_hint<l1_priority::evict_first>> { static constexpr char text[] = ".L1::evict_first"; };
template <> struct hint_text<l1_hint<l1_priority::evict_last>> { static constexpr char text[] = ".L1::evict_last"; };
template <> struct hint_text<l1_hint<l1_priority::no_allocate>> { static constexpr char text[] = ".L1::no_allocate"; };
template <> struct hint_text<cache_operator_hint<cache_operator::ca>> { static constexpr char text[] = ".ca"; };
template <> struct hint_text<cache_operator_hint<cache_operator::cg>> { static constexpr char text[] = ".cg"; };
template <> struct hint_text<cache_operator_hint<cache_operator::cs>> { static constexpr char text[] = ".cs"; };
template <> struct hint_text<cache_operator_hint<cache_operator::lu>> { static constexpr char text[] = ".lu"; };
template <> struct hint_text<cache_operator_hint<cache_operator::cv>> { static constexpr char text[] = ".cv"; };
template <> struct hint_text<cache_operator_hint<cache_operator::wb>> { static constexpr char text[] = ".wb"; };
template <> struct hint_text<cache_operator_hint<cache_operator::wt>> { static constexpr char text[] = ".wt"; };
template <> struct hint_text<prefetch_size<64>> { static constexpr char text[] = ".L2::64B"; };
template <> struct hint_text<prefetch_size<128>> { static constexpr char text[] = ".L2::128B"; };
template <> struct hint_text<prefetch_size<256>> { static constexpr char text[] = ".L2::256B"; };
template <l2_priority Priority> struct hint_text<l2_hint<Priority>> : l2_text<Priority> {};

struct weak_text { static constexpr char text[] = ".weak"; };
struct mmio_text { static constexpr char text[] = ".mmio.relaxed.sys"; };
struct global_text { static constexpr char text[] = ".global"; };
struct read_only_text { static constexpr char text[] = ".nc"; };
struct cache_hint_text { static constexpr char text[] = ".L2::cache_hint"; };
// clang-format on

/// `Text` if `Condition` holds; otherwise the empty text.
template <bool Condition, class Text>
using text_if = std::conditional_t<Condition, Text, no_text>;

/// An access's order and scope, as its opcode spells them.
template <class Order, thread_scope Scope>
struct semantics_text : ptx_semantics<Order::value, Scope> {};
template <thread_scope Scope>
struct semantics_text<no_order, Scope> : weak_text {};
template <thread_scope Scope>
struct semantics_text<mmio_t, Scope> : mmio_text {};

/// The opcode between `ld` or `st` and the type. Without a hint the address is generic; hints require global memory.
template <access_kind Kind, class Order, thread_scope Scope, bool Global, class... Said>
using opcode =
    joined<text_if<Kind != access_kind::read_only_load, semantics_text<Order, Scope>>, text_if<Global, global_text>,
           hint_text<picked<says::cache_operator, Said...>>, text_if<Kind == access_kind::read_only_load, read_only_text>,
           hint_text<picked<says::l1, Said...>>, hint_text<picked<says::l2, Said...>>,
           text_if<times_said<says::policy, Said...> != 0, cache_hint_text>, hint_text<picked<says::prefetch, Said...>>>;

}  // namespace detail
}  // namespace v0_3
}  // namespace membar
