// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The Fence-SC order of an execution: whether some order of its `fence.sc` is consistent, and which accesses race in one.
///
/// The order is no part of an execution's identity. Clocks cannot hold it, because it may lead from a new event to an old one,
/// so that base causality is a matrix here. Source: PTX ISA, "Fence-SC order", "Axiom: Fence-SC".
#pragma once

#include <membar/check/graph.hpp>
#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace membar::inline v0_2::checker {

/// Looks for a Fence-SC order of a graph.
class fence_order {
 public:
  fence_order(const graph& g, const event_rules& rules) : graph_(g), rules_(rules) {
    for (const thread_line& t : g.threads) {
      first_.push_back(model::count_of(events_));
      events_.insert(events_.end(), t.events.begin(), t.events.end());
    }
    width_ = (events_.size() + 63) / 64;
    base_.assign(events_.size() * width_, 0);
    for (std::size_t i = 0; i < events_.size(); ++i) {
      for (std::size_t t = 0; t < first_.size(); ++t) {
        for (int k = 0; k < events_[i]->base[t]; ++k) {
          const std::size_t before = static_cast<std::size_t>(first_[t] + k);
          if (before != i) {
            add(base_, before, i);
          }
        }
      }
    }
    for (std::size_t i = 0; i < events_.size(); ++i) {
      for (std::size_t j = i + 1; j < events_.size(); ++j) {
        if (events_[i]->sequential && events_[j]->sequential && rules.morally_strong(*events_[i], *events_[j]) &&
            !holds(base_, i, j) && !holds(base_, j, i)) {
          pairs_.emplace_back(i, j);
        }
      }
    }
  }

  /// Whether some order is consistent. `suspects` are accesses that conflict and are not morally strong: two that are not ordered in some
  /// consistent order are a race.
  [[nodiscard]] bool search(const std::vector<std::pair<const graph_event*, const graph_event*>>& suspects) {
    for (const auto& s : suspects) {
      if (exists(&s)) {
        race_ = &s;
        return true;
      }
    }
    return exists(nullptr);
  }

  /// The accesses that race in some consistent order; null if there are none.
  [[nodiscard]] const std::pair<const graph_event*, const graph_event*>* race() const noexcept { return race_; }

 private:
  using matrix = std::vector<std::uint64_t>;

  [[nodiscard]] bool holds(const matrix& m, std::size_t from, std::size_t to) const noexcept {
    return ((m[from * width_ + to / 64] >> (to % 64)) & 1U) != 0;
  }
  void add(matrix& m, std::size_t from, std::size_t to) const noexcept {
    m[from * width_ + to / 64] |= std::uint64_t{1} << (to % 64);
  }
  [[nodiscard]] std::size_t index_of(const graph_event& e) const noexcept {
    return static_cast<std::size_t>(model::at(first_, e.thread) + e.number);
  }

  /// Whether there is a consistent order that does not order the two `suspects`, if there are any.
  [[nodiscard]] bool exists(const std::pair<const graph_event*, const graph_event*>* suspects) {
    suspects_ = suspects;
    thorough_ = false;  // the first order that comes to mind is most often right
    const matrix before = base_;
    bool found = orient(0) == answer::yes;
    if (!found) {
      thorough_ = true;
      base_ = before;
      found = orient(0) == answer::yes;
    }
    base_ = before;
    return found;
  }

  enum class answer : unsigned char { yes, no, stop };

  /// Orders the pairs from number `next` on. What is ordered stays so, and an axiom that is broken stays broken: so a search ends where one is.
  [[nodiscard]] answer orient(std::size_t next) {
    if (suspects_ != nullptr &&
        (causes(*suspects_->first, index_of(*suspects_->second)) || causes(*suspects_->second, index_of(*suspects_->first)))) {
      return answer::no;
    }
    if (thorough_ && !holds_here()) {
      return answer::no;
    }
    while (next < pairs_.size() &&
           (holds(base_, pairs_[next].first, pairs_[next].second) || holds(base_, pairs_[next].second, pairs_[next].first))) {
      ++next;
    }
    if (next == pairs_.size()) {
      return thorough_ || holds_here() ? answer::yes : answer::stop;
    }
    const matrix before = base_;
    const auto [x, y] = pairs_[next];
    const bool as_added = events_[x]->stamp < events_[y]->stamp;
    for (const bool way : {as_added, !as_added}) {
      const std::size_t from = way ? x : y;
      const std::size_t to = way ? y : x;
      for (std::size_t i = 0; i < events_.size(); ++i) {
        if (i == from || holds(before, i, from)) {
          add(base_, i, to);
          for (std::size_t w = 0; w < width_; ++w) {
            base_[i * width_ + w] |= before[to * width_ + w];
          }
        }
      }
      if (const answer found = orient(next + 1); found != answer::no) {
        return found;
      }
      base_ = before;
    }
    return answer::no;
  }

  [[nodiscard]] bool causes(const graph_event& w, std::size_t e) const {
    if (holds(base_, index_of(w), e)) {
      return true;
    }
    if (w.kind == model::event_kind::write) {
      for (const graph_event* r : model::at(graph_.reads, w.location)) {
        if (holds(base_, index_of(*r), e) && rules_.observes(*r, w)) {
          return true;
        }
      }
    }
    return false;
  }

  /// Axioms Coherence and Causality, where the order of each location's writes is known.
  [[nodiscard]] bool holds_here() const {
    for (const auto& order : graph_.order) {
      for (int i = 1; i < model::count_of(order); ++i) {
        for (int j = i + 1; j < model::count_of(order); ++j) {
          if (causes(*model::at(order, j), index_of(*model::at(order, i)))) {
            return false;
          }
        }
      }
    }
    for (std::size_t l = 0; l < graph_.reads.size(); ++l) {
      const auto& order = graph_.order[l];
      for (const graph_event* r : graph_.reads[l]) {
        if (r->mixed) {
          continue;
        }
        const std::size_t me = index_of(*r);
        if (r->source != nullptr && holds(base_, me, index_of(*r->source))) {
          return false;
        }
        for (int j = event_rules::place_in(order, r->source) + 1; j < model::count_of(order); ++j) {
          if (causes(*model::at(order, j), me)) {
            return false;
          }
        }
      }
    }
    return true;
  }

  const graph& graph_;
  const event_rules& rules_;
  std::vector<const graph_event*> events_{};
  std::vector<int> first_{};
  std::size_t width_ = 0;
  matrix base_{};
  std::vector<std::pair<std::size_t, std::size_t>> pairs_{};
  const std::pair<const graph_event*, const graph_event*>* suspects_ = nullptr;
  bool thorough_ = false;  ///< look at the axioms at every step, not in the end alone
  const std::pair<const graph_event*, const graph_event*>* race_ = nullptr;
};

}  // namespace membar::inline v0_2::checker
