// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A stream program as a graph: what comes before what in every schedule, and what never runs in the worst one. The
/// definition is that of symmetric/deadlock/check.hpp.
#pragma once

#include <membar/error.hpp>
#include <membar/symmetric/deadlock/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::symmetric::deadlock::detail {

/// Rows of bits: which nodes come before a node.
class order_matrix {
 public:
  explicit order_matrix(std::size_t size) : words_((size + 63) / 64), rows_(size * words_) {}

  [[nodiscard]] bool before(std::size_t first, std::size_t second) const noexcept {
    return (rows_[second * words_ + first / 64] >> (first % 64) & 1U) != 0;
  }
  /// `first`, and all before it, come before `second`. Returns whether that is new.
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
  /// What each of `some` is or comes after comes before `second`. Returns whether that is new.
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

/// What an operation is taken apart into: a collective is an arrival and a departure, a kernel its steps.
struct node {
  enum class kind_t : unsigned char { passes, notifies, waits, meets };

  kind_t kind = kind_t::passes;
  std::size_t operation = 0;
  int pe = 0;
  /// The position in the PE's queue; -1 for what is in none: the host's waits, and notifications that are delivered later.
  int unit = -1;
  unsigned kernel = 0;                ///< nodes of one launch have one number; 0: of none
  bool blocks = false;                ///< it can hold up what is behind it
  bool complete = true;               ///< of `meets`: all members call it
  std::vector<std::size_t> after;     ///< what comes before it by stream, event, host or kernel
  std::vector<std::size_t> arrivals;  ///< of `meets`
};

/// What is enqueued at once: an operation, a kernel with its steps, or a graph, whose nodes run in any order.
struct queue_unit {
  std::vector<std::size_t> nodes;
  bool any_order = false;
};

class graph {
 public:
  explicit graph(const program& program)
      : program_(program), units_(static_cast<std::size_t>(program.pes)), host_last_(units_.size(), none) {
    for (std::size_t i = 0; i != program.operations.size(); ++i) {
      const stream_operation& operation = program.operations[i];
      if (operation.kernel != 0 && operation.kind != operation_kind::kernel) {
        steps_[operation.kernel].push_back(i);
      } else if (operation.graph != 0) {
        captured_[operation.graph].push_back(i);
      }
    }
    for (std::size_t i = 0; i != program.operations.size(); ++i) {
      const stream_operation& operation = program.operations[i];
      if (operation.graph == 0 && (operation.kernel == 0 || operation.kind == operation_kind::kernel)) {
        append(i);
      }
    }
    match_collectives();
    find_orders();
    run();
  }

  /// What the signals hold when all has ended.
  [[nodiscard]] std::map<std::pair<int, handle>, std::uint64_t> signals_at_end() const {
    std::map<std::pair<int, handle>, std::uint64_t> result = program_.signals;
    for (const auto& [signal, all] : notifications_) {
      for (const std::size_t n : all) {
        const signal_effect effect = operation_of(n).effect;
        if (effect.adds) {
          result[signal] += effect.value;
        } else if (std::all_of(all.begin(), all.end(),
                               [&](std::size_t other) { return other == n || !order_.before(n, other); })) {
          result[signal] = effect.value;  // of several that nothing orders, any
        }
      }
    }
    return result;
  }

 protected:
  using kind_t = node::kind_t;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_nodes = 16384;

  struct call {
    std::size_t arrival;
    std::size_t departure;
  };

  /// Where operations are appended: the streams of the program, or those of a graph that is being launched.
  struct place {
    std::map<std::pair<int, handle>, std::size_t> last;
    std::map<std::pair<std::size_t, handle>, std::size_t> events;  ///< by host thread: a process's own
    std::size_t begin = none;
    int unit = -1;
  };

  [[nodiscard]] const stream_operation& operation_of(std::size_t n) const noexcept {
    return program_.operations[nodes_[n].operation];
  }
  [[nodiscard]] std::size_t host_of(int pe) const noexcept {
    return program_.hosts == callers::one ? 0 : static_cast<std::size_t>(pe);
  }

  std::size_t make(kind_t kind, std::size_t operation, int pe, int unit, std::vector<std::size_t> after) {
    if (nodes_.size() == max_nodes) {
      throw error(cudaErrorInvalidValue,
                  "membar: a program of more than %zu operations was to be checked: check it where all streams are idle, and "
                  "forget what has ended",
                  max_nodes);
    }
    node made;
    made.kind = kind;
    made.operation = operation;
    made.pe = pe;
    made.unit = unit;
    made.blocks = kind == kind_t::waits || kind == kind_t::meets;
    std::erase(after, none);
    made.after = std::move(after);
    nodes_.push_back(std::move(made));
    if (unit >= 0) {
      units_[static_cast<std::size_t>(pe)][static_cast<std::size_t>(unit)].nodes.push_back(nodes_.size() - 1);
    }
    return nodes_.size() - 1;
  }

