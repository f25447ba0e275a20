// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Whether what the PEs enqueue can come to an end: a decision about a `stream_program`, without running it.
///
/// **The schedules of a program.** Each stream of a PE falls on one of the device's hardware queues, on which no one knows. A
/// queue runs its operations one after the other in the order in which they were enqueued; a stream is part of one queue, so that
/// two streams may hold each other up although nothing orders them. A captured graph is enqueued at once, and its nodes run in any
/// order of the queue's choice that its edges allow. The host thread enqueues an operation after the waits it called before. An
/// operation runs when it is the first of its queue, what its events name has run, and:
/// a wait's signal holds its value; each member of a collective's team has come to its call of the same number. Blocks of one
/// kernel run at once.
///
/// **The answer.** The program hangs if there is a schedule in which something never runs. With counters, collectives and events
/// that is decided exactly: what runs only makes more run, so that the schedule with one queue for each device is the worst, and
/// what runs in it is the same whatever comes first. A signal that is set is different, for a later value can replace the one that
/// is waited for. It is decided as a counter where every set of another value is ordered before the one that is waited for, or
/// after the wait; where no such order is found the program is reported (`lost_signal`), though it may be that no schedule hangs.
/// Within captured graphs, `concurrent_collectives`, `grid_too_large` and `early_host_copy`, too, are reported where nothing is
/// found that orders them: these reports are about what CUDA or NVSHMEM leaves undefined, whether or not it hangs.
/// An order is found if it follows from streams, events, the host's waits, collectives, a signal that only one
/// notification can bring to its value, and a counter that reaches its value only with the notification.
///
/// Source: NVSHMEM's documentation, "NVSHMEM and the CUDA model"; CUDA C++ Programming Guide, "Asynchronous concurrent execution".
#pragma once

#include <membar/error.hpp>
#include <membar/symmetric/stream_program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace membar {

/// What is wrong with a program.
enum class hazard : unsigned char {
  barrier_before_put,      ///< a collective is enqueued before the notification that another PE waits for before it joins
  wait_before_notify,      ///< on another stream of the PE, or in a graph without an edge: a false dependency through a queue
  host_before_enqueue,     ///< the host waits before it has enqueued what it waits for
  cycle,                   ///< any other cycle
  never_notified,          ///< a wait for a value that the signal never has
  missing_member,          ///< a collective that a member of its team does not call
  collectives_differ,      ///< members call different collectives of one team as the same one
  concurrent_collectives,  ///< of one team and PE, on two streams or on a stream and the host
  grid_too_large,          ///< for waits inside the kernel
  early_host_copy,         ///< an operation on the heap after a host copy that may not have run
  lost_signal,             ///< a value that may be replaced before the wait has seen it
  unrecorded_event         ///< a wait for an event that was not recorded orders nothing
};

/// The hazard's name: "barrier before put", "wait before notify", and so on.
[[nodiscard]] constexpr const char* name(hazard kind) noexcept {
  switch (kind) {
    case hazard::barrier_before_put:
      return "barrier before put";
    case hazard::wait_before_notify:
      return "wait before notify";
    case hazard::host_before_enqueue:
      return "host waits before it enqueues";
    case hazard::cycle:
      return "cycle";
    case hazard::never_notified:
      return "never notified";
    case hazard::missing_member:
      return "missing member";
    case hazard::collectives_differ:
      return "collectives differ";
    case hazard::concurrent_collectives:
      return "concurrent collectives";
    case hazard::grid_too_large:
      return "grid too large";
    case hazard::early_host_copy:
      return "early host copy";
    case hazard::lost_signal:
      return "lost signal";
    case hazard::unrecorded_event:
      return "unrecorded event";
  }
  return "unknown hazard";
}

/// Whether a report of this kind means that some schedule hangs. The others are about what is undefined, or may be needless.
[[nodiscard]] constexpr bool hangs(hazard kind) noexcept { return kind <= hazard::missing_member; }

/// A step of a cycle: an operation, and how it depends on the next one.
struct dependency_step {
  int pe = 0;
  std::string where;  ///< "stream 1", "the host"
  std::string what;   ///< "wait for signal ready = 1"
  std::string how;    ///< "is behind", "waits for", "may share a hardware queue with, and is behind"
};

