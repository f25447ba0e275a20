// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The axioms of the PTX memory consistency model, one function per axiom, over the relations that causality.hpp derives.
///
/// | axiom | where |
/// |---|---|
/// | Coherence | `cohere`; coherence.hpp chooses the orders that it leaves open |
/// | Fence-SC | `orient_fences` in enumerate.hpp, which builds only orders that satisfy it and puts them into causality |
/// | Atomicity | `updates_are_atomic`; for atomics of different sizes, `atomics_are_serial` |
/// | No-Thin-Air | `assign` in enumerate.hpp, which chooses only sources that satisfy it |
/// | SC-per-Location | `sequential_per_location` |
/// | Causality | `reads_not_from_effects`, `reads_not_from_the_past` |
///
/// `event_structure` holds the relations that the instructions determine on their own; `candidate` holds the relations that
/// follow from one choice of reads-from, barrier groups, Fence-SC order and coherence. Sets of events are words and relations
/// are rows of words, so a definition such as `[strong R] ; po ; [F.acquire]` is one line: the row of a read is `po[read] &
/// acquiring fences`.
///
/// Each function receives the reads whose source has been chosen. Additional reads, causality or coherence never repair a
/// violated axiom. Therefore the search abandons a choice as soon as it violates an axiom, even if the choice is not complete.
///
/// Sources: PTX ISA, "Memory Consistency Model"; the ASPLOS 2019 and ISCA 2022 papers on it; CUDA C++ Programming Guide,
/// "Memory Synchronization Domains". Where these sources are ambiguous, docs/model.md states which reading membar uses.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/causality.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>

#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Computes the coherence that every consistent order contains: initial writes come first, and writes to the same memory follow
/// causality. Returns false if the result is not an order, which violates axiom Coherence. Source: PTX ISA, "Coherence order",
/// "Axiom: Coherence".
template <class Rules>
[[nodiscard]] constexpr bool cohere(candidate& c, const Rules& rules, const event_structure& f) noexcept {
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
      for (event_set w = f.writes & f.overlap[through]; w != 0; w = rest(w)) {
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

/// Checks the part of axiom Causality that does not involve coherence: no read causally precedes the write that it reads from.
template <class Rules>
[[nodiscard]] constexpr bool reads_not_from_effects(const candidate& c, const Rules& rules, event_set reads) noexcept {
  if (!rules.holds(rule::axiom_causality_reads_from)) {
    return true;
  }
  for (event_set s = reads; s != 0; s = rest(s)) {
    if (c.cause.holds(first(s), at(c.source, first(s)))) {
      return false;
    }
  }
  return true;
}

/// Checks the other part of axiom Causality: no read misses a write that causally precedes it, irreflexive(fr ; cause).
template <class Rules>
[[nodiscard]] constexpr bool reads_not_from_the_past(const candidate& c, const Rules& rules, event_set reads) noexcept {
  if (!rules.holds(rule::axiom_causality_from_reads)) {
    return true;
  }
  for (event_set s = reads; s != 0; s = rest(s)) {
    const int read = first(s);
    for (event_set w = c.coherence[at(c.source, read)]; w != 0; w = rest(w)) {
      if (c.cause.holds(first(w), read)) {
        return false;
      }
    }
  }
  return true;
}

/// Axiom Atomicity: empty(rmw ∩ ((ms ∩ fr) ; (ms ∩ co))).
template <class Rules>
[[nodiscard]] constexpr bool updates_are_atomic(const candidate& c, const Rules& rules, const event_structure& f,
                                                std::span<const event> events, event_set reads) noexcept {
  if (!rules.holds(rule::axiom_atomicity)) {
    return true;
  }
  for (event_set s = reads; s != 0; s = rest(s)) {
    const int read = first(s);
    const int write = at(events, read).partner;
    const event_set overwrites = write < 0 ? 0 : c.coherence[at(c.source, read)] & f.morally_strong[read];
    for (event_set w = overwrites; w != 0; w = rest(w)) {
      if (f.morally_strong.holds(first(w), write) && c.coherence.holds(first(w), write)) {
        return false;
      }
    }
  }
  return true;
}

/// The order of atomics, each identified by its read: coherence orders two atomics that both write, and an atomic precedes the
/// atomics that see its write or a later write.
[[nodiscard]] constexpr relation performed_before(const candidate& c, const event_structure& f, std::span<const event> events,
                                                  event_set reads) noexcept {
  relation before;
  for (event_set s = reads; s != 0; s = rest(s)) {
    const int one = first(s);
    const int write = at(events, one).partner;
    for (event_set t = write < 0 ? 0 : f.serial[one] & reads; t != 0; t = rest(t)) {
      const int other = first(t);
      const int other_write = at(events, other).partner;
      const int seen = at(c.source, other);
      const event_set made_of = only(seen) | (other_write < 0 ? 0 : only(other_write));
      if (((only(write) | c.coherence[write]) & made_of) != 0) {
        before.add(one, other);
      }
      if (c.coherence.holds(seen, write)) {
        before.add(other, one);
      }
    }
  }
  return before;
}

/// Returns whether atomics are serial: of two overlapping atomics whose scopes include each other, one is performed completely
/// before the other, even if they differ in size. Source: PTX ISA, "Atomicity of mixed-size RMW operations".
[[nodiscard]] constexpr bool atomics_are_serial(const candidate& c, const event_structure& f, std::span<const event> events,
                                                event_set reads) noexcept {
  event_set serial = 0;
  for (event_set s = reads; s != 0; s = rest(s)) {
    serial |= f.serial[first(s)] != 0 ? only(first(s)) : 0;
  }
  return serial == 0 || performed_before(c, f, events, serial).acyclic(serial);
}

/// Axiom SC-per-Location: acyclic((ms ∩ (rf ∪ co ∪ fr)) ∪ po-loc), for the events of `memory`.
template <class Rules>
[[nodiscard]] constexpr bool sequential_per_location(const candidate& c, const Rules& rules, const event_structure& f,
                                                     event_set memory, event_set reads) noexcept {
  if (!rules.holds(rule::axiom_sc_per_location)) {
    return true;
  }
  relation graph;
  // reads add edges to the rows of writes, so the writes are processed first
  for (event_set w = f.writes & memory; w != 0; w = rest(w)) {
    graph[first(w)] = f.po_loc[first(w)] | (c.coherence[first(w)] & f.morally_strong[first(w)]);
  }
  for (event_set s = f.reads & memory & ~reads; s != 0; s = rest(s)) {
    graph[first(s)] = f.po_loc[first(s)];
  }
  for (event_set s = reads; s != 0; s = rest(s)) {
    const int read = first(s);
    const int source = at(c.source, read);
    graph[read] = f.po_loc[read] | (c.coherence[source] & f.morally_strong[read]);
    if (f.morally_strong.holds(source, read)) {
      graph.add(source, read);
    }
  }
  return graph.acyclic(memory & ~f.initial);
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
