// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The rules of the PTX memory consistency model, one function per definition, in the order of the ISA's chapter.
///
/// `frame` holds what the instructions alone decide; `candidate` holds what follows from one choice of reads-from, barrier
/// groups, Fence-SC order and coherence. Sets of events are words and relations are rows of words, so a definition such as
/// `[strong R] ; po ; [F.acquire]` is one line: the row of a read is `po[read] & acquiring fences`.
///
/// Sources: PTX ISA, "Memory Consistency Model"; Lustig et al., ASPLOS 2019 and ISCA 2022; CUDA C++ Programming Guide,
/// "Memory Synchronization Domains". Where they leave room, docs/model.md says which reading this file takes.
#pragma once

#include <membar/model/execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>

#include <cstdint>
#include <span>

namespace membar::model {

/// The rules by name, so that an explanation can say which one an outcome breaks.
enum class rule : std::uint8_t {
  // scope inclusion
  block_scope_is_the_block,
  cluster_scope_is_the_cluster,
  device_scope_is_the_device,
  device_scope_is_the_domain,
  host_is_in_system_scope_only,
  inclusion_is_mutual,
  // morally strong
  weak_is_not_strong,
  program_order_is_morally_strong,
  same_proxy,
  complete_overlap,
  // observation
  observation_is_morally_strong,
  observation_through_updates,
  // patterns and synchronizes-with
  release_write,
  release_write_then_write,
  release_fence,
  acquire_read,
  read_then_acquire_read,
  acquire_fence,
  reduction_acquires_nothing,
  acquire_fence_is_no_release,
  release_fence_is_no_acquire,
  sc_fence_is_a_release_and_an_acquire,
  ends_are_morally_strong,
  release_acquire_synchronizes,
  fence_sc_synchronizes,
  fence_sc_relates_morally_strong_pairs_only,
  block_barrier_synchronizes,
  arrival_receives_nothing,
  barrier_is_of_one_block,
  warp_barrier_synchronizes,
  cluster_barrier_synchronizes,
  relaxed_arrival_releases_nothing,
  mbarrier_synchronizes,
  api_order_synchronizes,
  waiting_ends,
  // causality
  base_includes_program_order,
  generic_accesses,
  same_proxy_in_one_block,
  proxies_are_apart,
  addresses_are_apart,
  alias_fence,
  proxy_fence_after_the_source,
  proxy_fence_before_the_destination,
  proxy_fence_in_the_block,
  observation_precedes,
  // coherence
  initial_write_is_first,
  cause_orders_writes,
  morally_strong_writes_are_ordered,
  coherence_is_transitive,
  coherence_is_partial,
  // axioms
  axiom_fence_sc,
  axiom_atomicity,
  axiom_no_thin_air,
  axiom_sc_per_location,
  axiom_causality_reads_from,
  axiom_causality_from_reads,
  // dependencies
  address_dependency,
  data_dependency,
  control_dependency,
  update_depends_on_its_read,
  // what instructions do
  failed_compare_writes_nothing,
  load_buffering_is_allowed,
  count
};

/// The rule's name in words.
[[nodiscard]] constexpr const char* name(rule one) noexcept {
  constexpr const char* names[] = {"block scope is the block",
                                   "cluster scope is the cluster",
                                   "device scope is the device",
                                   "device scope is the domain",
                                   "host is in system scope only",
                                   "inclusion is mutual",
                                   "weak is not strong",
                                   "program order is morally strong",
                                   "same proxy",
                                   "complete overlap",
                                   "observation is morally strong",
                                   "observation through updates",
                                   "release write",
                                   "release write then write",
                                   "release fence",
                                   "acquire read",
                                   "read then acquire read",
                                   "acquire fence",
                                   "reduction acquires nothing",
                                   "acquire fence is no release",
                                   "release fence is no acquire",
                                   "sc fence is a release and an acquire",
                                   "ends are morally strong",
                                   "release acquire synchronizes",
                                   "fence sc synchronizes",
                                   "fence sc relates morally strong pairs only",
                                   "block barrier synchronizes",
                                   "arrival receives nothing",
                                   "barrier is of one block",
                                   "warp barrier synchronizes",
                                   "cluster barrier synchronizes",
                                   "relaxed arrival releases nothing",
                                   "mbarrier synchronizes",
                                   "api order synchronizes",
                                   "waiting ends",
                                   "base includes program order",
                                   "generic accesses",
                                   "same proxy in one block",
                                   "proxies are apart",
                                   "addresses are apart",
                                   "alias fence",
                                   "proxy fence after the source",
                                   "proxy fence before the destination",
                                   "proxy fence in the block",
                                   "observation precedes",
                                   "initial write is first",
                                   "cause orders writes",
                                   "morally strong writes are ordered",
                                   "coherence is transitive",
                                   "coherence is partial",
                                   "axiom fence sc",
                                   "axiom atomicity",
                                   "axiom no thin air",
                                   "axiom sc per location",
                                   "axiom causality reads from",
                                   "axiom causality from reads",
                                   "address dependency",
                                   "data dependency",
                                   "control dependency",
                                   "update depends on its read",
                                   "failed compare writes nothing",
                                   "load buffering is allowed"};
  return one < rule::count ? names[static_cast<int>(one)] : "no rule";
}

/// The rule set that everybody uses: all of them, known at compile time.
struct every_rule {
  static constexpr bool complete = true;
  [[nodiscard]] static constexpr bool holds(rule) noexcept { return true; }
};

/// All rules but some, for explanations ("which rule forbids this?") and for the tests of the tests.
struct every_rule_but {
  static constexpr bool complete = false;
  std::uint64_t dropped = 0;
  constexpr every_rule_but() = default;
  constexpr explicit every_rule_but(rule one) noexcept : dropped(std::uint64_t{1} << static_cast<unsigned>(one)) {}
  [[nodiscard]] constexpr bool holds(rule one) const noexcept { return ((dropped >> static_cast<unsigned>(one)) & 1U) == 0; }
};
static_assert(static_cast<int>(rule::count) <= 64);

/// What the instructions of one path through every thread decide, whoever reads from whom.
struct frame {
  int count = 0;
  event_set initial = 0;
  event_set reads = 0;
  event_set writes = 0;
  event_set memory = 0;
  event_set generic_memory = 0;
  event_set proxy_fences = 0;
  event_set alias_fences = 0;
  event_set barriers = 0;
  event_set release_starts = 0;
  bool one_address_each = true;  ///< no aliases and no proxies: ppcb is base at the same address
  bool has_dependencies = false;
  bool has_mixed_sizes = false;

