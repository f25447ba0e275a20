// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The relations that follow from one choice of reads-from: observation, synchronizes-with, base causality and causality. There
/// is one function for each definition in the PTX ISA's chapter "Memory Consistency Model".
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/morally_strong.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>

#include <array>
#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

/// The relations that follow from one choice of reads-from, barrier groups, Fence-SC order and coherence.
struct candidate {
  std::array<int, max_events> source{};  ///< the write from which a read takes its value
  relation observation;                  ///< write -> read
  relation sync;                         ///< the synchronizes-with edges of release and acquire patterns
  relation barrier_sync;                 ///< the synchronizes-with edges of barriers
  event_set uninitialized = 0;           ///< operations on mbarriers that are used before their initialization
  relation fence_sc;                     ///< the Fence-SC order, as the pairs chosen so far
  relation base;                         ///< base causality, transitive
  relation reached;                      ///< base causality, extended by the predecessors of the asynchronous operations'
                                         ///< accesses
  relation cause;                        ///< causality, between memory operations
  relation coherence;                    ///< transitive; the initial write is first
};

/// obs = (ms ∩ rf) ∪ (obs ; rmw ; obs), for the reads whose source has been chosen. Source: PTX ISA, "Observation order".
template <class Rules>
constexpr void observe(candidate& c, const Rules& rules, const event_structure& f, std::span<const event> events,
                       event_set reads) noexcept {
  for (event_set w = f.writes; w != 0; w = rest(w)) {
    c.observation[first(w)] = 0;
  }
  for (event_set s = reads; s != 0; s = rest(s)) {
    const int read = first(s);
    const int write = at(c.source, read);
    if (f.morally_strong.holds(write, read) || !rules.holds(rule::observation_is_morally_strong)) {
      c.observation.add(write, read);
    }
  }
  if (!rules.holds(rule::observation_through_updates)) {
    return;
  }
  for (event_set w = f.writes; w != 0; w = rest(w)) {
    const int write = first(w);
    event_set seen = c.observation[write];
    for (event_set next = seen; next != 0;) {
      const int partner = at(events, first(next)).partner;
      next = rest(next);
      if (partner >= 0) {
        const event_set more = c.observation[partner] & ~seen;
        seen |= more;
        next |= more;
      }
    }
    c.observation[write] = seen;
  }
}

/// Returns whether the scopes of two events include each other's thread.
template <class Rules>
[[nodiscard]] constexpr bool mutually_included(const Rules& rules, const program_view& program, const event& x,
                                               const event& y) {
  const place& here = program.threads[x.thread].where;
  const place& there = program.threads[y.thread].where;
  return includes(rules, x.scope, here, there) && includes(rules, y.scope, there, here);
}

/// Adds synchronizes-with edges, for fences that release only some accesses, to `c.sync` but not to base causality.
template <class Rules>
constexpr void synchronize_restricted(candidate& c, const Rules& rules, const program_view& program, const event_structure& f,
                                      std::span<const event> events) noexcept {
  for (event_set s = f.initialization_fences | f.one_way_releases; s != 0; s = rest(s)) {
    const int release = first(s);
    const bool one_way = contains(f.one_way_releases, release);
    c.sync[release] = 0;
    if (one_way && !rules.holds(rule::one_way_proxy_fences_synchronize)) {
      continue;
    }
    const event_set seen = c.observation.image(f.release_pattern[release]);
    for (event_set e = (one_way ? f.one_way_acquire : f.acquire_pattern).image(seen); e != 0; e = rest(e)) {
      if (mutually_included(rules, program, at(events, release), at(events, first(e)))) {
        c.sync.add(release, first(e));
      }
    }
  }
}

/// Computes sync = ms ∩ (release-pattern ; obs ; acquire-pattern) and adds it to base causality; `base` is the part of base
/// causality that is known so far. Source: PTX ISA, "Synchronizes-with".
template <class Rules>
constexpr void synchronize(candidate& c, const Rules& rules, const program_view& program, const event_structure& f,
                           std::span<const event> events, const relation& base) noexcept {
  synchronize_restricted(c, rules, program, f, events);
  for (int i = 0; i < f.count; ++i) {
    c.base[i] = base[i];
  }
  if (!rules.holds(rule::release_acquire_synchronizes)) {
    return;
  }
  for (event_set s = f.release_starts; s != 0; s = rest(s)) {
    const int release = first(s);
    event_set ends = f.acquire_pattern.image(c.observation.image(f.release_pattern[release]));
    if (rules.holds(rule::ends_are_morally_strong)) {
      ends &= f.morally_strong[release];
    }
    c.sync[release] = ends & ~only(release);
    for (event_set e = c.sync[release]; e != 0; e = rest(e)) {
      if (!c.base.holds(release, first(e))) {
        c.base.add_closed(f.count, release, first(e));
      }
    }
  }
}

