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

  /// Whether some order is consistent. `suspects` are accesses that conflict and are not morally strong: the search goes on to
  /// a consistent order in which two of them race.
  [[nodiscard]] bool search(const std::vector<std::pair<const graph_event*, const graph_event*>>& suspects) {
    suspects_ = &suspects;
    static_cast<void>(orient(0));
    return consistent_;
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

  /// False to end the search.
  bool orient(std::size_t next) {
    while (next < pairs_.size() &&
           (holds(base_, pairs_[next].first, pairs_[next].second) || holds(base_, pairs_[next].second, pairs_[next].first))) {
      ++next;
    }
    if (next == pairs_.size()) {
      return leaf();
    }
    const matrix before = base_;
    for (int way = 0; way < 2; ++way) {
      const auto [from, to] = way == 0 ? pairs_[next] : std::pair(pairs_[next].second, pairs_[next].first);
      for (std::size_t i = 0; i < events_.size(); ++i) {
        if (i == from || holds(before, i, from)) {
          add(base_, i, to);
          for (std::size_t w = 0; w < width_; ++w) {
            base_[i * width_ + w] |= before[to * width_ + w];
          }
        }
      }
      const bool more = orient(next + 1);
      base_ = before;
      if (!more) {
        return false;
      }
    }
    return true;
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

  bool leaf() {
    if (!holds_here()) {
      return true;
    }
    consistent_ = true;
    for (const auto& s : *suspects_) {
      if (!causes(*s.first, index_of(*s.second)) && !causes(*s.second, index_of(*s.first))) {
        race_ = &s;
        return false;
      }
    }
    return !suspects_->empty();
  }

  const graph& graph_;
  const event_rules& rules_;
  std::vector<const graph_event*> events_{};
  std::vector<int> first_{};
  std::size_t width_ = 0;
  matrix base_{};
  std::vector<std::pair<std::size_t, std::size_t>> pairs_{};
  const std::vector<std::pair<const graph_event*, const graph_event*>>* suspects_ = nullptr;
  bool consistent_ = false;
  const std::pair<const graph_event*, const graph_event*>* race_ = nullptr;
};

}  // namespace membar::inline v0_2::checker
