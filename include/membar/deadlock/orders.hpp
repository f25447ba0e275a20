// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines which operations of a program are ordered before others in every schedule.
#pragma once

#include <membar/deadlock/graph.hpp>
#include <membar/deadlock/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock::detail {

/// Stores, for each node, a row of bits that marks the nodes ordered before it.
class order_matrix {
 public:
  explicit order_matrix(std::size_t size) : words_((size + 63) / 64), rows_(size * words_) {}

  [[nodiscard]] bool before(std::size_t first, std::size_t second) const noexcept {
    return (rows_[second * words_ + first / 64] >> (first % 64) & 1U) != 0;
  }
  /// Orders `first` and all its predecessors before `second`. Returns whether this adds an order.
  bool add(std::size_t first, std::size_t second) noexcept {
    bool changed = !before(first, second);
    rows_[second * words_ + first / 64] |= std::uint64_t{1} << (first % 64);
    for (std::size_t i = 0; i != words_; ++i) {
      const std::uint64_t joined = rows_[second * words_ + i] | rows_[first * words_ + i];
      changed = changed || joined != rows_[second * words_ + i];
      rows_[second * words_ + i] = joined;
    }
    return changed;
  }
  /// Orders the common predecessors of all nodes in `some` before `second`. In this function, each node counts as its own
  /// predecessor. Returns whether this adds an order.
  bool add_common(const std::vector<std::size_t>& some, std::size_t second) noexcept {
    bool changed = false;
    for (std::size_t i = 0; i != words_; ++i) {
      std::uint64_t common = ~std::uint64_t{0};
      for (const std::size_t each : some) {
        common &= rows_[each * words_ + i] | (each / 64 == i ? std::uint64_t{1} << (each % 64) : 0);
      }
      changed = changed || (common & ~rows_[second * words_ + i]) != 0;
      rows_[second * words_ + i] |= common;
    }
    return changed;
  }

 private:
  std::size_t words_;
  std::vector<std::uint64_t> rows_;
};

/// A graph and the orders that hold in every schedule. These follow from streams, events, host waits and collectives, from the
/// common predecessors of all notifications that can end a wait, and from the notifications without which a counter cannot
/// reach the awaited value.
class ordered_graph : public graph {
 public:
  explicit ordered_graph(const program& program, std::shared_ptr<program_parts> parts)
      : graph(program, std::move(parts)), given_(nodes_.size()), order_(0) {
    match_collectives();
    find_orders();
  }

 protected:
  [[nodiscard]] bool is_added_to(std::size_t wait) const {
    const std::vector<std::size_t>& all = notifications_of(wait);
    return !all.empty() && operation_of(all.front()).effect.adds;
  }

  [[nodiscard]] bool brings(std::size_t notification, std::size_t wait) const {
    return condition_of(wait).holds(effect_of(notification).value);
  }

  /// Returns whether the signal is set between `first` (or the start) and the wait in every schedule; `first` then does not end
  /// the wait.
  [[nodiscard]] bool replaced_before(std::size_t first, std::size_t wait) const {
    const std::vector<std::size_t>& all = notifications_of(wait);
    return std::any_of(all.begin(), all.end(), [&](std::size_t other) {
      return other != first && order_.before(other, wait) && (first == none || order_.before(first, other));
    });
  }

  /// Returns the set operations whose value may end the wait; `none` stands for the initial value.
  [[nodiscard]] std::vector<std::size_t> candidates(std::size_t wait) const {
    std::vector<std::size_t> result;
    const stream_operation& operation = operation_of(wait);
    if (condition_of(wait).holds(at_start(operation.pe, operation.object)) && !replaced_before(none, wait)) {
      result.push_back(none);
    }
    for (const std::size_t each : notifications_of(wait)) {
      if (brings(each, wait) && !order_.before(wait, each) && !replaced_before(each, wait)) {
        result.push_back(each);
      }
    }
    return result;
  }

  /// Returns the largest value that a counter can have when the wait ends if the notification `but` has not run by then.
  [[nodiscard]] std::uint64_t most(std::size_t wait, std::size_t but) const {
    const stream_operation& operation = operation_of(wait);
    std::uint64_t sum = at_start(operation.pe, operation.object);
    for (const std::size_t each : notifications_of(wait)) {
      const bool counts = each != but && !order_.before(but, each) && !order_.before(wait, each);
      sum += counts ? effect_of(each).value : 0;
    }
    return sum;
  }

  /// Finds the predecessors of each departure from a collective.
  void match_collectives() {
    arrivals_.resize(nodes_.size());
    incomplete_.assign(nodes_.size(), 0);
    for (const call& each : calls_) {
      if (each.departure == none) {
        continue;  // nothing waits for the collective yet
      }
      for (const int member : members(each.team)) {
        const std::vector<std::size_t>* const theirs = calls_of(each.team, member);
        if (theirs == nullptr || theirs->size() <= each.number) {
          incomplete_[each.departure] = 1;
        } else {
          arrivals_[each.departure].push_back(calls_[(*theirs)[each.number]].arrival);
        }
      }
    }
  }

  /// Finds the orders as a least fixed point: each order follows from orders found before it.
  void find_orders() {
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      for (const std::size_t before : after(n)) {
        given_.add(before, n);
      }
    }
    order_ = given_;
    std::set<std::pair<std::size_t, std::size_t>> derived;
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      for (const std::size_t arrival : arrivals_[n]) {
        derived.insert({arrival, n});
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [first, second] : derived) {
        changed = order_.add(first, second) || changed;
      }
      for (std::size_t n = 0; n != nodes_.size(); ++n) {
        for (const std::size_t before : after(n)) {
          changed = order_.add(before, n) || changed;
        }
      }
      if (changed) {
        continue;
      }
      for (std::size_t n = 0; n != nodes_.size(); ++n) {
        if (nodes_[n].kind != kind_t::waits) {
          continue;
        }
        if (is_added_to(n)) {
          for (const std::size_t each : notifications_of(n)) {
            if (!condition_of(n).holds(most(n, each)) && !order_.before(n, each)) {
              changed = derived.insert({each, n}).second || changed;
            }
          }
        } else {
          const std::vector<std::size_t> possible = candidates(n);
          if (!possible.empty() && possible.front() != none) {
            changed = order_.add_common(possible, n) || changed;
          }
        }
      }
    }
    candidates_.resize(nodes_.size());
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (nodes_[n].kind == kind_t::waits && !is_added_to(n)) {
        candidates_[n] = candidates(n);
      }
    }
  }

  order_matrix given_;  ///< only the orders that follow from streams, events, the host and kernels
  order_matrix order_;
  std::vector<std::vector<std::size_t>> arrivals_;    ///< the arrivals of each departure
  std::vector<char> incomplete_;                      ///< departures of collectives that some member does not call
  std::vector<std::vector<std::size_t>> candidates_;  ///< for each wait for a value that is set: the sets that may end it
};

}  // namespace deadlock::detail
}  // namespace v0_3
}  // namespace membar
