// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The Fence-SC order of an execution: whether some order of its `fence.sc` is consistent, and which accesses race in one.
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

/// Looks for an order of fences: of each pair of `pairs` one before the other, without a cycle together with what precedes already, and so
/// that no fence leads to one that it is never before.
class fence_pairs {
 public:
  using pair = std::pair<std::size_t, std::size_t>;

  explicit fence_pairs(std::size_t fences)
      : fences_(fences), width_((fences + 63) / 64), after_(fences * width_, 0), never_(fences * width_, 0) {}

  /// `from` precedes `to`. Who calls this names all that follows from that.
  void set_before(std::size_t from, std::size_t to) { set(after_, from, to); }

  /// No order may lead from `from` to `to`. `from` must not precede `to` already.
  void set_never_before(std::size_t from, std::size_t to) { set(never_, from, to); }

  /// One of the two must precede the other; if nothing speaks against it, `first`.
  void relate(std::size_t first, std::size_t second) { pairs_.emplace_back(first, second); }

  /// Whether an order that fulfils the constraints exists.
  [[nodiscard]] bool exists();

 private:
  using matrix = std::vector<std::uint64_t>;

  /// The fences that follow each fence, and the fences that must not follow it, because of itself or of a fence before it.
  struct state {
    matrix after;
    matrix never;
  };

  void set(matrix& m, std::size_t from, std::size_t to) const noexcept;
  [[nodiscard]] bool has(const matrix& m, std::size_t from, std::size_t to) const noexcept;
  void merge(matrix& to, std::size_t row, const matrix& from, std::size_t of) const noexcept;

  [[nodiscard]] bool may_precede(const state& now, std::size_t f, std::size_t g) const noexcept;

  // Lets f precede g, which must not precede f.
  void add(state& now, std::size_t f, std::size_t g) const;

  // Adds what is forced until nothing is, and leaves in `open` the pairs that may go both ways. False if a pair may go neither way.
  [[nodiscard]] bool force(state& now, std::vector<pair>& open) const;

  [[nodiscard]] bool orient(state& now, std::vector<pair> open);

  std::size_t fences_;
  std::size_t width_;
  matrix after_;
  matrix never_;
  std::vector<pair> pairs_{};
};

}  // namespace detail

/// Whether the order in which the `fence.sc` of a graph were added, a Fence-SC order before `e` was there, is one with `e`, which nothing in the
/// graph follows but a read of it.
[[nodiscard]] bool keeps_fence_order(const graph& g, const event_rules& rules, const graph_event& e);

/// Whether `x` comes before `y` in every Fence-SC order of a graph, because of one fence after `x` and one before `y`. False: not known.
[[nodiscard]] bool are_ordered_by_fences(const graph& g, const event_rules& rules, const graph_event& x, const graph_event& y);

/// Whether every Fence-SC order of a graph breaks an axiom because of `e` and one write that it comes before in its location's coherence, by
/// one fence after that and one before `e`. False: not known.
[[nodiscard]] bool breaks_every_fence_order(const graph& g, const event_rules& rules, const graph_event& e);

/// Looks for a Fence-SC order of a graph.
class fence_order {
 public:
  fence_order(const graph& g, const event_rules& rules);

  /// Whether some order is consistent. `suspects` are accesses that conflict and are not morally strong: two that are not ordered in some
  /// consistent order are a race.
  [[nodiscard]] bool search(const std::vector<std::pair<const graph_event*, const graph_event*>>& suspects);

  /// The accesses that race in some consistent order; null if there are none.
  [[nodiscard]] const std::pair<const graph_event*, const graph_event*>* race() const noexcept { return race_; }

 private:
  using matrix = std::vector<std::uint64_t>;

  [[nodiscard]] bool holds(const matrix& m, std::size_t from, std::size_t to) const noexcept;
  void add(matrix& m, std::size_t from, std::size_t to) const noexcept;
  [[nodiscard]] std::size_t index_of(const graph_event& e) const noexcept;

  /// Calls `use` with each read of a location and each write of the location that it observes.
  template <class Use>
  void each_observation(std::size_t location, Use use) const;

  /// Lets `w` not causally precede `e`, by base causality or through a read that observes it.
  void keep_from(matrix& never_after, const graph_event& w, const graph_event& e) const;

  /// Axioms Coherence and Causality, where the order of the location's writes is known: a write does not causally precede an earlier write,
  /// nor a read that takes an earlier one; and a read does not precede its source.
  void read_axioms(std::size_t location);

  /// Whether there is an order in which no event follows one that it is never after.
  [[nodiscard]] bool exists(const matrix& never_after) const;

  const graph& graph_;
  const event_rules& rules_;
  std::vector<const graph_event*> events_{};
  std::vector<std::size_t> fences_{};  ///< places of the `fence.sc` in `events_`
  std::vector<int> first_{};
  std::size_t width_ = 0;
  matrix base_{};
  matrix never_after_{};  ///< of each event those that must not follow from it
  const std::pair<const graph_event*, const graph_event*>* race_ = nullptr;
};

}  // namespace membar::check