/// Adds to base causality the predecessors of asynchronous operations' accesses: the predecessors of the instructions that
/// start these operations. These steps are not transitive, because a completion is ordered only with the accesses of its own
/// operation. Source: PTX ISA, "Asynchronous Operations".
[[nodiscard]] constexpr const relation& reach_asynchronous(candidate& c, const event_structure& f) noexcept {
  if (f.asynchronous == 0) {
    return c.base;
  }
  for (int i = 0; i < f.count; ++i) {
    c.reached[i] = c.base[i] | f.issued.image(c.base[i]);
  }
  return c.reached;
}

/// Returns the accesses that access `x` precedes through two one-directional proxy fences: one in `left` that releases `x`, and
/// one in the later access's block that acquires for that access. The first fence synchronizes with the second, or precedes it
/// in base causality. Source: PTX ISA, "membar/fence".
template <class Rules>
[[nodiscard]] constexpr event_set one_way_entry(const candidate& c, const Rules& rules, const program_view& program,
                                                const event_structure& f, std::span<const event> events, const relation& base,
                                                event_set left, int x) {
  event_set result = 0;
  for (event_set s = rules.holds(rule::one_way_proxy_fences_order) ? left & f.one_way_releases : 0; s != 0; s = rest(s)) {
    const event& release = at(events, first(s));
    event known = at(events, x);  // the access as the other proxy sees it
    known.via = release.via;
    if (!joins(rules, program, release, known)) {
      continue;
    }
    for (event_set a = f.one_way_acquires & (base[first(s)] | c.sync[first(s)] | c.barrier_sync[first(s)]); a != 0;
         a = rest(a)) {
      const event& acquire = at(events, first(a));
      if (acquire.via == release.via && mutually_included(rules, program, release, acquire)) {
        result |= base[first(a)] & f.after_fence[first(a)];
      }
    }
  }
  // the end of a kernel releases tensor maps, and kernels that start after it acquire them
  for (event_set a = rules.holds(rule::one_way_proxy_fences_order) ? f.one_way_acquires : 0; a != 0; a = rest(a)) {
    event_set ends = (left | only(x)) & f.boundary_before[first(a)];
    for (event_set g = left; g != 0; g = rest(g)) {
      ends |= at(events, first(g)).kind == event_kind::grid_wait && base.holds(first(g), first(a)) ? only(first(g)) : 0;
    }
    if (ends != 0 && at(events, first(a)).via == proxy::tensor_map) {
      result |= base[first(a)] & f.after_fence[first(a)];
    }
  }
  return result;
}

/// Returns whether the initialization of an mbarrier precedes an operation on it, either in base causality or through a fence
/// for initializations. Source: PTX ISA, "membar/fence", `.mbarrier_init`.
template <class Rules>
[[nodiscard]] constexpr bool is_initialized_before(const candidate& c, const Rules& rules, const event_structure& f,
                                                   std::span<const event> events, int operation) {
  const event& e = at(events, operation);
  const int start = e.issue < 0 ? operation : e.issue;
  event_set after = 0;  // the events that follow the initialization
  for (event_set s = f.initializations; s != 0; s = rest(s)) {
    if (at(events, first(s)).location == e.location) {
      after = c.base[first(s)];
      for (event_set r = f.po[first(s)] & f.initialization_fences; r != 0; r = rest(r)) {
        after |= c.base.image(c.sync[first(r)] | c.barrier_sync[first(r)]);
      }
    }
  }
  if (e.issue < 0 || rules.holds(rule::completion_needs_no_proxy_fence_after_initialization)) {
    return contains(after, start);
  }
  for (event_set s = after & (f.proxy_fences | f.one_way_acquires); s != 0; s = rest(s)) {
    const event& fence = at(events, first(s));
    if (fence.via == proxy::async && fence.space != state_space::global && fence.thread == e.thread &&
        c.base.holds(first(s), start)) {
      return true;
    }
  }
  return false;
}

/// Returns whether every mbarrier whose operations are in `c.uninitialized` is used before its initialization in this
/// candidate.
template <class Rules>
[[nodiscard]] constexpr bool uses_are_early(const candidate& c, const Rules& rules, const event_structure& f,
                                            std::span<const event> events) {
  for (event_set left = c.uninitialized; left != 0;) {
    event_set same = 0;
    bool early = false;
    for (event_set s = left; s != 0; s = rest(s)) {
      if (at(events, first(s)).location == at(events, first(left)).location) {
        same |= only(first(s));
        early = early || !is_initialized_before(c, rules, f, events, first(s));
      }
    }
    if (!early) {
      return false;
    }
    left &= ~same;
  }
  return true;
}

