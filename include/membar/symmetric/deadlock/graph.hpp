// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A program of streams as a graph: its operations as nodes, and what comes before each by itself.
#pragma once

#include <membar/error.hpp>
#include <membar/symmetric/deadlock/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::inline v0_2::symmetric::deadlock::detail {

/// A part of an operation: a collective is an arrival and a departure, a kernel is its steps.
struct node {
  enum class kind_t : unsigned char { passes, notifies, waits, departs };

  kind_t kind = kind_t::passes;
  std::size_t operation = 0;
  int pe = 0;
  /// The position in the PE's queue. -1 for what is in no queue: waits of the host, and notifications that are delivered later.
  int unit = -1;
  unsigned kernel = 0;                ///< nodes of one launch share a number; 0: not of a kernel
  bool blocks = false;                ///< it can hold up what comes after it in its queue
  bool complete = true;               ///< of `departs`: all members call the collective
  std::vector<std::size_t> after;     ///< what comes before it by stream, event, host or kernel
  std::vector<std::size_t> arrivals;  ///< of `departs`
};

/// What one call enqueues: an operation, a kernel with its steps, or a graph, whose nodes run in any order.
struct queue_unit {
  std::vector<std::size_t> nodes;
  bool any_order = false;
};

/// The nodes of a program and what comes before each by stream, event, host and kernel.
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
  }

 protected:
  using kind_t = node::kind_t;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_nodes = 16384;

  struct call {
    std::size_t arrival;
    std::size_t departure;
  };

  /// Where operations are appended: the streams of the program, or those of a graph that is launched.
  struct place {
    std::map<std::pair<int, handle>, std::size_t> last;
    std::map<std::pair<std::size_t, handle>, std::size_t> events;  ///< by host thread, because a process has its own events
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
    made.blocks = kind == kind_t::waits || kind == kind_t::departs;
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
        host = join(index, -1, {host}, 0);
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
        last = join(index, where.unit, delivered(operation, after), 0);
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

  /// A notification: the operation `index`, which is a step of the operation `enqueued` or that operation itself.
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

  /// A call of a collective. Returns its departure.
  std::size_t join(std::size_t index, int unit, std::vector<std::size_t> after, unsigned kernel) {
    const stream_operation& operation = program_.operations[index];
    const std::size_t arrival = make(kind_t::passes, index, operation.pe, unit, std::move(after));
    const std::size_t departure = make(kind_t::departs, index, operation.pe, unit, {arrival});
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
        last = join(each, where.unit, {last}, launch);
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

  /// Notes two calls that are taken for one collective and have different names.
  void compare(std::size_t mine, std::size_t theirs, std::size_t number) {
    if (mine < theirs && std::string_view(operation_of(mine).name) != operation_of(theirs).name) {
      different_.push_back({nodes_[mine].operation, nodes_[theirs].operation, number});
    }
  }

  [[nodiscard]] std::uint64_t at_start(int pe, handle signal) const {
    const auto value = program_.signals.find({pe, signal});
    return value == program_.signals.end() ? 0 : value->second;
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
  std::vector<std::size_t> unrecorded_;  ///< waits for events
  struct difference {
    std::size_t first;
    std::size_t second;
    std::size_t number;
  };
  std::vector<difference> different_;
};

}  // namespace membar::inline v0_2::symmetric::deadlock::detail
