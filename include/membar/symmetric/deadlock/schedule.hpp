// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What of a program runs in its worst schedule, and what runs whatever hardware queues there are.
#pragma once

#include <membar/symmetric/deadlock/orders.hpp>
#include <membar/symmetric/deadlock/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace membar::inline v0_2::symmetric::deadlock::detail {

/// A program that has been run with one queue for each device, its graphs in every order, and with one queue for each stream.
class schedule : public ordered_graph {
 public:
  explicit schedule(const program& program) : ordered_graph(program) { run(); }

 protected:
  /// Whether what the node waits for has happened, if `happened` says so of each other node.
  template <class Happened>
  [[nodiscard]] bool may_run(std::size_t n, Happened happened) const {
    const node& each = nodes_[n];
    if (each.kind == kind_t::departs) {
      return each.complete && std::all_of(each.arrivals.begin(), each.arrivals.end(), happened);
    }
    if (each.kind != kind_t::waits) {
      return true;
    }
    if (is_added_to(n)) {
      const stream_operation& operation = operation_of(n);
      std::uint64_t sum = at_start(operation.pe, operation.object);
      for (const std::size_t notification : notifications_of(n)) {
        sum += happened(notification) ? operation_of(notification).effect.value : 0;
      }
      return operation.condition.holds(sum);
    }
    return std::any_of(candidates_[n].begin(), candidates_[n].end(),
                       [&](std::size_t candidate) { return candidate == none || happened(candidate); });
  }

  /// Runs the program twice: with one queue for each device, and with one for each stream.
  void run() {
    done_.assign(nodes_.size(), false);
    ready_.assign(nodes_.size(), false);
    std::vector<std::size_t> next(units_.size());
    while (run_nodes(done_, [&](std::size_t n) { return nodes_[n].unit < 0; }) | run_queues(next)) {
    }
    free_ = done_;
    while (run_nodes(free_, [](std::size_t) { return true; })) {
    }
  }

  /// Runs the nodes that can run, among those for which `may` is true. Returns whether any did.
  template <class May>
  bool run_nodes(std::vector<char>& done, May may) const {
    const auto happened = [&](std::size_t n) { return done[n] != 0; };
    bool changed = false;
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (!done[n] && may(n) && std::all_of(nodes_[n].after.begin(), nodes_[n].after.end(), happened) && may_run(n, happened)) {
        done[n] = true;
        changed = true;
      }
    }
    return changed;
  }

  /// Runs each PE's queue as far as it goes. Returns whether anything ran.
  bool run_queues(std::vector<std::size_t>& next) {
    bool changed = false;
    const auto happened = [&](std::size_t n) { return done_[n] != 0; };
    for (std::size_t pe = 0; pe != units_.size(); ++pe) {
      for (; next[pe] != units_[pe].size(); ++next[pe]) {
        const queue_unit& unit = units_[pe][next[pe]];
        if (unit.any_order) {
          changed = make_ready(unit) || changed;
        }
        for (const std::size_t n : unit.nodes) {
          if (!done_[n] && !(unit.any_order && held_up(n, unit)) &&
              std::all_of(nodes_[n].after.begin(), nodes_[n].after.end(), happened) && may_run(n, happened)) {
            done_[n] = true;
            changed = true;
          }
        }
        if (!std::all_of(unit.nodes.begin(), unit.nodes.end(), happened)) {
          break;
        }
      }
    }
    return changed;
  }

  /// In a graph: finds the nodes that run in every order of it, because what they depend on does. Returns whether there are
  /// more than before.
  bool make_ready(const queue_unit& unit) {
    bool any = false;
    for (bool changed = true; changed;) {
      changed = false;
      for (const std::size_t n : unit.nodes) {
        const bool reached = std::all_of(nodes_[n].after.begin(), nodes_[n].after.end(),
                                         [&](std::size_t before) { return done_[before] || ready_[before]; });
        if (!ready_[n] && reached && may_run(n, [&](std::size_t other) {
              return done_[other] || (ready_[other] && (given_.before(other, n) || same_kernel(other, n)));
            })) {
          ready_[n] = true;
          changed = true;
        }
      }
      any = any || changed;
    }
    return any;
  }

  [[nodiscard]] bool same_kernel(std::size_t a, std::size_t b) const noexcept {
    return nodes_[a].kernel != 0 && nodes_[a].kernel == nodes_[b].kernel;
  }

  /// Whether an order of the graph may put a node that still waits before this one.
  [[nodiscard]] bool held_up(std::size_t n, const queue_unit& unit) const {
    return std::any_of(unit.nodes.begin(), unit.nodes.end(), [&](std::size_t other) {
      return nodes_[other].blocks && !ready_[other] && !given_.before(n, other) && !(other != n && same_kernel(other, n));
    });
  }

  std::vector<char> done_;   ///< nodes that run with one queue for each device
  std::vector<char> ready_;  ///< nodes of graphs that run in every order of their graph
  std::vector<char> free_;   ///< nodes that run with one queue for each stream
};

}  // namespace membar::inline v0_2::symmetric::deadlock::detail
