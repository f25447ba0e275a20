// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Runs a small `program` in every schedule: every assignment of streams to hardware queues that the program does not rule out,
/// every order of the nodes of a captured graph, and every interleaving. It follows the definition in deadlock/check.hpp
/// directly, and is slow.
#pragma once

#include <membar/deadlock/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <stdexcept>
#include <unordered_map>
#include <utility>
#include <vector>

namespace membar_test::stream_simulator {

using membar::deadlock::callers, membar::deadlock::handle, membar::deadlock::operation_kind, membar::deadlock::program,
    membar::deadlock::stream_operation;

/// What may happen in some schedule.
struct outcome {
  bool hangs = false;  ///< the program hangs in some schedule
  /// The program hangs even if each stream has its own queue and graphs run with as much parallelism as their edges allow.
  bool hangs_with_own_queues = false;
  bool collectives_at_once = false;  ///< Two collectives of the same team and PE run at the same time.
  bool copy_overtaken = false;       ///< An operation reached the heap before a host copy that had already returned.
  /// A wait may end before a notification that could also end it. The reason is a value that an earlier wait in the same stream
  /// has seen and that no schedule replaces in between. This is computed only for programs that have no graphs and end in every
  /// schedule.
  bool stale_wait = false;
  std::size_t schedules = 0;
};

class simulator {
 public:
  explicit simulator(const program& program) : program_(program) {}

  [[nodiscard]] outcome run() {
    std::set<of_pe> streams;
    for (const stream_operation& each : program_.operations) {
      if (each.graph == 0 && !is_host(each)) {
        streams.insert({each.pe, each.stream});
      }
    }
    const std::vector<of_pe> all(streams.begin(), streams.end());
    own_queues_ = true;
    for (std::size_t i = 0; i != all.size(); ++i) {
      queue_of_[all[i]] = static_cast<int>(i);
    }
    any_order_ = true;
    order_graphs(0);
    own_queues_ = false;
    any_order_ = false;
    partition(all, 0);
    const bool graphs =
        std::ranges::any_of(program_.operations, [](const stream_operation& each) { return each.kind == launch_graph; });
    if (!graphs && !result_.hangs) {
      look_for_stale_waits();
    }
    return result_;
  }

 private:
  using enum operation_kind;
  using of_pe = std::pair<int, handle>;  ///< A stream, an event or a signal of a PE.
  using values = std::map<of_pe, std::uint64_t>;

  struct item {
    enum class kind_t { passes, notifies, waits, arrives, departs } kind = kind_t::passes;
    std::size_t operation = 0;
    std::uint64_t after = 0;  ///< The set of items that must come before this one, with one bit per item.
    std::size_t number = 0;   ///< For a collective, the call's number within its PE and team.
    std::uint64_t arrivals = 0;
    bool complete = true;
    std::size_t signal = 0;  ///< For an item that notifies or waits, the index of its signal in `signals_`.
  };

  static bool is_host(const stream_operation& each) {
    return each.kind == host_collective || each.kind == host_stream || each.kind == host_event || each.kind == host_pe;
  }
  static bool is_step(const stream_operation& each) { return each.kernel != 0 && each.kind != kernel; }

  /// Tries every way to assign the streams, starting with index `next`, to the queues of their PEs.
  void partition(const std::vector<of_pe>& all, std::size_t next) {
    if (next == all.size()) {
      order_graphs(0);
      return;
    }
    std::set<int> used;
    const auto own = [&](const of_pe& stream) { return program_.own_queues.contains(stream); };
    for (std::size_t i = 0; i != next; ++i) {
      if (all[i].first == all[next].first && !own(all[i]) && !own(all[next])) {
        used.insert(queue_of_[all[i]]);
      }
    }
    used.insert(static_cast<int>(next));  // the stream gets its own queue
    for (const int queue : used) {
      queue_of_[all[next]] = queue;
      partition(all, next + 1);
    }
  }

  /// Returns the operations captured in a graph, except for the steps of kernels.
  [[nodiscard]] std::vector<std::size_t> captured(unsigned graph) const {
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i != program_.operations.size(); ++i) {
      if (program_.operations[i].graph == graph && !is_step(program_.operations[i])) {
        found.push_back(i);
      }
    }
    return found;
  }

