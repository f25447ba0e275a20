// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Guarantees beyond message passing, at one scope: sequential consistency, cumulativity, coherence.
/// Source: memory_order.hpp, fence.cuh ("All `seq_cst` fences in scope also have a single order", "cumulative"), atomic.cuh.
#pragma once

#include "message_passing.cuh"

namespace conformance {

template <thread_scope Scope>
void add_sequential_consistency(const adding& to) {
  using enum memory_order;
  using set = atomic_store<Scope, relaxed>;
  using set_2 = atomic_store<Scope, relaxed, 2>;
  using look = atomic_load<Scope, relaxed>;
  using strict_fence = fence<Scope, seq_cst>;
  using lighter_fence = fence<Scope, acq_rel>;

  // Store buffering with fences, with the loads and stores of atomic.cuh and of load_store.cuh, and with read-modify-writes.
  holds_within<Scope, store_buffering<both<set, strict_fence>, look>, store_buffering<both<set, lighter_fence>, look>,
               store_buffering<set, look>>(to);
  holds_within<Scope, store_buffering<atomic_store<Scope, seq_cst>, atomic_load<Scope, seq_cst>>,
               store_buffering<atomic_store<Scope, release>, atomic_load<Scope, acquire>>>(to);
  holds_within<Scope, store_buffering<ordered_store<Scope, seq_cst>, ordered_load<Scope, seq_cst>>,
               store_buffering<ordered_store<Scope, release>, ordered_load<Scope, acquire>>>(to);
  holds_within<Scope, store_buffering<by_exchange<Scope, seq_cst>, atomic_load<Scope, seq_cst>>,
               store_buffering<by_exchange<Scope, acq_rel>, atomic_load<Scope, acquire>>>(to);
  holds_within<Scope, store_buffering<by_add<Scope, seq_cst>, atomic_load<Scope, seq_cst>>,
               store_buffering<by_add<Scope, acq_rel>, atomic_load<Scope, acquire>>>(to);
  holds_within<Scope, store_buffering<by_compare_exchange<Scope, seq_cst>, atomic_load<Scope, seq_cst>>,
               store_buffering<by_compare_exchange<Scope, acq_rel>, atomic_load<Scope, acquire>>>(to);
  holds_within<Scope, store_buffering<fetch_update<Scope, seq_cst>, atomic_load<Scope, seq_cst>>,
               store_buffering<fetch_update<Scope, acq_rel>, atomic_load<Scope, acquire>>>(to);
  holds_within<Scope, store_buffering<atomic_store<Scope, seq_cst>, by_adding_nothing<Scope, seq_cst>>,
               store_buffering<atomic_store<Scope, release>, by_adding_nothing<Scope, acquire>>>(to);

  // Readers agree on the order of independent writes.
  holds_within<Scope, independent_reads<set, both<look, strict_fence>, look>,
               independent_reads<set, both<look, lighter_fence>, look>, independent_reads<set, look, look>>(to);
  holds_within<Scope, independent_reads<set, atomic_load<Scope, seq_cst>, atomic_load<Scope, seq_cst>>,
               independent_reads<set, atomic_load<Scope, acquire>, atomic_load<Scope, acquire>>>(to);
  holds_within<Scope, independent_reads<set, ordered_load<Scope, seq_cst>, ordered_load<Scope, seq_cst>>,
               independent_reads<set, ordered_load<Scope, acquire>, ordered_load<Scope, acquire>>>(to);

  holds_within<Scope, read_to_write_causality<set, look, strict_fence>, read_to_write_causality<set, look, lighter_fence>>(to);
  holds_within<Scope, store_against_load<both<set, strict_fence>, set, both<set_2, strict_fence>, look>,
               store_against_load<both<set, lighter_fence>, set, both<set_2, lighter_fence>, look>,
               store_against_load<set, set, set_2, look>>(to);
  holds_within<Scope, opposite_writes<both<set, strict_fence>, set_2>, opposite_writes<both<set, lighter_fence>, set_2>,
               opposite_writes<set, set_2>>(to);
}

template <thread_scope Scope>
void add_causality(const adding& to) {
  using enum memory_order;
  using set = atomic_store<Scope, relaxed>;
  using look = atomic_load<Scope, relaxed>;
  using say = atomic_store<Scope, release>;
  using hear = atomic_load<Scope, acquire>;

  holds_within<Scope, write_to_read_causality<set, look, say, hear>, write_to_read_causality<set, look, set, look>>(to);
  holds_within<Scope, write_to_read_causality<set, look, fence_before_store<Scope, release>, fence_after_load<Scope, acquire>>,
               write_to_read_causality<set, look, set, look>>(to);
  holds_within<Scope, write_to_read_causality<set, look, ordered_store<Scope, release>, ordered_load<Scope, acquire>>,
               write_to_read_causality<set, look, set, look>>(to);
  holds_within<Scope, two_hops<say, hear, say, hear>, two_hops<set, look, set, look>, two_hops<set, look, say, hear>>(to);
  holds_within<Scope, release_sequence<say, by_add<Scope, relaxed>, hear>, release_sequence<set, by_add<Scope, relaxed>, look>>(
      to);

  holds_within<Scope, store_after_flag<say, hear>, store_after_flag<set, look>>(to);
  holds_within<Scope, load_buffering<hear, say>, load_buffering<look, set>>(to);
  holds_within<Scope, load_buffering<fence_after_load<Scope, acq_rel>, set>, load_buffering<look, set>>(to);
}

template <thread_scope Scope>
void add_coherence(const adding& to) {
  using enum memory_order;
  using weak = coherent_reads<store_weak<>, load_weak<>>;
  holds_within<Scope, coherent_reads<atomic_store<Scope, relaxed>, atomic_load<Scope, relaxed>>, weak>(to);
  holds_within<Scope, coherent_reads<ordered_store<Scope, relaxed>, ordered_load<Scope, relaxed>>, weak>(to);
  if constexpr (Scope == thread_scope::system) {
    holds_within<Scope, coherent_reads<store_mmio<>, load_mmio>, weak>(to);
    // volatile does not order anything: an old value, which a release and an acquire would forbid, is allowed. Coherence of
    // volatile reads is not tested, because a compiler may reorder two of them.
    holds<message_passing<atomic_store<Scope, release>, atomic_load<Scope, acquire>>, where::one_device,
          message_passing<store_volatile<>, load_volatile>, message_passing<store_mmio<>, load_mmio>>(to);
  }
}

template <thread_scope Scope>
void add_ordering(suite& all) {
  add_sequential_consistency<Scope>({&all, "sequential_consistency"});
  add_causality<Scope>({&all, "causality"});
  add_coherence<Scope>({&all, "coherence"});
}

}  // namespace conformance