/// One thing that is wrong, in one sentence that names the operations and the remedy.
struct dependency_report {
  hazard kind = hazard::cycle;
  std::string sentence;
  /// The shortest cycle, where it is one: the last step depends on the first.
  std::vector<dependency_step> cycle;
};

namespace detail {

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

 private:
  std::size_t words_;
  std::vector<std::uint64_t> rows_;
};

/// What an operation is taken apart into: a collective is an arrival and a departure, a kernel its steps.
struct dependency_node {
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
struct dependency_unit {
  std::vector<std::size_t> nodes;
  bool any_order = false;
};

class dependency_analysis {
 public:
  explicit dependency_analysis(const stream_program& program)
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

  /// Everything that is wrong; the shortest cycle first, and one only, for one cycle holds up much.
  [[nodiscard]] std::vector<dependency_report> reports() const {
    std::vector<dependency_report> all;
    report_stuck(all);
    for (const dependency_report& each : found_) {
      all.push_back(each);
    }
    report_concurrent_collectives(all);
    report_grids(all);
    report_early_copies(all);
    report_lost_signals(all);
    return all;
  }

  /// What is wrong with a wait of the host that is the last operation of a program whose host thread enqueues the rest
  /// afterwards: why it would never return, and what is wrong whatever follows.
  [[nodiscard]] std::vector<dependency_report> reports_of_last_wait() const {
    std::vector<dependency_report> all;
    const std::size_t last = program_.operations.size() - 1;
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (nodes_[n].operation == last && !done_[n]) {
        report_stuck(all);
        break;
      }
    }
    if (!all.empty() && all.front().cycle.empty()) {
      dependency_report& report = all.front();
      const std::string why = report.sentence.substr(report.sentence.find(": ", sizeof "membar:") + 2);
      report.kind = hazard::host_before_enqueue;
      report.sentence = std::string("membar: ") + membar::name(report.kind) + ": " + text(last) + " would never return, for " +
                        why.substr(0, why.rfind(": ")) + " among what is enqueued so far: " + remedy(report.kind);
    }
    report_concurrent_collectives(all);
    report_grids(all);
    report_early_copies(all);
    return all;
  }