  [[nodiscard]] int new_unit(int pe, bool any_order) {
    std::vector<queue_unit>& queue = units_[static_cast<std::size_t>(pe)];
    queue.push_back({{}, any_order});
    return static_cast<int>(queue.size()) - 1;
  }

  void append(std::size_t index) {
    const stream_operation& operation = program_.operations[index];
    std::size_t& host = host_last_[host_of(operation.pe)];
    switch (operation.kind) {
      case operation_kind::host_collective:
        host = meet(index, -1, {host}, 0);
        return;
      case operation_kind::host_stream:
      case operation_kind::host_event:
      case operation_kind::host_pe: {
        std::vector<std::size_t> after{host};
        for (const auto& [stream, last] : enqueued_.last) {
          if (stream.first == operation.pe &&
              (operation.kind == operation_kind::host_pe ||
               (operation.kind == operation_kind::host_stream && stream.second == operation.stream))) {
            after.push_back(last);
          }
        }
        if (operation.kind == operation_kind::host_event) {
          after.push_back(event(index, enqueued_));
        }
        host = make(kind_t::passes, index, operation.pe, -1, std::move(after));
        nodes_[host].blocks = true;
        return;
      }
      case operation_kind::launch_graph:
        launch(index);
        return;
      default:
        place& where = enqueued_;
        where.begin = host;
        where.unit = new_unit(operation.pe, false);
        enqueue(index, where);
        if (operation.kind == operation_kind::host_copy && !operation.early) {
          host = make(kind_t::passes, index, operation.pe, -1, {host, where.last[{operation.pe, operation.stream}]});
          nodes_[host].blocks = true;
        }
    }
  }

  void launch(std::size_t index) {
    const stream_operation& operation = program_.operations[index];
    std::size_t& last = last_of(enqueued_, operation);
    place inside;
    inside.unit = new_unit(operation.pe, true);
    inside.begin = make(kind_t::passes, index, operation.pe, inside.unit, {last, host_last_[host_of(operation.pe)]});
    const std::size_t first = nodes_.size();
    const auto captured = captured_.find(static_cast<unsigned>(operation.object.number()));
    if (captured != captured_.end()) {
      for (const std::size_t each : captured->second) {
        enqueue(each, inside);
      }
    }
    std::vector<std::size_t> all{inside.begin};
    for (std::size_t n = first; n != nodes_.size(); ++n) {
      if (nodes_[n].unit >= 0) {
        all.push_back(n);
      }
    }
    last = make(kind_t::passes, index, operation.pe, inside.unit, std::move(all));
  }

  [[nodiscard]] std::size_t& last_of(place& where, const stream_operation& operation) {
    return where.last.try_emplace({operation.pe, operation.stream}, none).first->second;
  }

  /// The last record of the event; `none` where there was none, which is reported.
  [[nodiscard]] std::size_t event(std::size_t index, const place& where) {
    const stream_operation& operation = program_.operations[index];
    const auto recorded = where.events.find({host_of(operation.pe), operation.object});
    if (recorded != where.events.end()) {
      return recorded->second;
    }
    unrecorded_.push_back(index);
    return none;
  }

  void enqueue(std::size_t index, place& where) {
    const stream_operation& operation = program_.operations[index];
    std::size_t& last = last_of(where, operation);
    const std::vector<std::size_t> after{last, where.begin};
    switch (operation.kind) {
      case operation_kind::notify:
        last = notify(index, index, where.unit, after, 0);
        break;
      case operation_kind::wait:
        last = make(kind_t::waits, index, operation.pe, where.unit, after);
        break;
      case operation_kind::collective:
        last = meet(index, where.unit, delivered(operation, after), 0);
        break;
      case operation_kind::quiet:
        last = make(kind_t::passes, index, operation.pe, where.unit, delivered(operation, after));
        break;
      case operation_kind::record_event:
        last = make(kind_t::passes, index, operation.pe, where.unit, after);
        where.events[{host_of(operation.pe), operation.object}] = last;
        break;
      case operation_kind::wait_event: {
        std::vector<std::size_t> both = after;
        both.push_back(event(index, where));
        last = make(kind_t::passes, index, operation.pe, where.unit, std::move(both));
        nodes_[last].blocks = &where == &enqueued_;
        break;
      }
      case operation_kind::kernel:
        last = kernel(index, where, after);
        break;
      default:
        last = make(kind_t::passes, index, operation.pe, where.unit, after);
    }
  }

  /// What comes before an operation that waits for the stream's deliveries.
  [[nodiscard]] std::vector<std::size_t> delivered(const stream_operation& operation, std::vector<std::size_t> after) const {
    const auto pending = deliveries_.find({operation.pe, operation.stream});
    if (pending != deliveries_.end()) {
      after.insert(after.end(), pending->second.begin(), pending->second.end());
    }
    return after;
  }