  /// Returns the direct predecessors of an operation in its graph.
  [[nodiscard]] std::vector<std::size_t> before_in_graph(const std::vector<std::size_t>& nodes, std::size_t at) const {
    std::vector<std::size_t> found;
    const stream_operation& operation = program_.operations[nodes[at]];
    const auto add_last = [&](auto is_before) {
      for (std::size_t i = at; i-- != 0;) {
        if (is_before(program_.operations[nodes[i]])) {
          return found.push_back(i);
        }
      }
    };
    add_last([&](const stream_operation& other) { return other.stream == operation.stream; });
    if (operation.kind == wait_event) {
      add_last([&](const stream_operation& other) { return other.kind == record_event && other.object == operation.object; });
    }
    return found;
  }

  /// Tries every order of the nodes in every launch of a graph.
  void order_graphs(std::size_t from) {
    while (from != program_.operations.size() && program_.operations[from].kind != launch_graph) {
      ++from;
    }
    if (from == program_.operations.size()) {
      interleave();
      return;
    }
    const std::vector<std::size_t> nodes = captured(static_cast<unsigned>(program_.operations[from].object.number()));
    if (any_order_) {
      graph_order_[from] = nodes;
      order_graphs(from + 1);
      return;
    }
    std::vector<std::size_t> order;
    std::vector<bool> taken(nodes.size());
    const std::function<void()> extend = [&] {
      if (order.size() == nodes.size()) {
        graph_order_[from] = order;
        order_graphs(from + 1);
        return;
      }
      for (std::size_t n = 0; n != nodes.size(); ++n) {
        if (!taken[n] && std::ranges::all_of(before_in_graph(nodes, n), [&](std::size_t b) { return taken[b]; })) {
          taken[n] = true;
          order.push_back(nodes[n]);
          extend();
          order.pop_back();
          taken[n] = false;
        }
      }
    };
    extend();
  }

  // The functions below handle a single assignment of queues: its items, and everything that may happen with it.

  std::size_t add(item::kind_t kind, std::size_t operation, std::uint64_t after) {
    if (items_.size() == 60) {
      throw std::runtime_error("the program is too large for the simulator");
    }
    items_.push_back({kind, operation, after, 0, 0, true});
    return items_.size() - 1;
  }
  static std::uint64_t bit(std::size_t i) { return std::uint64_t{1} << i; }

