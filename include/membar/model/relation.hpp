// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Sets of events as 64-bit words, and relations between events as rows of such words.
#pragma once

#include <membar/model/array.hpp>

#include <array>
#include <bit>
#include <cstdint>

namespace membar {
inline namespace v0_3 {
namespace model {

/// The maximum number of events in an execution, including initial writes: a set of events is one machine word.
inline constexpr int max_events = 64;

/// A set of events; bit `i` represents event `i`.
using event_set = std::uint64_t;

/// Returns the set that contains only `event`.
[[nodiscard]] constexpr event_set only(int event) noexcept { return event_set{1} << static_cast<unsigned>(event); }

/// Returns whether `set` contains `event`.
[[nodiscard]] constexpr bool contains(event_set set, int event) noexcept {
  return ((set >> static_cast<unsigned>(event)) & 1U) != 0;
}

/// Returns the smallest event of a non-empty set.
[[nodiscard]] constexpr int first(event_set set) noexcept { return std::countr_zero(set); }

/// `for (event_set s = set; s != 0; s = rest(s)) use(first(s));` visits every event of `set`.
[[nodiscard]] constexpr event_set rest(event_set set) noexcept { return set & (set - 1); }

/// A relation between events: row `a` is the set of all `b` with `a -> b`.
class relation {
 public:
  [[nodiscard]] constexpr event_set& operator[](int event) noexcept { return at(rows_, event); }
  [[nodiscard]] constexpr event_set operator[](int event) const noexcept { return at(rows_, event); }

  [[nodiscard]] constexpr bool holds(int from, int to) const noexcept { return contains((*this)[from], to); }
  constexpr void add(int from, int to) noexcept { (*this)[from] |= only(to); }

  /// Returns the events that can be reached in one step from some event of `from`.
  [[nodiscard]] constexpr event_set image(event_set from) const noexcept {
    event_set result = 0;
    for (; from != 0; from = rest(from)) {
      result |= (*this)[first(from)];
    }
    return result;
  }

  /// Adds `from -> to` to a transitively closed relation over the first `count` events, and keeps it closed.
  constexpr void add_closed(int count, int from, int to) noexcept {
    const event_set reached = only(to) | (*this)[to];
    (*this)[from] |= reached;
    for (int before = 0; before < count; ++before) {
      // all ones if `before` reaches `from`: branch-free, so that several rows are processed at once
      const event_set reaches = event_set{0} - (((*this)[before] >> static_cast<unsigned>(from)) & 1U);
      (*this)[before] |= reached & reaches;
    }
  }

  /// Copies the first `count` rows of `other`.
  constexpr void copy(const relation& other, int count) noexcept {
    for (int row = 0; row < count; ++row) {
      (*this)[row] = other[row];
    }
  }

  /// Replaces the relation over the first `count` events with its transitive closure.
  constexpr void close(int count) noexcept {
    for (int through = 0; through < count; ++through) {
      const event_set reached = (*this)[through];
      if (reached != 0) {
        for (int before = 0; before < count; ++before) {
          if (holds(before, through)) {
            (*this)[before] |= reached;
          }
        }
      }
    }
  }

  /// Returns whether no path over `nodes` leads back to its start.
  [[nodiscard]] constexpr bool acyclic(event_set nodes) const noexcept {
    for (;;) {
      const event_set before = nodes;
      for (event_set at = nodes; at != 0; at = rest(at)) {
        if (((*this)[first(at)] & nodes) == 0) {
          nodes &= ~only(first(at));
        }
      }
      if (nodes == 0) {
        return true;
      }
      if (nodes == before) {
        return false;
      }
    }
  }

 private:
  std::array<event_set, max_events> rows_{};
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