  /// A notification of `index`, which is a step of the operation `enqueued` or that itself.
  std::size_t notify(std::size_t index, std::size_t enqueued, int unit, std::vector<std::size_t> after, unsigned kernel) {
    const stream_operation& operation = program_.operations[index];
    std::size_t issued = none;
    if (!operation.blocking) {
      issued = make(kind_t::passes, index, operation.pe, unit, std::move(after));
      nodes_[issued].kernel = kernel;
      unit = -1;
      after = {issued};
    }
    const std::size_t made = make(kind_t::notifies, index, operation.pe, unit, std::move(after));
    notifications_[{operation.target, operation.object}].push_back(made);
    if (issued == none) {
      nodes_[made].kernel = kernel;
      return made;
    }
    deliveries_[{operation.pe, program_.operations[enqueued].stream}].push_back(made);
    return issued;
  }

  std::size_t meet(std::size_t index, int unit, std::vector<std::size_t> after, unsigned kernel) {
    const stream_operation& operation = program_.operations[index];
    const std::size_t arrival = make(kind_t::passes, index, operation.pe, unit, std::move(after));
    const std::size_t departure = make(kind_t::meets, index, operation.pe, unit, {arrival});
    nodes_[arrival].kernel = kernel;
    nodes_[departure].kernel = kernel;
    calls_[operation.object][operation.pe].push_back({arrival, departure});
    return departure;
  }

  std::size_t kernel(std::size_t index, place& where, const std::vector<std::size_t>& after) {
    const stream_operation& operation = program_.operations[index];
    const unsigned launch = ++launches_;
    const std::size_t begin = make(kind_t::passes, index, operation.pe, where.unit, after);
    nodes_[begin].kernel = launch;
    std::map<unsigned, std::size_t> roles;
    for (const std::size_t each : steps_[operation.kernel]) {
      const stream_operation& step = program_.operations[each];
      std::size_t& last = roles.try_emplace(step.role, begin).first->second;
      if (step.kind == operation_kind::notify) {
        last = notify(each, index, where.unit, {last}, launch);
      } else if (step.kind == operation_kind::collective) {
        last = meet(each, where.unit, {last}, launch);
      } else {
        last = make(kind_t::waits, each, operation.pe, where.unit, {last});
        nodes_[last].kernel = launch;
      }
    }
    std::vector<std::size_t> ends{begin};
    for (const auto& [role, last] : roles) {
      ends.push_back(last);
    }
    const std::size_t end = make(kind_t::passes, index, operation.pe, where.unit, std::move(ends));
    nodes_[end].kernel = launch;
    return end;
  }

  [[nodiscard]] std::vector<int> members(handle team) const {
    const auto declared = program_.teams.find(team);
    if (declared != program_.teams.end()) {
      return declared->second;
    }
    std::vector<int> all;
    for (int pe = 0; pe != program_.pes; ++pe) {
      all.push_back(pe);
    }
    return all;
  }

  void match_collectives() {
    for (const auto& [team, by_pe] : calls_) {
      const std::vector<int> all = members(team);
      for (const auto& [pe, calls] : by_pe) {
        for (std::size_t i = 0; i != calls.size(); ++i) {
          node& departure = nodes_[calls[i].departure];
          for (const int member : all) {
            const auto theirs = by_pe.find(member);
            if (theirs == by_pe.end() || theirs->second.size() <= i) {
              departure.complete = false;
            } else {
              departure.arrivals.push_back(theirs->second[i].arrival);
              compare(calls[i].departure, theirs->second[i].departure, i);
            }
          }
        }
      }
    }
  }

  /// Notes two that meet and have different names.
  void compare(std::size_t mine, std::size_t theirs, std::size_t number) {
    if (mine < theirs && std::string_view(operation_of(mine).name) != operation_of(theirs).name) {
      different_.push_back({nodes_[mine].operation, nodes_[theirs].operation, number});
    }
  }

  [[nodiscard]] std::uint64_t at_start(int pe, handle signal) const {
    const auto value = program_.signals.find({pe, signal});
    return value == program_.signals.end() ? 0 : value->second;
  }

  [[nodiscard]] const std::vector<std::size_t>& notifications_of(std::size_t wait) const {
    static const std::vector<std::size_t> nothing;
    const stream_operation& operation = operation_of(wait);
    const auto found = notifications_.find({operation.pe, operation.object});
    return found == notifications_.end() ? nothing : found->second;
  }

  [[nodiscard]] bool is_added_to(std::size_t wait) const {
    const std::vector<std::size_t>& all = notifications_of(wait);
    return !all.empty() && operation_of(all.front()).effect.adds;
  }

