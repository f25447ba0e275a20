// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tests all ways to release and all ways to acquire, at one scope: a thread that sees the flag must also see the data that was
/// written before the flag. Source: atomic.cuh, fence.cuh, load_store.cuh, "Synchronizes".
#pragma once

#include "holds.cuh"

namespace conformance {

/// @name Ways to set or to read a flag
/// @{
template <thread_scope Scope, memory_order Order>
using by_exchange = update<update_kind::exchange, Scope, Order, 1>;
template <thread_scope Scope, memory_order Order>
using by_exchange_back = update<update_kind::exchange, Scope, Order, 0>;
template <thread_scope Scope, memory_order Order>
using by_add = update<update_kind::add, Scope, Order, 1>;
template <thread_scope Scope, memory_order Order>
using by_adding_nothing = update<update_kind::add, Scope, Order, 0>;
template <thread_scope Scope, memory_order Order>
using by_compare_exchange = compare_exchange<Scope, Order, memory_order::relaxed, 0, 1>;
template <thread_scope Scope, memory_order Order>
using by_comparing = compare_exchange<Scope, Order, memory_order::relaxed, 1, 1>;
/// A compare-and-swap that fails, with the failure order.
template <thread_scope Scope, memory_order Order>
using by_failing = compare_exchange<Scope, memory_order::relaxed, Order, 2, 2>;
template <thread_scope Scope, memory_order Order>
using by_reduction = reduction<update_kind::add, Scope, Order>;
template <thread_scope Scope, memory_order Order>
using by_aggregating_nothing = aggregated_fetch_add<Scope, Order, 0>;

/// A fence and a relaxed store; for `relaxed`, only the store.
template <thread_scope Scope, memory_order Order>
struct fence_before_store : both<fence<Scope, Order>, atomic_store<Scope, memory_order::relaxed>> {};
template <thread_scope Scope>
struct fence_before_store<Scope, memory_order::relaxed> : atomic_store<Scope, memory_order::relaxed> {};
/// A relaxed load and a fence; for `relaxed`, only the load.
template <thread_scope Scope, memory_order Order>
struct fence_after_load : both<atomic_load<Scope, memory_order::relaxed>, fence<Scope, Order>> {};
template <thread_scope Scope>
struct fence_after_load<Scope, memory_order::relaxed> : atomic_load<Scope, memory_order::relaxed> {};
/// @}

/// `Way` releases with each of these orders. One control has no order in either thread; the other has no order in the releasing
/// thread.
template <thread_scope Scope, template <thread_scope, memory_order> class Way, memory_order... Orders>
void releases(const adding& to) {
  using acquire = atomic_load<Scope, memory_order::acquire>;
  using look = atomic_load<Scope, memory_order::relaxed>;
  using set = Way<Scope, memory_order::relaxed>;
  (holds_within<Scope, message_passing<Way<Scope, Orders>, acquire>, message_passing<set, look>, message_passing<set, acquire>>(
       to),
   ...);
}

/// `Way` acquires with each of these orders. One control has no order in either thread; the other has no order in the acquiring
/// thread. A wait has no control beyond its scope, because a wait need not end there.
template <thread_scope Scope, template <thread_scope, memory_order> class Way, memory_order... Orders>
void acquires(const adding& to) {
  using release = atomic_store<Scope, memory_order::release>;
  using set = atomic_store<Scope, memory_order::relaxed>;
  using look = Way<Scope, memory_order::relaxed>;
  constexpr bool waits = std::is_same_v<look, atomic_wait<Scope, memory_order::relaxed>>;
  const auto row = [&]<class... Tests>() {
    if constexpr (waits) {
      holds_inside<Scope, Tests...>(to);
    } else {
      holds_within<Scope, Tests...>(to);
    }
  };
  (row.template
   operator()<message_passing<release, Way<Scope, Orders>>, message_passing<set, look>, message_passing<release, look>>(),
   ...);
}

template <thread_scope Scope>
void add_message_passing(suite& all) {
  using enum memory_order;
  const adding to{&all, "message_passing"};
  releases<Scope, atomic_store, release, seq_cst>(to);
  releases<Scope, ordered_store, release, seq_cst>(to);
  releases<Scope, by_exchange, release, acq_rel, seq_cst>(to);
  releases<Scope, by_add, release, acq_rel, seq_cst>(to);
  releases<Scope, by_compare_exchange, release, acq_rel, seq_cst>(to);
  releases<Scope, by_reduction, release>(to);
  releases<Scope, fetch_update, release, acq_rel, seq_cst>(to);
  releases<Scope, fence_before_store, release, acq_rel, seq_cst>(to);
  releases<Scope, aggregated_fetch_add, release, acq_rel, seq_cst>(to);
  releases<Scope, aggregated_add, release>(to);

  acquires<Scope, atomic_load, acquire, seq_cst>(to);
  acquires<Scope, ordered_load, acquire, seq_cst>(to);
  acquires<Scope, by_exchange_back, acquire, acq_rel, seq_cst>(to);
  acquires<Scope, by_adding_nothing, acquire, acq_rel, seq_cst>(to);
  acquires<Scope, by_comparing, acquire, acq_rel, seq_cst>(to);
  acquires<Scope, by_failing, acquire, seq_cst>(to);
  acquires<Scope, atomic_wait, acquire, seq_cst>(to);
  acquires<Scope, fetch_update, acquire, acq_rel, seq_cst>(to);
  acquires<Scope, fence_after_load, acquire, acq_rel, seq_cst>(to);
  acquires<Scope, by_aggregating_nothing, acquire, acq_rel, seq_cst>(to);
}

}  // namespace conformance
