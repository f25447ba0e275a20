// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The relations that the events of one path determine before the source of each read is chosen: program order, moral strength,
/// release and acquire patterns, and dependencies.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/morally_strong.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>

#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

/// The relations that the instructions of one path through every thread determine, regardless of what the reads return. They
/// are the same in every candidate execution of that path.
struct event_structure {
  int count = 0;
  event_set initial = 0;
  event_set reads = 0;
  event_set writes = 0;
  event_set memory = 0;
  event_set generic_memory = 0;
  event_set read_only = 0;    ///< reads through the read-only path
  event_set async_proxy = 0;  ///< accesses and fences of the async proxy
  event_set map_reads = 0;    ///< reads of tensor maps by tensor copies, and fences of their proxy
  event_set proxy_fences = 0;
  event_set alias_fences = 0;
  event_set one_way_releases = 0;  ///< one-directional proxy fences that release
  event_set one_way_acquires = 0;
  event_set initializations = 0;  ///< initializations of mbarriers
  event_set initialization_fences = 0;
  event_set barriers = 0;
  event_set shuffle_writes = 0;
  event_set shuffle_reads = 0;
  event_set asynchronous = 0;  ///< accesses and completions of asynchronous operations
  event_set release_starts = 0;
  event_set acquire_fences = 0;
  event_set release_fences = 0;
  bool one_address_each = true;  ///< whether there are no aliases and no proxies; ppcb is then base causality at the same
                                 ///< address
  bool has_mixed_sizes = false;

  relation po;                ///< program order, transitive
  relation po_loc;            ///< program order between accesses to the same memory
  relation overlap;           ///< accesses to the same memory, including each access with itself
  relation same_address;      ///< accesses through the same virtual address, including each access with itself
  relation same_proxy_block;  ///< accesses through the same proxy by threads of one block
  relation after_fence;       ///< proxy fence -> accesses through its proxy by threads of its block
  relation before_fence;      ///< access -> proxy fences of its proxy in its block
  relation boundary_after;    ///< event -> events of threads that the CUDA API orders after its thread
  relation boundary_before;   ///< event -> events of threads that the CUDA API orders before its thread
  relation morally_strong;
  relation serial;           ///< atomic -> atomics that are performed completely before or after it; filled only if sizes
                             ///< differ
  relation release_pattern;  ///< first event of a release pattern -> its strong write
  relation acquire_pattern;  ///< strong read -> last event of its acquire pattern
  relation one_way_acquire;  ///< strong read -> one-directional proxy fences that acquire
  relation base;             ///< the part of base causality that is the same in every candidate
  relation completed;        ///< accesses of asynchronous operations -> their completion, or a wait for their group
  relation issued;           ///< instruction that starts an asynchronous operation -> accesses of that operation
  relation dependency;       ///< read -> event that depends on it
};

/// Returns whether a kernel acquires tensor maps at its start. Since PTX ISA 9.2, it does not. Source: PTX ISA, "API
/// synchronization".
template <class Rules>
[[nodiscard]] constexpr bool maps_are_acquired_at_start(const Rules& rules, const program_view& program) noexcept {
  return (program.version != 0 && program.version < 92) || rules.takes(reading::maps_at_kernel_start);
}

/// Returns whether a proxy fence applies to the proxy and the state space of an access. A fence that acquires a tensor map
/// applies only to the map's address. The end of a wait for other grids acts as a fence for the proxies of asynchronous copies.
/// Source: PTX ISA, "membar/fence", "Async Proxy".
template <class Rules>
[[nodiscard]] constexpr bool joins(const Rules& rules, const program_view& program, const event& fence, const event& access) {
  if (fence.kind == event_kind::grid_wait) {
    return access.via == proxy::async || (access.via == proxy::tensor_map && maps_are_acquired_at_start(rules, program));
  }
  if (fence.location >= 0 && fence.address != access.address && rules.holds(rule::tensor_map_acquire_is_of_its_address)) {
    return false;
  }
  if (fence.via != access.via) {
    return false;
  }
  if (fence.space == state_space::generic || !rules.holds(rule::proxy_fence_is_of_its_state_space)) {
    return true;
  }
  const int owner = at(program.locations, access.location).owner;
  if (fence.space == state_space::global || owner < 0) {
    return fence.space == state_space::global && owner < 0;
  }
  return fence.space == state_space::shared_cluster ||
         same_block(program.threads[fence.thread].where, program.threads[owner].where);
}

/// Returns whether a proxy fence on its own orders earlier events with later accesses through its proxy. A one-directional
/// fence needs a matching fence; see `one_way_entry`.
template <class Rules>
[[nodiscard]] constexpr bool precedes_alone(const Rules& rules, const event& fence) noexcept {
  return !fence.restricted ||
         (!rules.holds(rule::one_way_proxy_fences_come_in_pairs) && rules.holds(rule::one_way_proxy_fences_order));
}

/// Returns whether a proxy fence orders earlier accesses through its proxy with later ordinary accesses.
template <class Rules>
[[nodiscard]] constexpr bool follows(const Rules& rules, const event& fence) noexcept {
  return !fence.restricted || !rules.holds(rule::one_way_proxy_fences_have_one_direction);
}