  relation po;                ///< program order, transitive
  relation po_loc;            ///< program order between accesses of the same memory
  relation overlap;           ///< accesses of the same memory, each with itself too
  relation same_address;      ///< accesses through the same virtual address, each with itself too
  relation same_proxy_block;  ///< accesses through the same proxy by threads of one block
  relation behind_fence;      ///< proxy fence -> accesses through its proxy by threads of its block
  relation before_fence;      ///< the same, read backwards
  relation morally_strong;
  relation release_pattern;  ///< first of the release -> strong write
  relation acquire_pattern;  ///< strong read -> last of the acquire
  relation base;             ///< the part of base causality that is the same in every candidate
  relation dependency;       ///< read -> event that depends on it
};

/// incl(X, Y): whether the scope of `x` includes the thread at `there`. Source: PTX ISA, "Scope"; the domain clause is
/// membar's reading of the CUDA guide, the cluster clause the mechanical extension.
template <class Rules>
[[nodiscard]] constexpr bool includes(const Rules& rules, thread_scope scope, const place& here, const place& there) noexcept {
  if (scope == thread_scope::system) {
    return true;
  }
  if ((here.host || there.host) && rules.holds(rule::host_is_in_system_scope_only)) {
    return false;
  }
  const bool block = here.gpu == there.gpu && here.block == there.block && here.host == there.host;
  switch (scope) {
    case thread_scope::block:
      return block || !rules.holds(rule::block_scope_is_the_block);
    case thread_scope::cluster:
      return block || same_cluster(here, there) || !rules.holds(rule::cluster_scope_is_the_cluster);
    default:
      return (here.gpu == there.gpu || !rules.holds(rule::device_scope_is_the_device)) &&
             (here.gpu != there.gpu || here.domain == there.domain || !rules.holds(rule::device_scope_is_the_domain));
  }
}

/// ms(X, Y): related by program order, or both strong with scopes that include each other; through the same proxy; and, if
/// both access memory, overlapping completely through the same virtual address. Source: PTX ISA, "Morally strong operations".
template <class Rules>
[[nodiscard]] constexpr bool morally_strong(const Rules& rules, std::span<const thread_view> threads, const event& x,
                                            const event& y) noexcept {
  if (x.thread < 0 || y.thread < 0) {
    return false;
  }
  const bool x_memory = x.kind == event_kind::read || x.kind == event_kind::write;
  const bool y_memory = y.kind == event_kind::read || y.kind == event_kind::write;
  if ((!x_memory && x.kind != event_kind::fence) || (!y_memory && y.kind != event_kind::fence)) {
    return false;
  }
  bool related =
      x.thread == y.thread && (x.vector < 0 || x.vector != y.vector) && rules.holds(rule::program_order_is_morally_strong);
  if (!related && ((x.strong && y.strong) || !rules.holds(rule::weak_is_not_strong))) {
    const place& here = threads[static_cast<std::size_t>(x.thread)].where;
    const place& there = threads[static_cast<std::size_t>(y.thread)].where;
    const bool forth = includes(rules, x.strong ? x.scope : thread_scope::system, here, there);
    const bool back = includes(rules, y.strong ? y.scope : thread_scope::system, there, here);
    related = rules.holds(rule::inclusion_is_mutual) ? forth && back : forth || back;
  }
  const bool proxies = x.via == y.via || !rules.holds(rule::same_proxy);
  const bool whole = !x_memory || !y_memory || (x.address == y.address && x.bytes == y.bytes) ||
                     (x.physical == y.physical && !rules.holds(rule::complete_overlap));
  return related && proxies && whole;
}

/// Everything that the events alone decide.
template <class Rules>
constexpr void build_frame(frame& f, const Rules& rules, const program_view& program, std::span<const event> events) {
  f = frame{};
  f.count = static_cast<int>(events.size());
  event_set strong_reads = 0;
  event_set strong_writes = 0;
  event_set acquire_fences = 0;
  event_set release_fences = 0;
  for (int i = 0; i < f.count; ++i) {
    const event& e = events[static_cast<std::size_t>(i)];
    const event_set me = only(i);
    switch (e.kind) {
      case event_kind::read:
        f.reads |= me;
        strong_reads |= e.strong ? me : 0;
        break;
      case event_kind::write:
        f.writes |= me;
        strong_writes |= e.strong ? me : 0;
        break;
      case event_kind::fence: {
        const bool sc = e.sequential && rules.holds(rule::sc_fence_is_a_release_and_an_acquire);
        const bool both = e.acquires && e.releases && !e.sequential;
        acquire_fences |= sc || both || (e.acquires && !e.sequential) ||
                                  (e.releases && !e.sequential && !rules.holds(rule::release_fence_is_no_acquire))
                              ? me
                              : 0;
        release_fences |= sc || both || (e.releases && !e.sequential) ||
                                  (e.acquires && !e.sequential && !rules.holds(rule::acquire_fence_is_no_release))
                              ? me
                              : 0;
        break;
      }
      case event_kind::proxy_fence:
        f.proxy_fences |= me;
        f.alias_fences |= e.via == proxy::alias && rules.holds(rule::alias_fence) ? me : 0;
        break;
      case event_kind::barrier:
        f.barriers |= me;
        break;
    }
    f.initial |= e.thread < 0 ? me : 0;
  }
  f.memory = f.reads | f.writes;

  for (int i = 0; i < f.count; ++i) {
    const event& x = events[static_cast<std::size_t>(i)];
    const bool x_memory = contains(f.memory, i);
    if (x_memory && x.via == proxy::generic) {
      f.generic_memory |= only(i);
    }
    for (int j = 0; j < f.count; ++j) {
      const event& y = events[static_cast<std::size_t>(j)];
      if (i < j && x.thread >= 0 && x.thread == y.thread && (x.vector < 0 || x.vector != y.vector)) {
        f.po.add(i, j);
      }
      if (i != j && morally_strong(rules, program.threads, x, y)) {
        f.morally_strong.add(i, j);
      }
      const bool one_block = x.thread >= 0 && y.thread >= 0 &&
                             (x.thread == y.thread || same_block(program.threads[static_cast<std::size_t>(x.thread)].where,
                                                                 program.threads[static_cast<std::size_t>(y.thread)].where));
      if (x_memory && contains(f.memory, j)) {
        if (x.physical == y.physical) {
          f.overlap.add(i, j);
          f.one_address_each = f.one_address_each && (x.thread < 0 || y.thread < 0 || x.address == y.address);
          f.has_mixed_sizes = f.has_mixed_sizes || (x.thread >= 0 && y.thread >= 0 && x.bytes != y.bytes);
        }
        if (x.physical == y.physical && (x.address == y.address || !rules.holds(rule::addresses_are_apart))) {
          f.same_address.add(i, j);
        }
        if (x.via == y.via && one_block) {
          f.same_proxy_block.add(i, j);
        }
      }
      if (contains(f.proxy_fences, i) && contains(f.memory, j) && x.via == y.via && y.thread >= 0 &&
          (one_block || !rules.holds(rule::proxy_fence_in_the_block))) {
        f.behind_fence.add(i, j);
        f.before_fence.add(j, i);
      }
    }
    f.dependency[i] = 0;
  }
  f.one_address_each = f.one_address_each && (f.memory & ~f.generic_memory) == 0 && rules.holds(rule::generic_accesses) &&
                       rules.holds(rule::addresses_are_apart);

  for (int i = 0; i < f.count; ++i) {
    const event& e = events[static_cast<std::size_t>(i)];
    f.po_loc[i] = f.po[i] & f.overlap[i];
    // release-pattern = [W.release] ; po-loc? ; [strong W]  ∪  [F.{release,acq_rel,sc}] ; po ; [strong W]
    if (e.kind == event_kind::write && e.releases && e.strong) {
      f.release_pattern[i] = (rules.holds(rule::release_write) ? only(i) : 0) |
                             (rules.holds(rule::release_write_then_write) ? f.po_loc[i] & strong_writes : 0);
    }
    if (contains(release_fences, i) && rules.holds(rule::release_fence)) {
      f.release_pattern[i] = f.po[i] & strong_writes;
    }
    f.release_starts |= f.release_pattern[i] != 0 ? only(i) : 0;
    // acquire-pattern = [strong R] ; po-loc? ; [R.acquire]  ∪  [strong R that is not red's] ; po ; [F.{acquire,acq_rel,sc}]
    if (contains(strong_reads, i)) {
      event_set acquire_reads = 0;
      for (event_set s = f.po_loc[i] & strong_reads; s != 0; s = rest(s)) {
        acquire_reads |= events[static_cast<std::size_t>(first(s))].acquires ? only(first(s)) : 0;
      }
      f.acquire_pattern[i] = (e.acquires && rules.holds(rule::acquire_read) ? only(i) : 0) |
                             (rules.holds(rule::read_then_acquire_read) ? acquire_reads : 0);
      if (rules.holds(rule::acquire_fence) && (!e.reduction || !rules.holds(rule::reduction_acquires_nothing))) {
        f.acquire_pattern[i] |= f.po[i] & acquire_fences;
      }
    }
    // dep = address, data and control dependencies; the write of an update depends on its read
    event_set on = (rules.holds(rule::data_dependency) ? e.data : 0) |
                   (rules.holds(rule::address_dependency) ? e.addressed : 0) |
                   (rules.holds(rule::control_dependency) ? e.control : 0);
    if (e.kind == event_kind::write && e.partner >= 0 && rules.holds(rule::update_depends_on_its_read)) {
      on |= only(e.partner);
    }
    if (!rules.holds(rule::load_buffering_is_allowed)) {
      for (int j = 0; j < i; ++j) {
        on |= f.po.holds(j, i) ? only(j) : 0;
      }
    }
    f.has_dependencies = f.has_dependencies || on != 0;
    for (; on != 0; on = rest(on)) {
      f.dependency.add(first(on), i);
    }
  }

  // base ⊇ po ∪ edges of the CUDA API
  if (rules.holds(rule::base_includes_program_order)) {
    f.base = f.po;
  }
  if (rules.holds(rule::api_order_synchronizes)) {
    for (const api_edge& edge : program.api) {
      for (int i = 0; i < f.count; ++i) {
        for (int j = 0; j < f.count; ++j) {
          if (events[static_cast<std::size_t>(i)].thread == edge.before &&
              events[static_cast<std::size_t>(j)].thread == edge.after) {
            f.base.add(i, j);
          }
        }
      }
    }
  }
  f.base.close(f.count);
}

/// What follows from one choice of reads-from, barrier groups, Fence-SC order and coherence.
struct candidate {
  std::array<int, max_events> source{};  ///< the write that a read takes its value from
  relation observation;                  ///< write -> read
  relation sync;                         ///< release-acquire synchronizes-with
  relation barrier_sync;                 ///< synchronizes-with of barriers
  relation fence_sc;                     ///< the Fence-SC order, as chosen pairs
  relation base;                         ///< base causality, transitive
  relation cause;                        ///< causality, between memory operations
  relation coherence;                    ///< transitive; initial write first
};

/// obs = (ms ∩ rf) ∪ (obs ; rmw ; obs). Source: PTX ISA, "Observation order".
template <class Rules>
constexpr void observe(candidate& c, const Rules& rules, const frame& f, std::span<const event> events) noexcept {
  for (event_set w = f.writes; w != 0; w = rest(w)) {
    c.observation[first(w)] = 0;
  }
  for (event_set s = f.reads; s != 0; s = rest(s)) {
    const int read = first(s);
    const int write = c.source[static_cast<std::size_t>(read)];
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
      const int partner = events[static_cast<std::size_t>(first(next))].partner;
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

/// sync = ms ∩ (release-pattern ; obs ; acquire-pattern), added to base causality. Source: PTX ISA, "Synchronizes-with".
template <class Rules>
constexpr void synchronize(candidate& c, const Rules& rules, const frame& f) noexcept {
  for (int i = 0; i < f.count; ++i) {
    c.base[i] = f.base[i];
    c.sync[i] = 0;
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

/// cause = ppcb ∪ obs ; ppcb, where ppcb (proxy-preserved base causality) is base between accesses whose proxies are kept
/// apart correctly. Source: PTX ISA, "Causality order", "Proxy-preserved base causality order".
template <class Rules>
constexpr void relate_causes(candidate& c, const Rules& rules, const frame& f, std::span<const event> events) noexcept {
  const auto through_entry = [&](event_set reached) {  // generic accesses, and others behind a fence of their proxy and block
    event_set result = reached & f.generic_memory;
    if (rules.holds(rule::proxy_fence_before_the_destination)) {
      for (event_set s = reached & f.proxy_fences; s != 0; s = rest(s)) {
        result |= c.base[first(s)] & f.behind_fence[first(s)];
      }
    }
    return result;
  };
  for (event_set m = f.memory & ~f.initial; m != 0; m = rest(m)) {
    const int x = first(m);
    if (f.one_address_each) {
      c.cause[x] = c.base[x] & f.same_address[x];
      continue;
    }
    if (!rules.holds(rule::proxies_are_apart)) {
      c.cause[x] = c.base[x] & f.same_address[x];
      continue;
    }
    // the source leaves through its own proxy: generic as it is, any other through a fence of its proxy in its block
    const bool generic = events[static_cast<std::size_t>(x)].via == proxy::generic;
    event_set left = 0;
    if (generic) {
      left = c.base[x];
    } else if (rules.holds(rule::proxy_fence_after_the_source)) {
      left = c.base.image(c.base[x] & f.before_fence[x]);
    }
    event_set direct = through_entry(left);
    if (generic && !rules.holds(rule::generic_accesses)) {
      direct &= ~f.generic_memory;
    }
    if (rules.holds(rule::same_proxy_in_one_block)) {
      direct |= c.base[x] & f.same_proxy_block[x] & ~(generic ? f.generic_memory : 0);
    }
    const event_set aliased = through_entry(c.base.image(left & f.alias_fences));
    c.cause[x] = (direct & f.same_address[x]) | (aliased & f.overlap[x]);
  }
  for (event_set s = f.initial; s != 0; s = rest(s)) {
    c.cause[first(s)] = 0;
  }
  if (rules.holds(rule::observation_precedes)) {
    // obs ; ppcb: sources are writes, and the rows of reads are still ppcb alone
    for (event_set w = f.writes; w != 0; w = rest(w)) {
      if (c.observation[first(w)] != 0) {
        c.cause[first(w)] |= c.cause.image(c.observation[first(w)]);
      }
    }
  }
}

/// The coherence that every consistent order contains: initial writes first, and writes of the same memory that causality
/// orders. False if that is no order: axiom Coherence. Source: PTX ISA, "Coherence order", "Axiom: Coherence".
template <class Rules>
[[nodiscard]] constexpr bool cohere(candidate& c, const Rules& rules, const frame& f) noexcept {
  for (event_set w = f.writes; w != 0; w = rest(w)) {
    const int write = first(w);
    c.coherence[write] = 0;
    if (contains(f.initial, write)) {
      if (rules.holds(rule::initial_write_is_first)) {
        c.coherence[write] = f.overlap[write] & f.writes & ~only(write);
      }
    } else if (rules.holds(rule::cause_orders_writes)) {
      c.coherence[write] = c.cause[write] & f.overlap[write] & f.writes;
    }
  }
  bool strict = true;
  for (event_set s = f.writes & ~f.initial; s != 0; s = rest(s)) {
    const int through = first(s);
    if (rules.holds(rule::coherence_is_transitive)) {
      for (event_set w = f.writes; w != 0; w = rest(w)) {
        if (c.coherence.holds(first(w), through)) {
          c.coherence[first(w)] |= c.coherence[through];
        }
      }
    }
  }
  for (event_set s = f.writes & ~f.initial; s != 0; s = rest(s)) {
    strict = strict && !c.coherence.holds(first(s), first(s));
  }
  return strict;
}

/// Axiom Causality, the half that coherence has no part in: no read causally precedes the write that it reads from.
template <class Rules>
[[nodiscard]] constexpr bool reads_not_from_effects(const candidate& c, const Rules& rules, const frame& f) noexcept {
  if (!rules.holds(rule::axiom_causality_reads_from)) {
    return true;
  }
  for (event_set s = f.reads; s != 0; s = rest(s)) {
    if (c.cause.holds(first(s), c.source[static_cast<std::size_t>(first(s))])) {
      return false;
    }
  }
  return true;
}

/// Axiom Causality, the other half: no read misses a write that causally precedes it. irreflexive(fr ; cause).
template <class Rules>
[[nodiscard]] constexpr bool reads_not_from_the_past(const candidate& c, const Rules& rules, const frame& f) noexcept {
  if (!rules.holds(rule::axiom_causality_from_reads)) {
    return true;
  }
  for (event_set s = f.reads; s != 0; s = rest(s)) {
    const int read = first(s);
    for (event_set w = c.coherence[c.source[static_cast<std::size_t>(read)]]; w != 0; w = rest(w)) {
      if (c.cause.holds(first(w), read)) {
        return false;
      }
    }
  }
  return true;
}

/// Axiom Atomicity: empty(rmw ∩ ((ms ∩ fr) ; (ms ∩ co))).
template <class Rules>
[[nodiscard]] constexpr bool updates_are_atomic(const candidate& c, const Rules& rules, const frame& f,
                                                std::span<const event> events) noexcept {
  if (!rules.holds(rule::axiom_atomicity)) {
    return true;
  }
  for (event_set s = f.reads; s != 0; s = rest(s)) {
    const int read = first(s);
    const int write = events[static_cast<std::size_t>(read)].partner;
    if (write < 0) {
      continue;
    }
    const event_set overwrites = c.coherence[c.source[static_cast<std::size_t>(read)]] & f.morally_strong[read];
    for (event_set w = overwrites; w != 0; w = rest(w)) {
      if (f.morally_strong.holds(first(w), write) && c.coherence.holds(first(w), write)) {
        return false;
      }
    }
  }
  return true;
}

/// Axiom SC-per-Location: acyclic((ms ∩ (rf ∪ co ∪ fr)) ∪ po-loc).
template <class Rules>
[[nodiscard]] constexpr bool sequential_per_location(const candidate& c, const Rules& rules, const frame& f) noexcept {
  if (!rules.holds(rule::axiom_sc_per_location)) {
    return true;
  }
  relation graph;
  // reads add edges into rows of writes, so writes are set up first
  for (event_set w = f.writes; w != 0; w = rest(w)) {
    graph[first(w)] = f.po_loc[first(w)] | (c.coherence[first(w)] & f.morally_strong[first(w)]);
  }
  for (event_set s = f.reads; s != 0; s = rest(s)) {
    const int read = first(s);
    const int source = c.source[static_cast<std::size_t>(read)];
    graph[read] = f.po_loc[read] | (c.coherence[source] & f.morally_strong[read]);
    if (f.morally_strong.holds(source, read)) {
      graph.add(source, read);
    }
  }
  return graph.acyclic(f.memory & ~f.initial);
}

}  // namespace membar::model
