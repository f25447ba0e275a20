// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Message passing with a flag in shared memory, with every read-modify-write, whether an instruction or a loop there: on both
/// sides, or as a reduction on the writing side. Source: atomic.cuh, "outside of global memory"; docs/headers/atomic.md, "Where
/// the object is".
#include "shared_memory.cuh"

namespace conformance {
namespace shared_memory_rows {

using enum memory_order;
constexpr auto device = thread_scope::device;
using wide = unsigned long long;

/// The initial value of a flag, before a minimum or a bitwise AND sets it.
template <update_kind Kind>
inline constexpr int before = Kind == update_kind::min       ? 2
                              : Kind == update_kind::bit_and ? 3
                                                             : 0;

/// An action that sets the flag to 1, preceded, where necessary, by the store of another value.
template <update_kind Kind, thread_scope Scope, class T, class Action>
using set_after = after<Action, std::conditional_t<before<Kind> == 0, void, atomic_store<Scope, relaxed, before<Kind>, T>>>;

/// @name Ways to set a flag, and to poll it without a change
/// @{
template <update_kind Kind, class T>
struct by_update {
  template <thread_scope Scope, memory_order Order>
  using set = set_after<Kind, Scope, T, ignored<update<Kind, Scope, Order, 1, T>>>;
  template <thread_scope Scope, memory_order Order>
  using poll = update<Kind, Scope, Order, before<Kind>, T>;
};
template <class T>
struct by_comparison {
  template <thread_scope Scope, memory_order Order>
  using set = compare_exchange<Scope, Order, relaxed, 0, 1, T>;
  template <thread_scope Scope, memory_order Order>
  using poll = compare_exchange<Scope, Order, Order == acq_rel ? acquire : Order, 1, 1, T>;
};
template <class T>
struct by_function {
  template <thread_scope Scope, memory_order Order>
  using set = fetch_update<Scope, Order, 1, T>;
  template <thread_scope Scope, memory_order Order>
  using poll = fetch_update<Scope, Order, 1, T>;
};
/// @}

constexpr memory_order release_side(memory_order order) { return order == acquire ? release : order; }

/// Both threads use `Way`, at `Scope`, with each of `Orders`: `acquire` stands for release and acquire.
template <thread_scope Scope, class Way, memory_order... Orders>
void both_sides(const adding& to) {
  using unordered =
      passed_in_shared_memory<typename Way::template set<Scope, relaxed>, typename Way::template poll<Scope, relaxed>>;
  (holds<passed_in_shared_memory<typename Way::template set<Scope, release_side(Orders)>,
                                 typename Way::template poll<Scope, Orders>>,
         where::cluster_shared, unordered>(to),
   ...);
}

/// The reader names its flag as a variable, so the compiler knows that it is in shared memory.
template <class Way>
void on_own_variable(const adding& to) {
  using set = typename Way::template set<device, release>;
  using unordered_set = typename Way::template set<device, relaxed>;
  holds<passed_in_shared_memory<set, on_variable<typename Way::template poll<device, acquire>>>, where::cluster_shared,
        passed_in_shared_memory<unordered_set, on_variable<typename Way::template poll<device, relaxed>>>>(to);
}

/// A reduction sets the flag, and a load polls it.
template <update_kind Kind, class T>
void by_reduction_of(const adding& to) {
  using set = set_after<Kind, device, T, reduction<Kind, device, release, 1, T>>;
  using unordered_set = set_after<Kind, device, T, reduction<Kind, device, relaxed, 1, T>>;
  holds<passed_in_shared_memory<set, atomic_load<device, acquire, T>>, where::cluster_shared,
        passed_in_shared_memory<unordered_set, atomic_load<device, relaxed, T>>>(to);
}

/// The data is also in the shared memory of the reader's block.
template <class Way>
void with_shared_data(const adding& to) {
  holds<
      passed_in_shared_memory<typename Way::template set<device, release>, typename Way::template poll<device, acquire>, true>,
      where::cluster_shared,
      passed_in_shared_memory<typename Way::template set<device, relaxed>, typename Way::template poll<device, relaxed>, true>>(
      to);
}

void add(suite& all) {
  const adding to{&all, "shared_memory"};
  using enum update_kind;
  const auto everywhere = [&]<class... Ways>() {
    (both_sides<device, Ways, acquire, acq_rel, seq_cst>(to), ...);
    (both_sides<thread_scope::cluster, Ways, acquire>(to), ...);
  };
  everywhere.template
  operator()<by_update<add, float>, by_update<add, double>, by_update<add, __half2>, by_update<add, __nv_bfloat162>,
             by_update<add, unsigned>, by_update<add, wide>, by_update<min, wide>, by_update<max, wide>,
             by_update<bit_and, wide>, by_update<bit_or, wide>, by_update<bit_xor, wide>, by_update<min, double>,
             by_update<max, double>, by_update<exchange, wide>, by_comparison<wide>, by_function<wide>>();

  const auto where_loops_are = [&]<class... Ways>() { (on_own_variable<Ways>(to), ...); };
  where_loops_are.template
  operator()<by_update<add, float>, by_update<add, double>, by_update<add, __half2>, by_update<add, __nv_bfloat162>,
             by_update<add, wide>, by_update<min, wide>, by_update<max, wide>, by_update<bit_and, wide>,
             by_update<bit_or, wide>, by_update<bit_xor, wide>, by_update<min, double>, by_update<max, double>>();

  by_reduction_of<add, float>(to);
  by_reduction_of<add, double>(to);
  by_reduction_of<add, __half2>(to);
  by_reduction_of<add, __nv_bfloat162>(to);
  by_reduction_of<add, unsigned>(to);
  by_reduction_of<add, wide>(to);
  by_reduction_of<min, wide>(to);
  by_reduction_of<max, wide>(to);
  by_reduction_of<bit_and, wide>(to);
  by_reduction_of<bit_or, wide>(to);
  by_reduction_of<bit_xor, wide>(to);
  by_reduction_of<min, double>(to);
  by_reduction_of<max, double>(to);

  with_shared_data<by_update<add, wide>>(to);
  with_shared_data<by_update<add, double>>(to);
  with_shared_data<by_update<exchange, wide>>(to);
}

const registered_family here("shared_memory", &add);

}  // namespace shared_memory_rows
}  // namespace conformance
