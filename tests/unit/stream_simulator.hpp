// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Runs a small `program` in every schedule: every assignment of streams to hardware queues, every order of the nodes
/// of a captured graph, every interleaving. Written after the definition in deadlock/check.hpp, and slow.
#pragma once

#include <membar/symmetric/deadlock/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

namespace membar_test::stream_simulator {

namespace symmetric = membar::symmetric;

using membar::symmetric::deadlock::handle;
using membar::symmetric::deadlock::operation_kind;
using membar::symmetric::deadlock::program;
using membar::symmetric::deadlock::stream_operation;

/// What happens in some schedule.
struct outcome {
  bool hangs = false;                  ///< in some schedule
  bool hangs_with_own_queues = false;  ///< with a queue for each stream, and graphs that run as parallel as their edges allow
  bool collectives_at_once = false;    ///< of one team and PE
  bool copy_overtaken = false;         ///< something reached the heap before a host copy that had returned
  std::size_t schedules = 0;
};

class simulator {
 public:
  explicit simulator(const program& program) : program_(program) {}

  [[nodiscard]] outcome run() {
    // For each PE the streams that it uses.
    std::map<int, std::vector<handle>> streams;
    for (const stream_operation& each : program_.operations) {
      auto& of_pe = streams[each.pe];
      if (is_enqueued(each) && std::find(of_pe.begin(), of_pe.end(), each.stream) == of_pe.end()) {
        of_pe.push_back(each.stream);
      }
    }
    std::vector<std::pair<int, handle>> all;
    for (const auto& [pe, of_pe] : streams) {
      for (const handle stream : of_pe) {
        all.push_back({pe, stream});
      }
    }
    own_queues_ = true;
    for (std::size_t i = 0; i != all.size(); ++i) {
      queue_of_[all[i]] = static_cast<int>(i);
    }
    any_order_ = true;
    order_graphs(0);
    own_queues_ = false;
    any_order_ = false;
    partition(all, 0);
    return result_;
  }

 private:
  struct item {
    enum class kind_t { passes, notifies, waits, arrives, departs } kind = kind_t::passes;
    std::size_t operation = 0;
    std::uint64_t after = 0;  ///< items
    std::size_t number = 0;   ///< of a collective: which call of its PE and team
    std::uint64_t arrivals = 0;
    bool complete = true;
  };

  static bool is_host(const stream_operation& each) {
    return each.kind == operation_kind::host_collective || each.kind == operation_kind::host_stream ||
           each.kind == operation_kind::host_event || each.kind == operation_kind::host_pe;
  }
  static bool is_enqueued(const stream_operation& each) { return each.graph == 0 && !is_host(each); }
  static bool is_step(const stream_operation& each) { return each.kernel != 0 && each.kind != operation_kind::kernel; }

  /// Every assignment of the streams from `next` on to queues of their PE.
  void partition(const std::vector<std::pair<int, handle>>& all, std::size_t next) {
    if (next == all.size()) {
      order_graphs(0);
      return;
    }
    std::set<int> used;
    for (std::size_t i = 0; i != next; ++i) {
      if (all[i].first == all[next].first) {
        used.insert(queue_of_[all[i]]);
      }
    }
    used.insert(static_cast<int>(next));  // a queue of its own
    for (const int queue : used) {
      queue_of_[all[next]] = queue;
      partition(all, next + 1);
    }
  }