  /// Adds an operation's items. Returns the items that end the operation.
  std::uint64_t expand(std::size_t index, std::uint64_t after) {
    const stream_operation& operation = program_.operations[index];
    const of_pe stream{operation.pe, operation.stream};
    if (operation.kind == notify) {
      if (operation.blocking) {
        return bit(add(item::kind_t::notifies, index, after));
      }
      const std::uint64_t issued = bit(add(item::kind_t::passes, index, after));
      deliveries_[stream] |= bit(add(item::kind_t::notifies, index, issued));
      return issued;
    }
    if (operation.kind == quiet || ((operation.kind == collective || operation.kind == arrive) && !is_step(operation))) {
      after |= deliveries_[stream] | launching_;
    }
    if (operation.kind == wait) {
      return bit(add(item::kind_t::waits, index, after));
    }
    if (operation.kind == arrive) {
      const std::size_t arrival = add(item::kind_t::arrives, index, after);
      auto& calls = calls_[{operation.object, operation.pe}];
      items_[arrival].number = calls.size();
      calls.push_back({arrival, arrival});
      return bit(arrival);
    }
    if (operation.kind == depart) {
      auto& own = calls_[{operation.object, operation.pe}].back();
      own.second = add(item::kind_t::departs, index, after | bit(own.first));
      items_[own.second].number = items_[own.first].number;
      return bit(own.second);
    }
    if (operation.kind == collective || operation.kind == host_collective) {
      const std::size_t arrival = add(item::kind_t::arrives, index, after);
      const std::size_t departure = add(item::kind_t::departs, index, bit(arrival));
      auto& calls = calls_[{operation.object, operation.pe}];
      items_[arrival].number = items_[departure].number = calls.size();
      calls.push_back({arrival, departure});
      return bit(departure);
    }
    std::uint64_t ends = bit(add(item::kind_t::passes, index, after));
    if (operation.kind == kernel) {
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
    values stream;
    std::map<int, std::uint64_t> queue;
    values event;  // each process has its own events
    std::map<int, std::uint64_t> host;
    for (std::size_t i = 0; i != program_.operations.size(); ++i) {
      const stream_operation& operation = program_.operations[i];
      if (operation.graph != 0 || is_step(operation)) {
        continue;
      }
      const int thread = program_.hosts == callers::one ? 0 : operation.pe;
      if (is_host(operation)) {
        std::uint64_t after = host[thread];
        for (const auto& [whose, last] : stream) {
          const bool asked = operation.kind == host_pe || (operation.kind == host_stream && whose.second == operation.stream);
          after |= asked && whose.first == operation.pe ? last : 0;
        }
        after |= operation.kind == host_event ? event[{thread, operation.object}] : 0;
        host[thread] |= expand(i, after);
        continue;
      }
      const of_pe own{operation.pe, operation.stream};
      std::uint64_t after = host[thread] | stream[own] | queue[queue_of_[own]];
      if (operation.kind == wait_event) {
        after |= event[{thread, operation.object}];
      }
      const std::uint64_t ends = operation.kind == launch_graph ? launch(i, after) : expand(i, after);
      if (operation.kind == record_event) {
        event[{thread, operation.object}] = ends;
      }
      if (operation.kind == host_copy && !operation.early) {
        host[thread] |= ends;
      }
      stream[own] = ends;
      queue[queue_of_[own]] = ends;
    }
    match();
    number_signals();
    seen_.clear();
    explore(0);
  }

  std::uint64_t launch(std::size_t index, std::uint64_t after) {
    const std::uint64_t begin = bit(add(item::kind_t::passes, index, after));
    const std::vector<std::size_t>& order = graph_order_[index];
    std::uint64_t all = begin;
    std::uint64_t previous = begin;
    std::vector<std::uint64_t> ends;
    const values outside = std::exchange(deliveries_, {});
    const of_pe own{program_.operations[index].pe, program_.operations[index].stream};
    launching_ = outside.contains(own) ? outside.at(own) : 0;
    for (std::size_t i = 0; i != order.size(); ++i) {
      std::uint64_t before = any_order_ ? begin : previous;
      for (const std::size_t b : any_order_ ? before_in_graph(order, i) : std::vector<std::size_t>()) {
        before |= ends[b];
      }
      previous = expand(order[i], before);
      ends.push_back(previous);
      all |= previous;
    }
    launching_ = 0;
    for (const auto& [stream, issued] : std::exchange(deliveries_, outside)) {
      deliveries_[own] |= issued;
    }
    return all;
  }

  void match() {
    for (auto& each : items_) {
      if (each.kind != item::kind_t::departs) {
        continue;
      }
      const stream_operation& operation = program_.operations[each.operation];
      std::vector<int> members(static_cast<std::size_t>(program_.pes));
      std::iota(members.begin(), members.end(), 0);
      if (const auto team = program_.teams.find(operation.object); team != program_.teams.end()) {
        members = team->second;
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

  void number_signals() {
    std::map<of_pe, std::size_t> numbers;
    signals_.clear();
    for (item& each : items_) {
      if (each.kind == item::kind_t::notifies || each.kind == item::kind_t::waits) {
        const stream_operation& operation = program_.operations[each.operation];
        const of_pe signal{each.kind == item::kind_t::waits ? operation.pe : operation.target, operation.object};
        each.signal = numbers.try_emplace(signal, signals_.size()).first->second;
        if (each.signal == signals_.size()) {
          const auto initial = program_.signals.find(signal);
          signals_.push_back(initial == program_.signals.end() ? 0 : initial->second);
        }
      }
    }
  }

  [[nodiscard]] bool enabled(const item& each, std::uint64_t done) const {
    if ((each.after & ~done) != 0) {
      return false;
    }
    if (each.kind == item::kind_t::waits) {
      return program_.operations[each.operation].condition.holds(signals_[each.signal]);
    }
    return each.kind != item::kind_t::departs || (each.complete && (each.arrivals & ~done) == 0);
  }

  void explore(std::uint64_t done) {
    std::vector<std::uint64_t>& seen = seen_[done];
    for (auto at = seen.begin(); at != seen.end(); at += static_cast<std::ptrdiff_t>(signals_.size() + 1)) {
      if (std::equal(signals_.begin(), signals_.end(), at)) {
        return;
      }
    }
    seen.insert(seen.end(), signals_.begin(), signals_.end());
    seen.push_back(0);  // so that a state without signals is remembered too
    bool any = false;
    for (std::size_t i = 0; i != items_.size(); ++i) {
      if ((done & bit(i)) != 0 || !enabled(items_[i], done)) {
        continue;
      }
      any = true;
      look(i, done);
      if (items_[i].kind != item::kind_t::notifies) {
        explore(done | bit(i));
        continue;
      }
      const auto& effect = program_.operations[items_[i].operation].effect;
      std::uint64_t& value = signals_[items_[i].signal];
      const std::uint64_t before = value;
      value = effect.adds ? value + effect.value : effect.value;
      explore(done | bit(i));
      value = before;
    }
    if (!any && done != (items_.empty() ? 0 : ~std::uint64_t{0} >> (64 - items_.size()))) {
      result_.hangs = true;
      result_.hangs_with_own_queues = result_.hangs_with_own_queues || own_queues_;
    }
  }

  [[nodiscard]] bool always_before(std::size_t first, std::size_t second) const {
    return (always_before_[second] & bit(first)) != 0;
  }

  /// Without graphs, an item has the same number in every schedule.
  void look_for_stale_waits() {
    for (std::size_t n = 0; n != items_.size(); ++n) {
      const stream_operation& late = program_.operations[items_[n].operation];
      if (items_[n].kind != item::kind_t::waits || late.kernel != 0) {
        continue;
      }
      std::vector<std::size_t> notifications;
      for (std::size_t i = 0; i != items_.size(); ++i) {
        const stream_operation& each = program_.operations[items_[i].operation];
        if (items_[i].kind == item::kind_t::notifies && each.target == late.pe && each.object == late.object) {
          notifications.push_back(i);
        }
      }
      const auto brings = [&](std::size_t i) {
        const auto& effect = program_.operations[items_[i].operation].effect;
        return effect.adds || late.condition.holds(effect.value);
      };
      const bool any = std::ranges::any_of(
          notifications, [&](std::size_t i) { return brings(i) && !always_before(i, n) && !always_before(n, i); });
      for (std::size_t m = 0; any && m != n; ++m) {
        const stream_operation& earlier = program_.operations[items_[m].operation];
        const bool implies = items_[m].kind == item::kind_t::waits && earlier.kernel == 0 && earlier.pe == late.pe &&
                             earlier.stream == late.stream && earlier.object == late.object &&
                             earlier.condition.implies(late.condition);
        const bool replaced = std::ranges::any_of(
            notifications, [&](std::size_t i) { return !brings(i) && always_before(m, i) && always_before(i, n); });
        result_.stale_wait = result_.stale_wait || (implies && !replaced);
      }
    }
  }

  /// Records the undefined behaviour that occurs if this item runs now.
  void look(std::size_t i, std::uint64_t done) {
    always_before_[i] &= done;
    const stream_operation& operation = program_.operations[items_[i].operation];
    if (items_[i].kind == item::kind_t::arrives) {
      for (const auto& call : calls_[{operation.object, operation.pe}]) {
        const bool earlier = items_[call.first].number < items_[i].number;
        result_.collectives_at_once = result_.collectives_at_once || (earlier && (done & bit(call.second)) == 0) ||
                                      (!earlier && call.first != i && (done & bit(call.first)) != 0);
      }
    }
    const bool on_heap = items_[i].kind == item::kind_t::arrives || operation.kind == notify || operation.kind == access ||
                         operation.kind == kernel;
    for (std::size_t copy = 0; on_heap && copy != i; ++copy) {
      const stream_operation& copied = program_.operations[items_[copy].operation];
      const bool there = copied.pe == operation.pe || (program_.hosts == callers::one && copied.pe == operation.target &&
                                                       (operation.kind == access || operation.kind == notify));
      result_.copy_overtaken =
          result_.copy_overtaken || (copied.kind == host_copy && copied.early && there && (done & bit(copy)) == 0);
    }
  }

  const program& program_;
  outcome result_;
  std::map<of_pe, int> queue_of_;
  std::map<std::size_t, std::vector<std::size_t>> graph_order_;
  bool own_queues_ = false;
  bool any_order_ = false;
  std::vector<item> items_;
  std::map<std::pair<handle, int>, std::vector<std::pair<std::size_t, std::size_t>>> calls_;
  values deliveries_;            ///< The notifications that were issued without blocking.
  std::uint64_t launching_ = 0;  ///< The notifications that the launching stream had issued without blocking before the graph.
  std::vector<std::uint64_t> signals_;
  /// For each set of finished items: the values of all signals in each state seen, and a 0 after each state.
  std::unordered_map<std::uint64_t, std::vector<std::uint64_t>> seen_;
  std::vector<std::uint64_t> always_before_ =
      std::vector<std::uint64_t>(64, ~std::uint64_t{0});  ///< For each item, the items that come before it in all schedules.
};

[[nodiscard]] inline outcome run(const program& program) { return simulator(program).run(); }

}  // namespace membar_test::stream_simulator
