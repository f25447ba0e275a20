// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The coherence orders of one candidate, location by location.
///
/// Causality does not depend on coherence, and every axiom that involves coherence concerns a single location. Therefore each
/// location is ordered separately. It is sufficient that some order of the location's morally strong writes satisfies the
/// axioms. If the location's final value is needed, such an order must exist for each write that may be last.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/axioms.hpp>
#include <membar/model/causality.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>
#include <membar/model/search_options.hpp>

#include <algorithm>
#include <cstdint>
#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Two events.
struct event_pair {
  int first = 0;
  int second = 0;
};

/// Orders the writes of one location.
template <class Rules>
class coherence_orders {
 public:
  /// `pairs` contains the pairs of writes, for all locations, that must be ordered in one of the two directions. `c.coherence`
  /// holds the minimal order. Only the reads in `reads` have a source. `checked` counts the orders that are checked; the
  /// options limit their number.
  constexpr coherence_orders(candidate& c, const Rules& rules, const event_structure& f, std::span<const event> events,
                             std::span<const event_pair> pairs, event_set memory, event_set reads, std::uint64_t& checked,
                             const search_options& options = {}) noexcept
      : c_(c),
        rules_(rules),
        f_(f),
        events_(events),
        pairs_(pairs),
        memory_(memory),
        reads_(reads & memory),
        checked_(checked),
        options_(options) {}

  /// Returns whether some order satisfies the axioms, given that `c.coherence` satisfies them so far. `c.coherence` then
  /// becomes such an order.
  [[nodiscard]] constexpr bool any() {
    const outcome first_try = greedy();
    return first_try == outcome::ordered || (first_try == outcome::stuck && search());
  }

  /// Returns whether some order in which no write follows `last` satisfies the axioms. `c.coherence` then becomes such an
  /// order.
  [[nodiscard]] constexpr bool ends_in(int last) {
    bool added = false;
    for (const event_pair& p : pairs_) {
      if (open(p) && (p.first == last || p.second == last)) {
        order(p.first == last ? p.second : p.first, last);
        added = true;
      }
    }
    return maximal(last) && (!added || consistent()) && any();
  }

  /// Returns every write that is last in some order that satisfies the axioms. `c.coherence` does not change.
  [[nodiscard]] constexpr event_set last_writes() {
    relation least;
    least.copy(c_.coherence, f_.count);
    event_set result = 0;
    for (event_set w = f_.writes & memory_; w != 0; w = rest(w)) {
      if (contains(result, first(w)) || !maximal(first(w))) {
        continue;
      }
      if (ends_in(first(w))) {
        for (event_set m = f_.writes & memory_; m != 0; m = rest(m)) {
          result |= maximal(first(m)) ? only(first(m)) : 0;
        }
      }
      c_.coherence.copy(least, f_.count);
    }
    return result;
  }

 private:
  [[nodiscard]] constexpr bool maximal(int write) const noexcept { return c_.coherence[write] == 0; }

  [[nodiscard]] constexpr bool open(const event_pair& p) const noexcept {
    return contains(memory_, p.first) && !c_.coherence.holds(p.first, p.second) && !c_.coherence.holds(p.second, p.first);
  }

  constexpr void order(int before, int after) noexcept {
    if (rules_.holds(rule::coherence_is_transitive)) {
      c_.coherence.add_closed(f_.count, before, after);
    } else {
      c_.coherence.add(before, after);
    }
  }

  // Returns whether the order so far satisfies the axioms. Ordering more writes never repairs a violated axiom.
  [[nodiscard]] constexpr bool consistent() {
    options_.check(++checked_);
    return reads_not_from_the_past(c_, rules_, reads_) && updates_are_atomic(c_, rules_, f_, events_, reads_) &&
           atomics_are_serial(c_, f_, events_, reads_) && sequential_per_location(c_, rules_, f_, memory_, reads_);
  }

  enum class outcome : std::uint8_t { ordered, stuck, impossible };

  // For each pair, chooses the first direction that does not violate an axiom on its own. Restores the order if this fails.
  constexpr outcome greedy() {
    relation least;
    bool taken = false;
    for (const event_pair& p : pairs_) {
      if (!open(p)) {
        continue;
      }
      if (!taken) {
        least.copy(c_.coherence, f_.count);
      }
      relation before;
      before.copy(c_.coherence, f_.count);
      order(p.first, p.second);
      if (!consistent()) {
        c_.coherence.copy(before, f_.count);
        order(p.second, p.first);
        if (!consistent()) {
          c_.coherence.copy(least, f_.count);
          return taken ? outcome::stuck : outcome::impossible;
        }
      }
      taken = true;
    }
    return outcome::ordered;
  }

  // Orders the pairs for which one direction violates an axiom, until there are no such pairs left. Returns false if both
  // directions of some pair violate an axiom.
  constexpr bool forced() {
    for (bool changed = true; changed;) {
      changed = false;
      for (const event_pair& p : pairs_) {
        if (!open(p)) {
          continue;
        }
        relation before;
        before.copy(c_.coherence, f_.count);
        order(p.first, p.second);
        const bool forth = consistent();
        c_.coherence.copy(before, f_.count);
        order(p.second, p.first);
        const bool back = consistent();
        if (!forth && !back) {
          return false;
        }
        if (!forth) {
          changed = true;  // the pair keeps the second direction
          continue;
        }
        c_.coherence.copy(before, f_.count);
        if (!back) {
          order(p.first, p.second);
          changed = true;
        }
      }
    }
    return true;
  }

  constexpr bool search() {
    const auto p = std::ranges::find_if(pairs_, [this](const event_pair& one) { return open(one); });
    if (p == pairs_.end()) {
      return true;
    }
    relation before;
    before.copy(c_.coherence, f_.count);
    for (int way = 0; way < 2; ++way) {
      order(way == 0 ? p->first : p->second, way == 0 ? p->second : p->first);
      if (consistent() && forced() && search()) {
        return true;
      }
      c_.coherence.copy(before, f_.count);
    }
    return false;
  }

  candidate& c_;
  const Rules& rules_;
  const event_structure& f_;
  std::span<const event> events_;
  std::span<const event_pair> pairs_;
  event_set memory_;
  event_set reads_;
  std::uint64_t& checked_;
  search_options options_;
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
