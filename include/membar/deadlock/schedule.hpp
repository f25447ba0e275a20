// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines which operations of a program run in its worst schedule, and which run if each stream has its own hardware queue.
#pragma once

#include <membar/deadlock/graph.hpp>
#include <membar/deadlock/orders.hpp>
#include <membar/deadlock/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock::detail {

/// Three sets of operations: those that run with one queue per device, those that run in every order of their graph, and those
/// that run with one queue per stream.
class schedule : public ordered_graph {
 public:
  schedule(const program& program, std::shared_ptr<program_parts> parts) : ordered_graph(program, std::move(parts)) { run(); }

 protected:
  /// Returns whether everything that the node waits for has happened, according to `happened`.
  template <class Happened>
  [[nodiscard]] bool may_run(std::size_t n, Happened happened) const {
    const node& each = nodes_[n];
    if (each.kind == kind_t::departs) {
      return !incomplete_[n] && std::all_of(arrivals_[n].begin(), arrivals_[n].end(), happened);
    }
    if (each.kind != kind_t::waits) {
      return true;
    }
    if (is_added_to(n)) {
      const stream_operation& operation = operation_of(n);
      std::uint64_t sum = at_start(operation.pe, operation.object);
      for (const std::size_t notification : notifications_of(n)) {
        sum += happened(notification) ? effect_of(notification).value : 0;
      }
      return condition_of(n).holds(sum);
    }
    return std::any_of(candidates_[n].begin(), candidates_[n].end(),
                       [&](std::size_t candidate) { return candidate == none || happened(candidate); });
  }

  /// Runs the program twice: with one queue per device and with one queue per stream.
  void run() {
    done_.assign(nodes_.size(), false);
    ready_.assign(nodes_.size(), false);
    std::vector<std::size_t> next(queues_.size());
    for (bool ran = true; ran;) {
      ran = run_nodes(done_, [&](std::size_t n) { return nodes_[n].unit < 0; });
      ran = run_queues(next) || ran;
    }
    free_ = done_;
    while (run_nodes(free_, [](std::size_t) { return true; })) {
    }
  }

  /// Runs the nodes that can run and for which `may` returns true. Returns whether any node ran.
  template <class May>
  bool run_nodes(std::vector<char>& done, May may) const {
    const auto happened = [&](std::size_t n) { return done[n] != 0; };
    bool changed = false;
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (!done[n] && may(n) && std::all_of(after(n).begin(), after(n).end(), happened) && may_run(n, happened)) {
        done[n] = true;
        changed = true;
      }
    }
    return changed;
  }

  /// Runs each queue as far as possible. Returns whether any node ran.
  bool run_queues(std::vector<std::size_t>& next) {
    bool changed = false;
    const auto happened = [&](std::size_t n) { return done_[n] != 0; };
    for (std::size_t queue = 0; queue != queues_.size(); ++queue) {
      for (; next[queue] != queues_[queue].size(); ++next[queue]) {
        const queue_unit& unit = queues_[queue][next[queue]];
        const std::vector<std::size_t> nodes = nodes_in(unit);
        if (unit.any_order) {
          changed = make_ready(
                        nodes, [&](std::size_t n) -> char& { return ready_[n]; }, happened,
                        [&](std::size_t a, std::size_t b) { return given_.before(a, b) || same_kernel(a, b); },
                        [&](std::size_t n, auto ran) { return may_run(n, ran); }, [&](std::size_t n) { return after(n); }) ||
                    changed;
        }
        for (const std::size_t n : nodes) {
          if (!done_[n] && !(unit.any_order && held_up(n, nodes)) && std::all_of(after(n).begin(), after(n).end(), happened) &&
              may_run(n, happened)) {
            done_[n] = true;
            changed = true;
          }
        }
        if (!std::all_of(nodes.begin(), nodes.end(), happened)) {
          break;
        }
      }
    }
    return changed;
  }

  [[nodiscard]] std::vector<std::size_t> nodes_in(const queue_unit& unit) const {
    std::vector<std::size_t> result;
    for (std::size_t n = unit.first; n != unit.end; ++n) {
      if (nodes_[n].unit >= 0) {
        result.push_back(n);
      }
    }
    return result;
  }

  /// Returns whether some order of the graph puts a node that is still waiting before this node.
  [[nodiscard]] bool held_up(std::size_t n, const std::vector<std::size_t>& unit) const {
    return std::any_of(unit.begin(), unit.end(), [&](std::size_t other) {
      return nodes_[other].blocks && !ready_[other] && !given_.before(n, other) && !(other != n && same_kernel(other, n));
    });
  }

  std::vector<char> done_;   ///< nodes that run with one queue per device
  std::vector<char> ready_;  ///< nodes of graphs that run in every order of their graph
  std::vector<char> free_;   ///< nodes that run with one queue per stream
};

}  // namespace deadlock::detail
}  // namespace v0_3
}  // namespace membar