  /// What the signals hold when all has ended.
  [[nodiscard]] std::map<std::pair<int, handle_id>, std::uint64_t> signals_at_end() const {
    std::map<std::pair<int, handle_id>, std::uint64_t> result = program_.signals;
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

 private:
  using node = dependency_node;
  using kind_t = node::kind_t;
  static constexpr std::size_t none = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_nodes = 16384;

  struct call {
    std::size_t arrival;
    std::size_t departure;
  };

  /// Where operations are appended: the streams of the program, or those of a graph that is being launched.
  struct place {
    std::map<std::pair<int, handle_id>, std::size_t> last;
    std::map<handle_id, std::size_t> events;
    std::size_t begin = none;
    int unit = -1;
  };

  [[nodiscard]] const stream_operation& operation_of(std::size_t n) const noexcept {
    return program_.operations[nodes_[n].operation];
  }
  [[nodiscard]] std::size_t host_of(int pe) const noexcept {
    return program_.hosts == host_threads::one ? 0 : static_cast<std::size_t>(pe);
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
    std::vector<dependency_unit>& queue = units_[static_cast<std::size_t>(pe)];
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
    const auto recorded = where.events.find(operation.object);
    if (recorded != where.events.end()) {
      return recorded->second;
    }
    found_.push_back({hazard::unrecorded_event,
                      "membar: " + text(index) +
                          " orders nothing, because the event was not recorded before: record it first, " +
                          "after what is to be waited for",
                      {}});
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
        where.events[operation.object] = last;
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

  [[nodiscard]] std::vector<int> members(handle_id team) const {
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
              report_difference(calls[i].departure, theirs->second[i].departure, i);
            }
          }
        }
      }
    }
  }

  void report_difference(std::size_t mine, std::size_t theirs, std::size_t number) {
    if (mine < theirs && std::string(operation_of(mine).name) != operation_of(theirs).name) {
      found_.push_back({hazard::collectives_differ,
                        "membar: " + text(nodes_[mine].operation) + " meets " + text(nodes_[theirs].operation) +
                            ", for each is its PE's collective number " + std::to_string(number + 1) +
                            " of that team: call the same collectives of a team in the same order on every PE",
                        {}});
    }
  }

  [[nodiscard]] std::uint64_t at_start(int pe, handle_id signal) const {
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

  /// Whether something of another value is set between `first`, or the start, and the wait, in every schedule.
  [[nodiscard]] bool replaced_before(std::size_t first, std::size_t wait) const {
    for (const std::size_t other : notifications_of(wait)) {
      if (other != first && !brings(other, wait) && order_.before(other, wait) &&
          (first == none || order_.before(first, other))) {
        return true;
      }
    }
    return false;
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

  /// What the signal of a counter holds at most when the wait ends, without the notification `but`.
  [[nodiscard]] std::uint64_t most(std::size_t wait, std::size_t but) const {
    const stream_operation& operation = operation_of(wait);
    std::uint64_t sum = at_start(operation.pe, operation.object);
    for (const std::size_t each : notifications_of(wait)) {
      sum += each != but && !order_.before(wait, each) ? operation_of(each).effect.value : 0;
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
            if (most(n, each) < operation_of(n).condition.value && !order_.before(n, each)) {
              changed = derived.insert({each, n}).second || changed;
            }
          }
        } else {
          const std::vector<std::size_t> possible = candidates(n);
          if (possible.size() == 1 && possible.front() != none) {
            changed = derived.insert({possible.front(), n}).second || changed;
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
        const dependency_unit& unit = units_[pe][next[pe]];
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

  /// In a graph: which nodes run once what they depend on in the graph has run, whatever else of it has. Returns whether more do.
  bool make_ready(const dependency_unit& unit) {
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
  [[nodiscard]] bool held_up(std::size_t n, const dependency_unit& unit) const {
    return std::any_of(unit.nodes.begin(), unit.nodes.end(), [&](std::size_t other) {
      return nodes_[other].blocks && !ready_[other] && !given_.before(n, other) && !(other != n && same_kernel(other, n));
    });
  }

  struct edge {
    std::size_t to = 0;
    std::size_t cost = 0;
    const char* how = "";
  };
  static constexpr std::size_t false_dependency = 1000;

  /// What a node that never runs depends on, among those that never run. Nodes that hold nothing up are passed over.
  [[nodiscard]] std::vector<edge> blockers(std::size_t n, const std::vector<char>& ran) const {
    std::vector<edge> result;
    const bool shared = &ran == &done_;
    const node& each = nodes_[n];
    for (std::size_t other = 0; other != nodes_.size(); ++other) {
      if (other == n || ran[other] || !nodes_[other].blocks) {
        continue;
      }
      const bool graph =
          each.unit >= 0 && units_[static_cast<std::size_t>(each.pe)][static_cast<std::size_t>(each.unit)].any_order;
      if (given_.before(other, n)) {
        result.push_back({other, 1, behind(n, other)});
      } else if (shared && nodes_[other].pe == each.pe && nodes_[other].unit >= 0 &&
                 (nodes_[other].unit < each.unit || (nodes_[other].unit == each.unit && graph && !ready_[other] &&
                                                     !given_.before(n, other) && !same_kernel(other, n)))) {
        result.push_back({other, false_dependency, "may share a hardware queue with, and then is behind,"});
      }
    }
    for (const std::size_t before : each.after) {
      if (!ran[before] && !nodes_[before].blocks) {
        result.push_back({before, 2, behind(n, before)});  // which may be held up by its own queue
      }
    }
    if (each.kind == kind_t::waits) {
      for (const std::size_t notification : notifications_of(n)) {
        if (!ran[notification] && (operation_of(notification).effect.adds || brings(notification, n))) {
          result.push_back({notification, 1, "waits for"});
        }
      }
    }
    for (const std::size_t arrival : each.arrivals) {
      if (!ran[arrival]) {
        result.push_back({arrival, 1, "waits for"});
      }
    }
    return result;
  }

  /// "is behind", or for the host's waits "waits for".
  [[nodiscard]] const char* behind(std::size_t n, std::size_t other) const {
    if (nodes_[n].unit < 0 && nodes_[n].blocks && nodes_[n].kind == kind_t::passes) {
      return "waits for";
    }
    if (nodes_[other].unit < 0 && nodes_[other].kind != kind_t::notifies) {
      return "is enqueued after";
    }
    return "is behind";
  }

  using path = std::vector<std::pair<std::size_t, edge>>;

  /// The shortest cycle of nodes that never run, whatever queues there are; where there is none, the one with the fewest
  /// dependencies that only a shared queue makes, and of these the shortest.
  [[nodiscard]] path shortest_cycle() const {
    const bool all_free = std::find(free_.begin(), free_.end(), 0) == free_.end();
    const std::vector<char>& ran = all_free ? done_ : free_;
    std::vector<std::vector<edge>> edges(nodes_.size());
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (!ran[n]) {
        edges[n] = blockers(n, ran);
      }
    }
    path best;
    std::size_t best_cost = none;
    for (std::size_t start = 0; start != nodes_.size(); ++start) {
      for (const edge& first : edges[start]) {
        if (all_free ? first.cost >= false_dependency : nodes_[start].blocks) {
          close(start, first, edges, best, best_cost);
        }
      }
    }
    return best;
  }

  /// Replaces `best` by the cheapest cycle that begins with the edge `first` of `start`, if that is cheaper.
  void close(std::size_t start, const edge& first, const std::vector<std::vector<edge>>& edges, path& best,
             std::size_t& best_cost) const {
    std::vector<std::size_t> cost(nodes_.size(), none);
    path came(nodes_.size());
    using entry = std::pair<std::size_t, std::size_t>;
    std::priority_queue<entry, std::vector<entry>, std::greater<>> open;
    cost[first.to] = first.cost;
    open.push({first.cost, first.to});
    while (!open.empty()) {
      const auto [so_far, n] = open.top();
      open.pop();
      if (n == start || so_far >= best_cost) {
        break;
      }
      for (const edge& each : edges[n]) {
        if (so_far == cost[n] && so_far + each.cost < cost[each.to]) {
          cost[each.to] = so_far + each.cost;
          came[each.to] = {n, each};
          open.push({cost[each.to], each.to});
        }
      }
    }
    if (cost[start] < best_cost) {
      best_cost = cost[start];
      best.clear();
      for (std::size_t at = start; at != first.to; at = came[at].first) {
        best.push_back(came[at]);
      }
      best.push_back({start, first});
      std::reverse(best.begin(), best.end());
    }
  }

  void report_stuck(std::vector<dependency_report>& all) const {
    const auto cycle = shortest_cycle();
    if (!cycle.empty()) {
      dependency_report report;
      report.kind = classify(cycle);
      for (const auto& [n, out] : cycle) {
        report.cycle.push_back({nodes_[n].pe, where(n), what(nodes_[n].operation), out.how});
      }
      report.sentence = std::string("membar: ") + membar::name(report.kind) + ": ";
      for (std::size_t i = 0; i != cycle.size(); ++i) {
        report.sentence += (i == 0 ? "" : ", which ") +
                           (i == 0 ? text(nodes_[cycle[i].first].operation) + " " : std::string()) + cycle[i].second.how + " " +
                           text(nodes_[cycle[i].second.to].operation);
      }
      report.sentence += std::string(": ") + remedy(report.kind);
      all.push_back(std::move(report));
    }
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (!free_[n]) {
        report_alone(n, all);
      }
    }
  }

  /// What never runs whatever else does.
  void report_alone(std::size_t n, std::vector<dependency_report>& all) const {
    const stream_operation& operation = operation_of(n);
    if (nodes_[n].kind == kind_t::meets && !nodes_[n].complete) {
      std::string missing;
      for (const int member : members(operation.object)) {
        const bool comes = std::any_of(nodes_[n].arrivals.begin(), nodes_[n].arrivals.end(),
                                       [&](std::size_t arrival) { return nodes_[arrival].pe == member; });
        missing += comes ? "" : (missing.empty() ? "PE " : ", PE ") + std::to_string(member);
      }
      all.push_back({hazard::missing_member,
                     "membar: missing member: " + text(nodes_[n].operation) + " waits for " + missing +
                         ", which never calls it: call it on every PE of the team, as often as on the others",
                     {}});
    }
    if (nodes_[n].kind != kind_t::waits || may_run(n, [&](std::size_t other) { return free_[other] != 0; })) {
      return;
    }
    std::uint64_t sum = at_start(operation.pe, operation.object);
    const std::size_t* lost = nullptr;
    for (const std::size_t& each : notifications_of(n)) {
      sum += operation_of(each).effect.value;
      if (!is_added_to(n) && brings(each, n)) {
        if (!free_[each]) {
          return;  // it depends on that
        }
        lost = &each;
      }
    }
    if (lost != nullptr) {
      all.push_back(
          {hazard::lost_signal,
           "membar: lost signal: " + text(nodes_[n].operation) + " misses " + text(nodes_[*lost].operation) +
               ", which is replaced before: order what replaces it after the wait, or count: add, and wait for at least",
           {}});
    } else if (!is_added_to(n) || !operation.condition.holds(sum)) {
      all.push_back({hazard::never_notified,
                     "membar: never notified: " + text(nodes_[n].operation) + " waits for ever, because " +
                         (is_added_to(n) ? "all that is added brings the signal to " + std::to_string(sum) + " only"
                                         : std::string("no PE sets the signal so")) +
                         ": notify it, or check the signal, the value and the PE that the notification names",
                     {}});
    }
  }

  [[nodiscard]] hazard classify(const std::vector<std::pair<std::size_t, edge>>& cycle) const {
    bool host = false;
    bool meets = false;
    bool put_behind_barrier = false;
    for (const auto& [n, out] : cycle) {
      if (out.cost >= false_dependency) {
        return hazard::wait_before_notify;
      }
      host = host || (nodes_[n].unit < 0 && nodes_[n].blocks);
      meets = meets || nodes_[n].kind == kind_t::meets;
      put_behind_barrier = put_behind_barrier || (nodes_[n].kind == kind_t::notifies && nodes_[out.to].kind == kind_t::meets);
    }
    if (host) {
      return hazard::host_before_enqueue;
    }
    return meets && put_behind_barrier ? hazard::barrier_before_put : hazard::cycle;
  }

  [[nodiscard]] static const char* remedy(hazard kind) noexcept {
    switch (kind) {
      case hazard::barrier_before_put:
        return "enqueue the notification before the collective";
      case hazard::wait_before_notify:
        return "enqueue the notification first, in the same stream or with an event that the waiting stream waits for "
               "(cudaStreamWaitEvent)";
      case hazard::host_before_enqueue:
        return "enqueue the work of every PE before the host waits for any";
      default:
        return "turn the order of two of these round";
    }
  }

  void report_concurrent_collectives(std::vector<dependency_report>& all) const {
    for (const auto& [team, by_pe] : calls_) {
      for (const auto& [pe, calls] : by_pe) {
        for (std::size_t i = 1; i < calls.size(); ++i) {
          if (!order_.before(calls[i - 1].departure, calls[i].arrival)) {
            all.push_back(
                {hazard::concurrent_collectives,
                 "membar: concurrent collectives: " + text(nodes_[calls[i - 1].departure].operation) + " and " +
                     text(nodes_[calls[i].departure].operation) +
                     " may run at once, which no team allows: put them on one stream, let the second's stream wait for "
                     "an event after the first, or give each a team of its own",
                 {}});
            break;
          }
        }
      }
    }
  }

  void report_grids(std::vector<dependency_report>& all) const {
    std::set<std::size_t> seen;
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      const std::size_t index = nodes_[n].operation;
      const stream_operation& operation = program_.operations[index];
      if (operation.kind != operation_kind::kernel || operation.shape.room == 0 ||
          operation.shape.blocks <= operation.shape.room || !seen.insert(index).second) {
        continue;
      }
      const auto steps = steps_.find(operation.kernel);
      const bool waits =
          steps != steps_.end() && std::any_of(steps->second.begin(), steps->second.end(), [&](std::size_t step) {
            return program_.operations[step].kind != operation_kind::notify;
          });
      if (waits) {
        all.push_back({hazard::grid_too_large,
                       "membar: grid too large: " + text(index) + " has " + std::to_string(operation.shape.blocks) +
                           " blocks that may wait, and the device has room for " + std::to_string(operation.shape.room) +
                           " at once, " +
                           (operation.shape.cooperative ? "so that its cooperative launch fails"
                                                        : "so that those that run may wait for those that cannot begin") +
                           ": launch at most that many, cooperatively and on every PE (collective_launch)",
                       {}});
      }
    }
  }

  void report_early_copies(std::vector<dependency_report>& all) const {
    for (std::size_t copy = 0; copy != nodes_.size(); ++copy) {
      const stream_operation& copied = operation_of(copy);
      if (copied.kind != operation_kind::host_copy || !copied.early) {
        continue;
      }
      for (std::size_t n = copy + 1; n != nodes_.size(); ++n) {
        const stream_operation& operation = operation_of(n);
        const bool on_heap = operation.kind == operation_kind::access || operation.kind == operation_kind::notify ||
                             operation.kind == operation_kind::collective ||
                             operation.kind == operation_kind::host_collective || operation.kind == operation_kind::kernel;
        const bool there = operation.pe == copied.pe ||
                           (program_.hosts == host_threads::one && operation.target == copied.pe &&
                            (operation.kind == operation_kind::access || operation.kind == operation_kind::notify));
        if (on_heap && there && !order_.before(copy, n)) {
          all.push_back({hazard::early_host_copy,
                         "membar: early host copy: " + text(nodes_[copy].operation) + " may return before it has run, and " +
                             text(nodes_[n].operation) +
                             " may then be earlier: copy asynchronously and wait for the stream, or have the memory copied "
                             "synchronously (host_copy.hpp does either)",
                         {}});
          break;
        }
      }
    }
  }

  void report_lost_signals(std::vector<dependency_report>& all) const {
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (nodes_[n].kind != kind_t::waits || is_added_to(n) || !free_[n]) {
        continue;
      }
      for (const std::size_t other : notifications_of(n)) {
        const auto replaces = [&](std::size_t candidate) { return candidate == none || !order_.before(other, candidate); };
        const auto candidate = std::find_if(candidates_[n].begin(), candidates_[n].end(), replaces);
        if (!brings(other, n) && !order_.before(n, other) && candidate != candidates_[n].end()) {
          all.push_back({hazard::lost_signal,
                         "membar: lost signal: " + text(nodes_[n].operation) + " may miss " +
                             (*candidate == none ? std::string("the value at the start") : text(nodes_[*candidate].operation)) +
                             ", which " + text(nodes_[other].operation) +
                             " may replace before: order that after the wait, or count: add, and wait for at least",
                         {}});
          break;
        }
      }
    }
  }

  [[nodiscard]] std::string named_or(named kind, handle_id id, std::string otherwise) const {
    const auto found = program_.names.find({kind, id});
    return found == program_.names.end() ? std::move(otherwise) : found->second;
  }

  /// The place of a stream among those of the program, counted from 1, in the order of their first use.
  [[nodiscard]] std::string stream_name(handle_id stream) const {
    if (stream == handle_id()) {
      return named_or(named::stream, stream, "the default stream");
    }
    std::vector<handle_id> seen;
    for (const stream_operation& each : program_.operations) {
      if (each.stream != handle_id() && std::find(seen.begin(), seen.end(), each.stream) == seen.end()) {
        seen.push_back(each.stream);
      }
      if (each.stream == stream) {
        break;
      }
    }
    return "stream " + named_or(named::stream, stream, std::to_string(seen.size()));
  }

  [[nodiscard]] std::string numbered(named kind, const char* word, handle_id id) const {
    char number[24];
    std::snprintf(number, sizeof number, id.number() < 1000 ? "%llu" : "%#llx", static_cast<unsigned long long>(id.number()));
    return std::string(word) + " " + named_or(kind, id, number);
  }

  [[nodiscard]] std::string team_name(handle_id team) const {
    return team == world_team ? named_or(named::team, team, "all PEs") : numbered(named::team, "team", team);
  }

  [[nodiscard]] std::string where(std::size_t n) const { return where_of(nodes_[n].operation); }
  [[nodiscard]] std::string where_of(std::size_t index) const {
    const stream_operation& operation = program_.operations[index];
    switch (operation.kind) {
      case operation_kind::host_collective:
      case operation_kind::host_stream:
      case operation_kind::host_event:
      case operation_kind::host_pe:
        return "the host";
      default:
        return stream_name(operation.stream);
    }
  }

  /// What an operation does.
  [[nodiscard]] std::string what(std::size_t index) const {
    const stream_operation& operation = program_.operations[index];
    const std::string own = operation.name;
    const auto or_own = [&](const char* word) { return own.empty() ? std::string(word) : own; };
    const std::string signal = numbered(named::signal, "signal", operation.object);
    switch (operation.kind) {
      case operation_kind::work:
        return or_own("kernel");
      case operation_kind::access:
        return or_own("access of the heap");
      case operation_kind::notify:
        return or_own("notification") + " (" + signal + " of PE " + std::to_string(operation.target) +
               (operation.effect.adds ? " + " : " := ") + std::to_string(operation.effect.value) + ")";
      case operation_kind::wait:
        return or_own("wait") + " (" + signal + (operation.condition.at_least ? " >= " : " = ") +
               std::to_string(operation.condition.value) + ")";
      case operation_kind::quiet:
        return or_own("quiet");
      case operation_kind::collective:
      case operation_kind::host_collective:
        return or_own("barrier") + " of " + team_name(operation.object);
      case operation_kind::record_event:
        return "record of " + numbered(named::event, "event", operation.object);
      case operation_kind::wait_event:
        return "wait for " + numbered(named::event, "event", operation.object);
      case operation_kind::kernel:
        return or_own("kernel");
      case operation_kind::launch_graph:
        return "launch of " + numbered(named::graph, "graph", operation.object);
      case operation_kind::host_stream:
        return "wait for " + stream_name(operation.stream);
      case operation_kind::host_event:
        return "wait for " + numbered(named::event, "event", operation.object);
      case operation_kind::host_pe:
        return "wait for all streams";
      case operation_kind::host_copy:
        return or_own("host copy");
    }
    return "operation";
  }

  /// "PE 0's wait (signal 1 = 1) in stream 2".
  [[nodiscard]] std::string text(std::size_t index) const {
    const std::string at = where_of(index);
    return "PE " + std::to_string(program_.operations[index].pe) + "'s " + what(index) + (at == "the host" ? " by " : " in ") +
           at;
  }

  const stream_program& program_;
  std::vector<node> nodes_;
  std::vector<std::vector<dependency_unit>> units_;
  std::vector<std::size_t> host_last_;
  place enqueued_;
  std::map<unsigned, std::vector<std::size_t>> steps_;
  std::map<unsigned, std::vector<std::size_t>> captured_;
  std::map<std::pair<int, handle_id>, std::vector<std::size_t>> notifications_;
  std::map<std::pair<int, handle_id>, std::vector<std::size_t>> deliveries_;
  std::map<handle_id, std::map<int, std::vector<call>>> calls_;
  unsigned launches_ = 0;
  order_matrix given_{0};
  order_matrix order_{0};
  std::vector<std::vector<std::size_t>> candidates_;
  std::vector<char> done_;   ///< with one queue for each device
  std::vector<char> ready_;  ///< in graphs
  std::vector<char> free_;   ///< with one for each stream
  std::vector<dependency_report> found_;
};

}  // namespace detail

/// What is wrong with `program`; nothing if every schedule of it comes to its end.
///
/// The work is that of a few passes over the square of the number of operations, of which there may be some thousand.
[[nodiscard]] inline std::vector<dependency_report> check_dependencies(const stream_program& program) {
  return detail::dependency_analysis(program).reports();
}

}  // namespace membar
