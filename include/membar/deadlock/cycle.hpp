// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The cycle that shows why a program hangs.
#pragma once

#include <membar/deadlock/program.hpp>
#include <membar/deadlock/schedule.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <memory>
#include <queue>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock::detail {

/// Finds the shortest cycle among the operations that never run.
class cycle_finder : public schedule {
 public:
  cycle_finder(const program& program, std::shared_ptr<program_parts> parts) : schedule(program, std::move(parts)) {}

 protected:
  struct edge {
    std::size_t to = 0;
    std::size_t cost = 0;
    const char* how = "";
    bool by_host = false;  ///< whether the cause is a host wait and not a stream
  };
  static constexpr std::size_t false_dependency = 1000;

  /// Returns the operations where the program is stuck: the operations that have not run even though everything ordered before
  /// them by a stream, an event or the host has run.
  [[nodiscard]] std::vector<std::size_t> heads(const std::vector<char>& ran) const {
    std::vector<std::size_t> result;
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (!ran[n] && std::all_of(after(n).begin(), after(n).end(),
                                 [&](std::size_t before) { return ran[before] || (&ran == &done_ && ready_[before]); })) {
        result.push_back(n);
      }
    }
    return result;
  }

  /// Returns the operations that block the queues, with one queue per device.
  [[nodiscard]] std::vector<std::size_t> fronts() const {
    std::vector<std::size_t> result;
    for (const std::vector<queue_unit>& queue : queues_) {
      for (const queue_unit& unit : queue) {
        const std::size_t before = result.size();
        const std::vector<std::size_t> nodes = nodes_in(unit);
        std::copy_if(nodes.begin(), nodes.end(), std::back_inserter(result),
                     [&](std::size_t n) { return !done_[n] && nodes_[n].blocks; });
        if (result.size() != before) {
          break;
        }
      }
    }
    return result;
  }

  /// Returns the operations that prevent a node from running: the first operations before it that have not run, the operation
  /// that blocks its queue, and the operations that it waits for.
  [[nodiscard]] std::vector<edge> blockers(std::size_t n, const std::vector<char>& ran, const std::vector<std::size_t>& heads,
                                           const std::vector<std::size_t>& fronts) const {
    std::vector<edge> result;
    const node& each = nodes_[n];
    for (const std::size_t other : heads) {
      if (given_.before(other, n)) {
        const bool by_host = host_puts_after(n, other, ran);
        result.push_back({other, nodes_[other].blocks ? 1U : 2U, by_host ? "is enqueued only after" : how_after(n), by_host});
      }
    }
    for (const std::size_t other : fronts) {
      if (other != n && queue_puts_after(n, other)) {
        result.push_back({other, false_dependency, "may share a hardware queue with, and then follow,"});
      }
    }
    if (each.kind == kind_t::waits) {
      for (const std::size_t notification : notifications_of(n)) {
        if (!ran[notification] && (operation_of(notification).effect.adds || brings(notification, n))) {
          result.push_back({notification, 1, "waits for"});
        }
      }
    }
    for (const std::size_t arrival : arrivals_[n]) {
      if (!ran[arrival]) {
        result.push_back({arrival, 1, "waits for"});
      }
    }
    return result;
  }

  /// Returns whether the host enqueues `n` after it has waited for `other`, which is in another stream or is the host wait
  /// itself.
  [[nodiscard]] bool host_puts_after(std::size_t n, std::size_t other, const std::vector<char>& ran) const {
    if (nodes_[n].unit < 0 ||
        (nodes_[other].unit >= 0 && operation_of(n).stream == operation_of(other).stream && nodes_[n].pe == nodes_[other].pe)) {
      return false;
    }
    for (std::size_t host = 0; host != nodes_.size(); ++host) {
      if (!ran[host] && nodes_[host].unit < 0 && nodes_[host].blocks && given_.before(host, n) &&
          (host == other || given_.before(other, host))) {
        return true;
      }
    }
    return false;
  }

  /// Returns whether a queue may run `n` after `other` even though nothing orders them.
  [[nodiscard]] bool queue_puts_after(std::size_t n, std::size_t other) const {
    const node& each = nodes_[n];
    if (nodes_[other].queue != each.queue || nodes_[other].unit > each.unit || given_.before(other, n)) {
      return false;
    }
    return nodes_[other].unit < each.unit ||
           (unit_of(n).any_order && !ready_[other] && !given_.before(n, other) && !same_kernel(other, n));
  }

  /// Returns "comes after", or "waits for" for host waits.
  [[nodiscard]] const char* how_after(std::size_t n) const {
    if (nodes_[n].unit < 0 && nodes_[n].blocks && nodes_[n].kind == kind_t::passes) {
      return "waits for";
    }
    return "comes after";
  }

  using path = std::vector<std::pair<std::size_t, edge>>;

  /// Returns the shortest cycle through the operations where the program is stuck if each stream has its own queue. If there is
  /// no such cycle, returns the cycle with the fewest false dependencies, which exist only because streams share a queue, and
  /// among these cycles the shortest.
  [[nodiscard]] path shortest_cycle() const {
    const bool only_by_queues = std::find(free_.begin(), free_.end(), 0) == free_.end();
    const std::vector<char>& ran = only_by_queues ? done_ : free_;
    const std::vector<std::size_t> from = heads(ran);
    const std::vector<std::size_t> queues = only_by_queues ? fronts() : std::vector<std::size_t>();
    std::vector<std::vector<edge>> edges(nodes_.size());
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (!ran[n]) {
        edges[n] = blockers(n, ran, from, queues);
      }
    }
    path best;
    std::size_t best_cost = none;
    for (const std::size_t head : only_by_queues ? queues : from) {
      find_cycle(head, only_by_queues, edges, best, best_cost);
    }
    return best;
  }

  /// Replaces `best` with the cheapest cycle through `start`, if that cycle costs less. With `only_by_queues`, at least one of
  /// the cycle's dependencies must be a false dependency.
  void find_cycle(std::size_t start, bool only_by_queues, const std::vector<std::vector<edge>>& edges, path& best,
                  std::size_t& best_cost) const {
    // A state is a node and a flag that indicates whether a false dependency led to the node.
    std::vector<std::size_t> cost(2 * nodes_.size(), none);
    path came(2 * nodes_.size());
    using entry = std::pair<std::size_t, std::size_t>;
    std::priority_queue<entry, std::vector<entry>, std::greater<>> open;
    const std::size_t goal = 2 * start + (only_by_queues ? 1 : 0);
    bool begun = false;
    open.push({0, 2 * start});
    while (!open.empty()) {
      const auto [so_far, state] = open.top();
      open.pop();
      if ((begun && state == goal) || so_far >= best_cost) {
        break;
      }
      if (begun && so_far != cost[state]) {
        continue;
      }
      begun = true;
      for (const edge& each : edges[state / 2]) {
        const std::size_t to = 2 * each.to + (each.cost >= false_dependency ? 1 : state % 2);
        if (so_far + each.cost < cost[to]) {
          cost[to] = so_far + each.cost;
          came[to] = {state, each};
          open.push({cost[to], to});
        }
      }
    }
    if (cost[goal] < best_cost) {
      best_cost = cost[goal];
      best.clear();
      std::size_t state = goal;
      do {
        best.push_back({came[state].first / 2, came[state].second});
        state = came[state].first;
      } while (state != 2 * start);
      std::reverse(best.begin(), best.end());
    }
  }
};

}  // namespace deadlock::detail
}  // namespace v0_3
}  // namespace membar