/// cause = ppcb ∪ obs ; ppcb, where ppcb (proxy-preserved base causality) is base causality between accesses with the proxy
/// fences that their proxies require. Source: PTX ISA, "Causality order", "Proxy-preserved base causality order".
template <class Rules>
constexpr void relate_causes(candidate& c, const Rules& rules, const program_view& program, const event_structure& f,
                             std::span<const event> events) noexcept {
  const relation& base = reach_asynchronous(c, f);
  // generic accesses, and accesses through another proxy after a fence of that proxy in their block
  const auto through_entry = [&](event_set reached) {
    event_set result = reached & f.generic_memory;
    if (rules.holds(rule::proxy_fence_before_the_destination)) {
      for (event_set s = reached & f.proxy_fences; s != 0; s = rest(s)) {
        result |= precedes_alone(rules, at(events, first(s))) ? base[first(s)] & f.after_fence[first(s)] : 0;
      }
    }
    return result;
  };
  // a kernel boundary joins all proxies, but no fence applies to the read-only path
  const auto boundary_entry = [&](event_set reached) {
    event_set result = 0;
    const event_set joined = (rules.holds(rule::kernel_boundary_joins_the_read_only_path) ? f.read_only : 0) |
                             (!rules.holds(rule::kernel_boundary_joins_the_async_proxy) ? 0
                              : maps_are_acquired_at_start(rules, program)              ? f.async_proxy | f.map_reads
                                                                                        : f.async_proxy);
    for (event_set s = joined; s != 0; s = rest(s)) {
      result |= (reached & f.boundary_before[first(s)]) != 0 ? only(first(s)) : 0;
    }
    return result;
  };
  for (event_set m = f.memory & ~f.initial; m != 0; m = rest(m)) {
    const int x = first(m);
    if (f.one_address_each || !rules.holds(rule::proxies_are_apart)) {
      c.cause[x] = base[x] & f.same_address[x];
      continue;
    }
    // the path from the source starts in its own proxy: directly if the proxy is generic, otherwise at a fence of that proxy in
    // its block
    const bool generic = at(events, x).via == proxy::generic;
    event_set left = 0;
    if (generic) {
      left = base[x];
    } else if (contains(f.read_only, x)) {
      if (rules.holds(rule::kernel_boundary_joins_the_read_only_path)) {
        left = f.boundary_after[x] | base.image(f.boundary_after[x]);
      }
    } else if (contains(f.async_proxy, x) && rules.holds(rule::completion_is_a_proxy_fence)) {
      left = base[x];  // every edge from an asynchronous operation leads to its completion or to the end of its grid
    } else if (contains(f.map_reads, x) && rules.holds(rule::completion_ends_the_reading_of_a_tensor_map)) {
      left = base[x];
    } else if (rules.holds(rule::proxy_fence_after_the_source)) {
      left = base.image(base[x] & f.before_fence[x]);
    }
    event_set direct = through_entry(left) | boundary_entry(left | (generic || contains(f.async_proxy, x) ? only(x) : 0));
    direct |= one_way_entry(c, rules, program, f, events, base, left, x);
    if (generic && !rules.holds(rule::generic_accesses)) {
      direct &= ~f.generic_memory;
    }
    if (rules.holds(rule::same_proxy_in_one_block)) {
      direct |= base[x] & f.same_proxy_block[x] & ~(generic ? f.generic_memory : 0);
    }
    const event_set aliased = through_entry(base.image(left & f.alias_fences));
    c.cause[x] = (direct & f.same_address[x]) | (aliased & f.overlap[x]);
    if (const event& e = at(events, x); e.issue >= 0 && rules.takes(reading::group_wait_for_one_thread) &&
                                        at(program.threads[e.thread].code, e.instruction).barrier_at < 0) {
      for (event_set s = c.cause[x]; s != 0; s = rest(s)) {
        c.cause[x] &= at(events, first(s)).thread == e.thread ? ~event_set{0} : ~only(first(s));
      }
    }
  }
  for (event_set s = f.initial; s != 0; s = rest(s)) {
    c.cause[first(s)] = 0;
  }
  if (rules.holds(rule::observation_precedes)) {
    // obs ; ppcb: sources are writes, and the rows of reads still contain only ppcb
    for (event_set w = f.writes; w != 0; w = rest(w)) {
      const event_set after = c.cause.image(c.observation[first(w)]);
      c.cause[first(w)] |= after;
      if (const int read = at(events, first(w)).partner; read >= 0 && rules.takes(reading::whole_updates_are_observed)) {
        c.cause[read] |= after;
      }
    }
  }
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