  [[nodiscard]] bool brings(std::size_t notification, std::size_t wait) const {
    return operation_of(wait).condition.holds(operation_of(notification).effect.value);
  }

  /// Whether something is set between `first`, or the start, and the wait, in every schedule: then that is not what ends it.
  [[nodiscard]] bool replaced_before(std::size_t first, std::size_t wait) const {
    const std::vector<std::size_t>& all = notifications_of(wait);
    return std::any_of(all.begin(), all.end(), [&](std::size_t other) {
      return other != first && order_.before(other, wait) && (first == none || order_.before(first, other));
    });
  }

  /// The sets whose value the wait may be ended by; `none` stands for the value at the start.
  [[nodiscard]] std::vector<std::size_t> candidates(std::size_t wait) const {
    std::vector<std::size_t> result;
    const stream_operation& operation = operation_of(wait);
    if (operation.condition.holds(at_start(operation.pe, operation.object)) && !replaced_before(none, wait)) {
      result.push_back(none);
    }
    for (const std::size_t each : notifications_of(wait)) {
      if (brings(each, wait) && !order_.before(wait, each) && !replaced_before(each, wait)) {
        result.push_back(each);
      }
    }
    return result;
  }

  /// What a counter holds at most when the wait ends, if the notification `but` has not run by then.
  [[nodiscard]] std::uint64_t most(std::size_t wait, std::size_t but) const {
    const stream_operation& operation = operation_of(wait);
    std::uint64_t sum = at_start(operation.pe, operation.object);
    for (const std::size_t each : notifications_of(wait)) {
      const bool counts = each != but && !order_.before(but, each) && !order_.before(wait, each);
      sum += counts ? operation_of(each).effect.value : 0;
    }
    return sum;
  }

  /// The orders that hold in every schedule, as the least fixed point: each follows from those found before it.
  void find_orders() {
    given_ = order_matrix(nodes_.size());
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      for (const std::size_t before : nodes_[n].after) {
        given_.add(before, n);
      }
    }
    order_ = given_;
    std::set<std::pair<std::size_t, std::size_t>> derived;
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      for (const std::size_t arrival : nodes_[n].arrivals) {
        derived.insert({arrival, n});
      }
    }
    for (bool changed = true; changed;) {
      changed = false;
      for (const auto& [first, second] : derived) {
        changed = order_.add(first, second) || changed;
      }
      for (std::size_t n = 0; n != nodes_.size(); ++n) {
        for (const std::size_t before : nodes_[n].after) {
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
            if (!operation_of(n).condition.holds(most(n, each)) && !order_.before(n, each)) {
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

  /// Whether what the node waits for has happened, if `happened` says so of each other node.
  template <class Happened>
  [[nodiscard]] bool may_run(std::size_t n, Happened happened) const {
    const node& each = nodes_[n];
    if (each.kind == kind_t::meets) {
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

  /// Runs the program: with one queue for each device and in graphs against every order, and with a queue for each stream.
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

  /// Runs what can run among the nodes that `may`. Returns whether anything did.
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

  /// Lets each PE's queue go on as far as it goes. Returns whether anything ran.
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

  /// In a graph: which nodes run once what they depend on in the graph has run, whatever else of it has. Returns whether more
  /// do.
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

  /// Whether the order within a graph may put a node that waits for more before this one.
  [[nodiscard]] bool held_up(std::size_t n, const queue_unit& unit) const {
    return std::any_of(unit.nodes.begin(), unit.nodes.end(), [&](std::size_t other) {
      return nodes_[other].blocks && !ready_[other] && !given_.before(n, other) && !(other != n && same_kernel(other, n));
    });
  }

  const program& program_;
  std::vector<node> nodes_;
  std::vector<std::vector<queue_unit>> units_;
  std::vector<std::size_t> host_last_;
  place enqueued_;
  std::map<unsigned, std::vector<std::size_t>> steps_;
  std::map<unsigned, std::vector<std::size_t>> captured_;
  std::map<std::pair<int, handle>, std::vector<std::size_t>> notifications_;
  std::map<std::pair<int, handle>, std::vector<std::size_t>> deliveries_;
  std::map<handle, std::map<int, std::vector<call>>> calls_;
  unsigned launches_ = 0;
  order_matrix given_{0};
  order_matrix order_{0};
  std::vector<std::vector<std::size_t>> candidates_;
  std::vector<char> done_;               ///< with one queue for each device
  std::vector<char> ready_;              ///< in graphs
  std::vector<char> free_;               ///< with one for each stream
  std::vector<std::size_t> unrecorded_;  ///< waits for events
  struct difference {
    std::size_t first;
    std::size_t second;
    std::size_t number;
  };
  std::vector<difference> different_;
};

}  // namespace membar::symmetric::deadlock::detail
