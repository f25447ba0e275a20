// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The Fence-SC order of an execution: whether its `fence.sc` operations have a consistent order, and which accesses race under
/// such an order.
///
/// The order is not part of an execution's identity. Source: PTX ISA, "Fence-SC order", "Axiom: Fence-SC".
#pragma once

#include <check/graph.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace membar::check {

using namespace ptx;

namespace detail {

/// Looks for an order of fences that orders each pair in `pairs`, does not form a cycle with the existing order, and does not
/// lead from any fence to a fence that must never follow it.
class fence_pairs {
 public:
  using pair = std::pair<std::size_t, std::size_t>;

  explicit fence_pairs(std::size_t fences)
      : fences_(fences), width_((fences + 63) / 64), after_(fences * width_, 0), never_(fences * width_, 0) {}

  /// Orders `from` before `to`. The caller must also pass every pair that follows from this by transitivity.
  void set_before(std::size_t from, std::size_t to) { set(after_, from, to); }

  /// Requires that no order leads from `from` to `to`. `from` must not already precede `to`.
  void set_never_before(std::size_t from, std::size_t to) { set(never_, from, to); }

  /// Requires that one of the two fences precedes the other. `first` comes first if nothing contradicts this.
  void relate(std::size_t first, std::size_t second) { pairs_.emplace_back(first, second); }

  /// Returns whether an order that satisfies the constraints exists.
  [[nodiscard]] bool exists();

 private:
  using matrix = std::vector<std::uint64_t>;

  /// For each fence, the fences that follow it (`after`), and the fences that must not follow it because of a requirement on
  /// that fence or on a preceding one.
  struct state {
    matrix after;
    matrix never;
  };

  void set(matrix& m, std::size_t from, std::size_t to) const noexcept;
  [[nodiscard]] bool has(const matrix& m, std::size_t from, std::size_t to) const noexcept;
  void merge(matrix& to, std::size_t row, const matrix& from, std::size_t of) const noexcept;

  [[nodiscard]] bool may_precede(const state& now, std::size_t f, std::size_t g) const noexcept;

  // Orders f before g. g must not already precede f.
  void add(state& now, std::size_t f, std::size_t g) const;

  // Adds forced edges until there are no more. Leaves in `open` the pairs that may still be ordered in either direction.
  // Returns false if some pair cannot be ordered in either direction.
  [[nodiscard]] bool force(state& now, std::vector<pair>& open) const;

  [[nodiscard]] bool orient(state& now, std::vector<pair> open);

  std::size_t fences_;
  std::size_t width_;
  matrix after_;
  matrix never_;
  std::vector<pair> pairs_{};
};

/// Relations between events that an order of the fences must respect. A row of `width` words belongs to each event; bit n stands
/// for event n.
struct ordered_events {
  std::vector<std::uint64_t> base{};         ///< for each event: the events that follow it; transitively closed
  std::vector<std::uint64_t> never_after{};  ///< for each event: the events that must not follow it
  std::size_t width = 0;                     ///< the number of words in a row
  std::vector<std::size_t> fences{};         ///< the fences, as numbers of events
  std::vector<fence_pairs::pair> related{};  ///< the fences, as positions in `fences`, one of which must precede the other;
                                             ///< the first comes first if nothing contradicts this
};

/// Returns whether the related fences can be ordered so that no event follows an event that it must never follow.
[[nodiscard]] bool can_order_fences(const ordered_events& events);

}  // namespace detail

/// Returns whether the order in which a graph's `fence.sc` operations were added is still a Fence-SC order once `e` is added.
/// The order must have been a Fence-SC order before `e` was added, and only reads from `e` may follow `e` in the graph.
[[nodiscard]] bool keeps_fence_order(const graph& g, const event_rules& rules, const graph_event& e);

/// Returns whether `x` precedes `y` in every Fence-SC order of a graph because of one fence after `x` and one fence before `y`.
/// False means that this is unknown.
[[nodiscard]] bool are_ordered_by_fences(const graph& g, const event_rules& rules, const graph_event& x, const graph_event& y);

/// Returns whether every Fence-SC order of a graph breaks an axiom because of `e` and a write that follows `e` in its
/// location's coherence, through one fence after that write and one fence before `e`. False means that this is unknown.
[[nodiscard]] bool breaks_every_fence_order(const graph& g, const event_rules& rules, const graph_event& e);

/// Looks for a Fence-SC order of a graph.
class fence_order {
 public:
  fence_order(const graph& g, const event_rules& rules);

  /// Returns whether a consistent order exists. `suspects` are pairs of conflicting accesses that are not morally strong. If
  /// some consistent order leaves such a pair unordered, the pair is a race.
  [[nodiscard]] bool search(const std::vector<std::pair<const graph_event*, const graph_event*>>& suspects);

  /// Returns the accesses that race under some consistent order, or null if there are none.
  [[nodiscard]] const std::pair<const graph_event*, const graph_event*>* race() const noexcept { return race_; }

 private:
  void add(std::vector<std::uint64_t>& relation, std::size_t from, std::size_t to) const noexcept;
  [[nodiscard]] std::size_t index_of(const graph_event& e) const noexcept;

  /// Calls `use` with each pair of a read of a location and a write to the location that the read observes.
  template <class Use>
  void each_observation(std::size_t location, Use use) const;

  /// Requires that `w` does not causally precede `e` in any of the ways that `event_rules::causes` names.
  void keep_from(std::vector<std::uint64_t>& never_after, const graph_event& w, const graph_event& e) const;

  /// Adds the requirements of the axioms Coherence and Causality, given the order of the location's writes: a write does not
  /// causally precede an earlier write or a read of an earlier write, and a read does not precede its source.
  void read_axioms(std::size_t location);

  const graph& graph_;
  const event_rules& rules_;
  std::vector<const graph_event*> events_{};
  std::vector<int> first_{};
  detail::ordered_events order_{};
  const std::pair<const graph_event*, const graph_event*>* race_ = nullptr;
};

}  // namespace membar::check