template <class Rules>
constexpr void order_asynchronous(event_structure& f, const Rules& rules, const program_view& program,
                                  std::span<const event> events);

/// Fills in the sets of events. Returns the strong events.
template <class Rules>
[[nodiscard]] constexpr event_set classify(event_structure& f, const Rules& rules, std::span<const event> events) {
  event_set strong = 0;
  for (int i = 0; i < f.count; ++i) {
    const event& e = at(events, i);
    const event_set me = only(i);
    const auto if_kind = [&](event_kind kind) { return e.kind == kind ? me : event_set{0}; };
    f.reads |= if_kind(event_kind::read);
    f.writes |= if_kind(event_kind::write);
    f.barriers |= if_kind(event_kind::barrier);
    f.shuffle_writes |= if_kind(event_kind::shuffle_write);
    f.shuffle_reads |= if_kind(event_kind::shuffle_read);
    f.proxy_fences |= precedes_alone(rules, e) ? if_kind(event_kind::proxy_fence) : 0;
    f.one_way_releases |= e.releases ? if_kind(event_kind::proxy_fence) : 0;
    f.one_way_acquires |= e.acquires ? if_kind(event_kind::proxy_fence) : 0;
    f.initializations |= if_kind(event_kind::initialization);
    // a kernel boundary is a fence of all proxies
    f.proxy_fences |= rules.holds(rule::kernel_boundary_joins_the_async_proxy) ? if_kind(event_kind::grid_wait) : 0;
    f.alias_fences |= e.via == proxy::alias && rules.holds(rule::alias_fence) ? if_kind(event_kind::proxy_fence) : 0;
    const bool only_initializations = e.restricted && rules.holds(rule::initialization_fence_is_for_initializations_only);
    if (only_initializations) {
      f.initialization_fences |= rules.holds(rule::initialization_fence_releases) ? if_kind(event_kind::fence) : 0;
    } else if (!e.sequential || rules.holds(rule::sc_fence_is_a_release_and_an_acquire)) {
      f.acquire_fences |=
          e.acquires || (e.releases && !rules.holds(rule::release_fence_is_no_acquire)) ? if_kind(event_kind::fence) : 0;
      f.release_fences |=
          e.releases || (e.acquires && !rules.holds(rule::acquire_fence_is_no_release)) ? if_kind(event_kind::fence) : 0;
    }
    strong |= e.strong ? me : 0;
    f.asynchronous |= e.issue >= 0 ? me : 0;
    f.initial |= e.thread < 0 ? me : 0;
  }
  f.memory = f.reads | f.writes;
  for (int i = 0; i < f.count; ++i) {
    const event& x = at(events, i);
    if (contains(f.memory, i) && x.via == proxy::generic) {
      f.generic_memory |= only(i);
    }
    f.read_only |= x.via == proxy::read_only ? only(i) : 0;
    f.async_proxy |= x.via == proxy::async ? only(i) : 0;
    f.map_reads |= x.via == proxy::tensor_map ? only(i) : 0;
  }
  return strong;
}

/// Fills in the relations between two events that do not depend on any other events.
template <class Rules>
constexpr void relate_pairs(event_structure& f, const Rules& rules, const program_view& program,
                            std::span<const event> events) {
  for (int i = 0; i < f.count; ++i) {
    const event& x = at(events, i);
    const bool x_memory = contains(f.memory, i);
    for (int j = 0; j < f.count; ++j) {
      const event& y = at(events, j);
      const bool own =
          (in_program_order(x) && in_program_order(y)) || !rules.holds(rule::asynchronous_operations_leave_program_order);
      // elements of one access; the read and the write of an update do not count as elements
      const bool elements = x.vector >= 0 && x.vector == y.vector && x.location != y.location &&
                            (!at(program.threads[x.thread].code, x.instruction).multimem ||
                             rules.holds(rule::multimem_operations_are_in_no_order));
      if (i < j && x.thread >= 0 && x.thread == y.thread && own && !elements) {
        f.po.add(i, j);
      }
      if (i != j && morally_strong(rules, program, x, y)) {
        f.morally_strong.add(i, j);
      }
      const bool one_block =
          x.thread >= 0 && y.thread >= 0 &&
          (x.thread == y.thread || same_block(program.threads[x.thread].where, program.threads[y.thread].where));
      if (x_memory && contains(f.memory, j)) {
        if (x.physical == y.physical) {
          f.overlap.add(i, j);
          f.one_address_each = f.one_address_each && x.address == y.address;
          f.has_mixed_sizes = f.has_mixed_sizes || (x.thread >= 0 && y.thread >= 0 && x.bytes != y.bytes);
          if (x.address == y.address || !rules.holds(rule::addresses_are_apart)) {
            f.same_address.add(i, j);
          }
        }
        if (x.via == y.via && (one_block || (x.via == proxy::async && rules.takes(reading::copies_of_two_blocks)))) {
          f.same_proxy_block.add(i, j);
        }
      }
      for (const api_edge& edge : program.api) {
        if (x.thread == edge.before && y.thread == edge.after) {
          f.boundary_after.add(i, j);
          f.boundary_before.add(j, i);
        }
      }
      if (contains(f.proxy_fences | f.one_way_acquires, i) && contains(f.memory, j) && joins(rules, program, x, y) &&
          (one_block || !rules.holds(rule::proxy_fence_in_the_block) ||
           (y.via == proxy::async && rules.takes(reading::fence_of_another_block)))) {
        f.after_fence.add(i, j);
        if (follows(rules, x)) {
          f.before_fence.add(j, i);
        }
      }
    }
  }
  // if all sizes are the same, these pairs are morally strong, and the ISA requires only axiom Atomicity for them
  if (f.has_mixed_sizes && rules.holds(rule::atomics_of_any_size_are_serial)) {
    for (int i = 0; i < f.count; ++i) {
      for (int j = 0; j < i; ++j) {
        if (serial_atomics(rules, program, at(events, i), at(events, j))) {
          f.serial.add(i, j);
          f.serial.add(j, i);
        }
      }
    }
  }
  f.one_address_each = f.one_address_each && (f.memory & ~f.generic_memory) == 0 && rules.holds(rule::generic_accesses) &&
                       rules.holds(rule::addresses_are_apart);
}