  /// The operations captured in a graph, steps of kernels left out.
  [[nodiscard]] std::vector<std::size_t> captured(unsigned graph) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i != program_.operations.size(); ++i) {
      if (program_.operations[i].graph == graph && !is_step(program_.operations[i])) {
        found.push_back(i);
      }
    }
    return found;
  }

  /// The operations of a graph that come right before one of it.
  [[nodiscard]] std::vector<std::size_t> before_in_graph(const std::vector<std::size_t>& nodes, std::size_t at) const {
    std::vector<std::size_t> found;
    const stream_operation& operation = program_.operations[nodes[at]];
    for (std::size_t i = at; i-- != 0;) {
      if (program_.operations[nodes[i]].stream == operation.stream) {
        found.push_back(i);
        break;
      }
    }
    if (operation.kind == operation_kind::wait_event) {
      for (std::size_t i = at; i-- != 0;) {
        const stream_operation& other = program_.operations[nodes[i]];
        if (other.kind == operation_kind::record_event && other.object == operation.object) {
          found.push_back(i);
          break;
        }
      }
    }
    return found;
  }

  /// Every order of the nodes of every launch of a graph.
  void order_graphs(std::size_t from) {
    for (std::size_t i = from; i != program_.operations.size(); ++i) {
      const stream_operation& launch = program_.operations[i];
      if (launch.kind == operation_kind::launch_graph) {
        const std::vector<std::size_t> nodes = captured(static_cast<unsigned>(launch.object.number()));
        if (any_order_) {
          graph_order_[i] = nodes;
          continue;
        }
        std::vector<std::size_t> order;
        std::vector<bool> taken(nodes.size());
        const std::function<void()> extend = [&] {
          if (order.size() == nodes.size()) {
            graph_order_[i].clear();
            for (const std::size_t n : order) {
              graph_order_[i].push_back(nodes[n]);
            }
            order_graphs(i + 1);
            return;
          }
          for (std::size_t n = 0; n != nodes.size(); ++n) {
            const std::vector<std::size_t> before = before_in_graph(nodes, n);
            if (!taken[n] && std::all_of(before.begin(), before.end(), [&](std::size_t b) { return taken[b]; })) {
              taken[n] = true;
              order.push_back(n);
              extend();
              order.pop_back();
              taken[n] = false;
            }
          }
        };
        extend();
        return;
      }
    }
    interleave();
  }

  // One schedule of queues: its items, and everything that may happen.

  std::size_t add(item::kind_t kind, std::size_t operation, std::uint64_t after) {
    if (items_.size() == 60) {
      throw std::runtime_error("too large a program for the simulator");
    }
    items_.push_back({kind, operation, after, 0, 0, true});
    return items_.size() - 1;
  }
  static std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << i; }

  /// The items of an operation; returns those that end it.
  std::uint64_t expand(std::size_t index, std::uint64_t after) {
    const stream_operation& operation = program_.operations[index];
    const std::pair<int, handle> stream{operation.pe, operation.stream};
    if (operation.kind == operation_kind::notify && !operation.blocking) {
      const std::uint64_t issued = bit(add(item::kind_t::passes, index, after));
      deliveries_[stream] |= bit(add(item::kind_t::notifies, index, issued));
      return issued;
    }
    if (operation.kind == operation_kind::notify) {
      return bit(add(item::kind_t::notifies, index, after));
    }
    if (operation.kind == operation_kind::quiet || (operation.kind == operation_kind::collective && !is_step(operation))) {
      after |= deliveries_[stream];
    }
    if (operation.kind == operation_kind::wait) {
      return bit(add(item::kind_t::waits, index, after));
    }
    if (operation.kind == operation_kind::collective || operation.kind == operation_kind::host_collective) {
      const std::size_t arrival = add(item::kind_t::arrives, index, after);
      const std::size_t departure = add(item::kind_t::departs, index, bit(arrival));
      auto& calls = calls_[{operation.object, operation.pe}];
      items_[arrival].number = items_[departure].number = calls.size();
      calls.push_back({arrival, departure});
      return bit(departure);
    }
    std::uint64_t ends = bit(add(item::kind_t::passes, index, after));
    if (operation.kind == operation_kind::kernel) {
      std::map<unsigned, std::uint64_t> roles;
      for (std::size_t i = 0; i != program_.operations.size(); ++i) {
        const stream_operation& step = program_.operations[i];
        if (is_step(step) && step.kernel == operation.kernel) {
          std::uint64_t& last = roles.try_emplace(step.role, ends).first->second;
          last = expand(i, last);
        }
      }
      for (const auto& [role, last] : roles) {
        ends |= last;
      }
    }
    return ends;
  }

  void interleave() {
    ++result_.schedules;
    items_.clear();
    calls_.clear();
    deliveries_.clear();
    std::map<std::pair<int, handle>, std::uint64_t> stream;
    std::map<int, std::uint64_t> queue;
    std::map<std::pair<int, handle>, std::uint64_t> event;  // each process has its own
    std::map<int, std::uint64_t> host;
    for (std::size_t i = 0; i != program_.operations.size(); ++i) {
      const stream_operation& operation = program_.operations[i];
      if (operation.graph != 0 || is_step(operation)) {
        continue;
      }
      const int thread = program_.hosts == symmetric::deadlock::callers::one ? 0 : operation.pe;
      if (is_host(operation)) {
        std::uint64_t after = host[thread];
        for (const auto& [whose, last] : stream) {
          const bool asked = operation.kind == operation_kind::host_pe ||
                             (operation.kind == operation_kind::host_stream && whose.second == operation.stream);
          after |= asked && whose.first == operation.pe ? last : 0;
        }
        after |= operation.kind == operation_kind::host_event ? event[{thread, operation.object}] : 0;
        host[thread] |= expand(i, after);
        continue;
      }
      const std::pair<int, handle> own{operation.pe, operation.stream};
      std::uint64_t after = host[thread] | stream[own] | queue[queue_of_[own]];
      if (operation.kind == operation_kind::wait_event) {
        after |= event[{thread, operation.object}];
      }
      std::uint64_t ends = 0;
      if (operation.kind == operation_kind::launch_graph) {
        ends = launch(i, after);
      } else {
        ends = expand(i, after);
      }
      if (operation.kind == operation_kind::record_event) {
        event[{thread, operation.object}] = ends;
      }
      if (operation.kind == operation_kind::host_copy && !operation.early) {
        host[thread] |= ends;
      }
      stream[own] = ends;
      queue[queue_of_[own]] = ends;
    }
    match();
    seen_.clear();
    std::map<std::pair<int, handle>, std::uint64_t> signals = program_.signals;
    explore(0, signals);
  }

  std::uint64_t launch(std::size_t index, std::uint64_t after) {
    const std::uint64_t begin = bit(add(item::kind_t::passes, index, after));
    const std::vector<std::size_t>& order = graph_order_[index];
    std::uint64_t all = begin;
    std::uint64_t previous = begin;
    std::vector<std::uint64_t> ends;
    for (std::size_t i = 0; i != order.size(); ++i) {
      std::uint64_t before = begin;
      if (any_order_) {
        for (const std::size_t b : before_in_graph(order, i)) {
          before |= ends[b];
        }
      } else {
        before = previous;
      }
      previous = expand(order[i], before);
      ends.push_back(previous);
      all |= previous;
    }
    return all;
  }

  void match() {
    for (auto& each : items_) {
      if (each.kind != item::kind_t::departs) {
        continue;
      }
      const stream_operation& operation = program_.operations[each.operation];
      std::vector<int> members;
      const auto team = program_.teams.find(operation.object);
      if (team != program_.teams.end()) {
        members = team->second;
      } else {
        for (int pe = 0; pe != program_.pes; ++pe) {
          members.push_back(pe);
        }
      }
      for (const int member : members) {
        const auto& theirs = calls_[{operation.object, member}];
        if (theirs.size() > each.number) {
          each.arrivals |= bit(theirs[each.number].first);
        } else {
          each.complete = false;
        }
      }
    }
  }

  using values = std::map<std::pair<int, handle>, std::uint64_t>;

  [[nodiscard]] bool enabled(const item& each, std::uint64_t done, const values& signals) const {
    if ((each.after & ~done) != 0) {
      return false;
    }
    const stream_operation& operation = program_.operations[each.operation];
    if (each.kind == item::kind_t::waits) {
      const auto value = signals.find({operation.pe, operation.object});
      return operation.condition.holds(value == signals.end() ? 0 : value->second);
    }
    return each.kind != item::kind_t::departs || (each.complete && (each.arrivals & ~done) == 0);
  }

  void explore(std::uint64_t done, values& signals) {
    if (!seen_.insert({done, signals}).second) {
      return;
    }
    bool any = false;
    for (std::size_t i = 0; i != items_.size(); ++i) {
      if ((done & bit(i)) != 0 || !enabled(items_[i], done, signals)) {
        continue;
      }
      any = true;
      look(i, done);
      if (items_[i].kind != item::kind_t::notifies) {
        explore(done | bit(i), signals);
        continue;
      }
      const stream_operation& operation = program_.operations[items_[i].operation];
      values after = signals;
      std::uint64_t& value = after[{operation.target, operation.object}];
      value = operation.effect.adds ? value + operation.effect.value : operation.effect.value;
      explore(done | bit(i), after);
    }
    if (!any && done != (items_.empty() ? 0 : ~std::uint64_t{0} >> (64 - items_.size()))) {
      result_.hangs = true;
      result_.hangs_with_own_queues = result_.hangs_with_own_queues || own_queues_;
    }
  }

  /// What is undefined about this item running now.
  void look(std::size_t i, std::uint64_t done) {
    const stream_operation& operation = program_.operations[items_[i].operation];
    if (items_[i].kind == item::kind_t::arrives) {
      for (const auto& call : calls_[{operation.object, operation.pe}]) {
        const bool earlier = items_[call.first].number < items_[i].number;
        result_.collectives_at_once = result_.collectives_at_once || (earlier && (done & bit(call.second)) == 0) ||
                                      (!earlier && call.first != i && (done & bit(call.first)) != 0);
      }
    }
    const bool on_heap = items_[i].kind == item::kind_t::arrives || operation.kind == operation_kind::notify ||
                         operation.kind == operation_kind::access || operation.kind == operation_kind::kernel;
    for (std::size_t copy = 0; on_heap && copy != i; ++copy) {
      const stream_operation& copied = program_.operations[items_[copy].operation];
      const bool there =
          copied.pe == operation.pe || (program_.hosts == symmetric::deadlock::callers::one && copied.pe == operation.target &&
                                        (operation.kind == operation_kind::access || operation.kind == operation_kind::notify));
      result_.copy_overtaken = result_.copy_overtaken ||
                               (copied.kind == operation_kind::host_copy && copied.early && there && (done & bit(copy)) == 0);
    }
  }

  const program& program_;
  outcome result_;
  std::map<std::pair<int, handle>, int> queue_of_;
  std::map<std::size_t, std::vector<std::size_t>> graph_order_;
  bool own_queues_ = false;
  bool any_order_ = false;
  std::vector<item> items_;
  std::map<std::pair<handle, int>, std::vector<std::pair<std::size_t, std::size_t>>> calls_;
  std::map<std::pair<int, handle>, std::uint64_t> deliveries_;  ///< issued without blocking
  std::set<std::pair<std::uint64_t, values>> seen_;
};

[[nodiscard]] inline outcome run(const program& program) { return simulator(program).run(); }

}  // namespace membar_test::stream_simulator