/// Fills in `po_loc`, the release and acquire patterns, and the dependencies.
template <class Rules>
constexpr void relate_to_later(event_structure& f, const Rules& rules, std::span<const event> events, event_set strong) {
  for (int i = 0; i < f.count; ++i) {
    const event& e = at(events, i);
    f.po_loc[i] = f.po[i] & f.overlap[i];
    // release-pattern = [W.release] ; po-loc? ; [strong W]  ∪  [F.{release,acq_rel,sc}] ; po ; [strong W]
    if (e.kind == event_kind::write && e.releases && e.strong) {
      f.release_pattern[i] = (rules.holds(rule::release_write) ? only(i) : 0) |
                             (rules.holds(rule::release_write_then_write) ? f.po_loc[i] & strong & f.writes : 0);
    }
    if (contains(f.release_fences, i) && rules.holds(rule::release_fence)) {
      f.release_pattern[i] = f.po[i] & strong & f.writes;
    }
    f.release_starts |= f.release_pattern[i] != 0 ? only(i) : 0;
    if (contains(f.initialization_fences | f.one_way_releases, i)) {
      f.release_pattern[i] = f.po[i] & strong & f.writes;
    }
    // acquire-pattern = [R.acquire]  ∪  [strong R that is not red's] ; (po-loc ; [R.acquire]  ∪  po ; [F.{acquire,acq_rel,sc}])
    if (contains(f.reads & strong, i)) {
      event_set acquire_reads = 0;
      for (event_set s = f.po_loc[i]; s != 0; s = rest(s)) {
        acquire_reads |= at(events, first(s)).acquires ? only(first(s)) : 0;
      }
      const bool begins = !e.reduction || !rules.holds(rule::reduction_acquires_nothing);
      f.acquire_pattern[i] = (e.acquires && rules.holds(rule::acquire_read) ? only(i) : 0) |
                             (begins && rules.holds(rule::read_then_acquire_read) ? acquire_reads : 0);
      if (begins && rules.holds(rule::acquire_fence)) {
        f.acquire_pattern[i] |= f.po[i] & f.acquire_fences;
        f.one_way_acquire[i] = f.po[i] & f.one_way_acquires;
      }
    }
    // dep = address, data and control dependencies; the write of an update depends on its read
    event_set on =
        (rules.holds(rule::data_dependency) ? e.data : 0) | (rules.holds(rule::address_dependency) ? e.addressed : 0) |
        (rules.holds(rule::control_dependency) ? e.control : 0) | (rules.holds(rule::predicate_dependency) ? e.guard : 0);
    if (e.kind == event_kind::write && rules.holds(rule::update_depends_on_its_read)) {
      on |= e.partner < 0 ? 0 : only(e.partner);
    }
    if (!rules.holds(rule::load_buffering_is_allowed)) {
      for (int j = 0; j < i; ++j) {
        on |= f.po.holds(j, i) ? only(j) : 0;
      }
    }
    for (; on != 0; on = rest(on)) {
      f.dependency.add(first(on), i);
    }
  }
}

/// Fills `f` with the relations that `events` determine.
template <class Rules>
constexpr void build(event_structure& f, const Rules& rules, const program_view& program, std::span<const event> events) {
  f = event_structure{};
  f.count = count_of(events);
  const event_set strong = classify(f, rules, events);
  relate_pairs(f, rules, program, events);
  relate_to_later(f, rules, events, strong);
  // base ⊇ po ∪ edges of the CUDA API
  if (rules.holds(rule::base_includes_program_order)) {
    f.base = f.po;
  }
  if (rules.holds(rule::api_order_synchronizes)) {
    for (int i = 0; i < f.count; ++i) {
      f.base[i] |= f.boundary_after[i];
    }
  }
  order_asynchronous(f, rules, program, events);
  f.base.close(f.count);
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
