// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Whether what the PEs enqueue can come to an end: a decision about a `program`, without running it.
///
/// **The schedules of a program.** Each stream of a PE falls on one of the device's hardware queues, on which no one knows. A
/// queue runs its operations one after the other in the order in which they were enqueued; a stream is part of one queue, so
/// that two streams may hold each other up although nothing orders them. A captured graph is enqueued at once, and its nodes
/// run in any order of the queue's choice that its edges allow. The host thread enqueues an operation after the waits it
/// called before. An operation runs when it is the first of its queue, what its events name has run, and: a wait's signal
/// holds its value; each member of a collective's team has come to its call of the same number. Blocks of one kernel run at
/// once.
///
/// **The answer.** The program hangs if there is a schedule in which something never runs. With counters, collectives and
/// events that is decided exactly: what runs only makes more run, so that the schedule with one queue for each device is the
/// worst, and what runs in it is the same whatever comes first. A signal that is set is different, for a later value can
/// replace the one that is waited for. It is decided as a counter where every set of another value is ordered before the one
/// that is waited for, or after the wait; where no such order is found the program is reported (`lost_signal`), though it may
/// be that no schedule hangs. Of captured graphs, too, some are reported that never hang: where each order of their nodes
/// holds up something, and no order holds up all. No program that hangs in some schedule goes unreported.
///
/// `concurrent_collectives`, `grid_too_large` and `early_host_copy` are about what CUDA or NVSHMEM leaves undefined, whether
/// or not it hangs; the first and the last are reported unless an order is found. An order is found if it follows from
/// streams, events, the host's waits, collectives, what all notifications that can bring a signal to its value come after,
/// and what a counter cannot reach its value without.
///
/// Source: NVSHMEM's documentation, "NVSHMEM and the CUDA model"; CUDA C++ Programming Guide, "Asynchronous concurrent
/// execution".
#pragma once

#include <membar/symmetric/deadlock/graph.hpp>
#include <membar/symmetric/deadlock/program.hpp>
#include <membar/symmetric/deadlock/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <iterator>
#include <map>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace membar::symmetric::deadlock {

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
struct cycle_step {
  int pe = 0;
  std::string where;  ///< "stream 1", "the host"
  std::string what;   ///< "wait for signal ready = 1"
  std::string how;    ///< "is behind", "waits for", "may share a hardware queue with, and is behind"
};

/// One thing that is wrong, in one sentence that names the operations and the remedy.
struct report {
  hazard kind = hazard::cycle;
  std::string sentence;
  /// The shortest cycle, where it is one: the last step depends on the first.
  std::vector<cycle_step> cycle;
};

namespace detail {

class analysis : public graph {
 public:
  explicit analysis(const program& program) : graph(program), text_(program) {}

  /// Everything that is wrong; the shortest cycle first, and one only, for one cycle holds up much.
  [[nodiscard]] std::vector<report> reports() const {
    std::vector<report> all;
    report_stuck(all);
    report_misuse(all);
    report_concurrent_collectives(all);
    report_grids(all);
    report_early_copies(all);
    report_lost_signals(all);
    return all;
  }

  /// What is wrong with a wait of the host that is the last operation of a program whose host thread enqueues the rest
  /// afterwards: why it would never return, and what is wrong whatever follows.
  [[nodiscard]] std::vector<report> reports_of_last_wait() const {
    std::vector<report> all;
    const std::size_t last = program_.operations.size() - 1;
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (nodes_[n].operation == last && !done_[n]) {
        report_stuck(all);
        break;
      }
    }
    if (!all.empty() && all.front().cycle.empty()) {
      report& report = all.front();
      const std::string why = report.sentence.substr(report.sentence.find(": ", sizeof "membar:") + 2);
      report.kind = hazard::host_before_enqueue;
      report.sentence = std::string("membar: ") + name(report.kind) + ": " + text(last) + " would never return, for " +
                        why.substr(0, why.rfind(": ")) + " among what is enqueued so far: " + remedy(report.kind);
    }
    report_concurrent_collectives(all);
    report_grids(all);
    report_early_copies(all);
    return all;
  }

 private:
  [[nodiscard]] std::string text(std::size_t operation) const { return text_.whole(operation); }

  struct edge {
    std::size_t to = 0;
    std::size_t cost = 0;
    const char* how = "";
    bool by_host = false;  ///< the host's wait, and no stream, puts it there
  };
  static constexpr std::size_t false_dependency = 1000;

  /// Where the program stands when nothing more runs: what has not run though all before it by stream, event or host has.
  [[nodiscard]] std::vector<std::size_t> heads(const std::vector<char>& ran) const {
    std::vector<std::size_t> result;
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (!ran[n] && std::all_of(nodes_[n].after.begin(), nodes_[n].after.end(),
                                 [&](std::size_t before) { return ran[before] || (&ran == &done_ && ready_[before]); })) {
        result.push_back(n);
      }
    }
    return result;
  }

  /// What the queue of each PE stands at, with one queue for each device.
  [[nodiscard]] std::vector<std::size_t> fronts() const {
    std::vector<std::size_t> result;
    for (const std::vector<queue_unit>& queue : units_) {
      for (const queue_unit& unit : queue) {
        const std::size_t before = result.size();
        std::copy_if(unit.nodes.begin(), unit.nodes.end(), std::back_inserter(result),
                     [&](std::size_t n) { return !done_[n] && nodes_[n].blocks; });
        if (result.size() != before) {
          break;
        }
      }
    }
    return result;
  }

  /// What a node that never runs depends on: the heads that it is behind, what its queue stands at, and what it waits for.
  [[nodiscard]] std::vector<edge> blockers(std::size_t n, const std::vector<char>& ran, const std::vector<std::size_t>& heads,
                                           const std::vector<std::size_t>& fronts) const {
    std::vector<edge> result;
    const node& each = nodes_[n];
    for (const std::size_t other : heads) {
      if (given_.before(other, n)) {
        const bool by_host = host_puts_behind(n, other, ran);
        result.push_back({other, nodes_[other].blocks ? 1U : 2U, by_host ? "is enqueued only after" : behind(n), by_host});
      }
    }
    for (const std::size_t other : fronts) {
      if (other != n && queue_puts_behind(n, other)) {
        result.push_back({other, false_dependency, "may share a hardware queue with, and then is behind,"});
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

  /// Whether `n` is enqueued after the host has waited for `other`, which is in another stream or is the host's wait itself.
  [[nodiscard]] bool host_puts_behind(std::size_t n, std::size_t other, const std::vector<char>& ran) const {
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

  /// Whether a queue may run `n` after `other` though nothing orders them.
  [[nodiscard]] bool queue_puts_behind(std::size_t n, std::size_t other) const {
    const node& each = nodes_[n];
    if (nodes_[other].pe != each.pe || nodes_[other].unit > each.unit || given_.before(other, n)) {
      return false;
    }
    const queue_unit& unit = units_[static_cast<std::size_t>(each.pe)][static_cast<std::size_t>(each.unit)];
    return nodes_[other].unit < each.unit ||
           (unit.any_order && !ready_[other] && !given_.before(n, other) && !same_kernel(other, n));
  }

  /// "is behind", or for the host's waits "waits for".
  [[nodiscard]] const char* behind(std::size_t n) const {
    if (nodes_[n].unit < 0 && nodes_[n].blocks && nodes_[n].kind == kind_t::passes) {
      return "waits for";
    }
    return "is behind";
  }

  using path = std::vector<std::pair<std::size_t, edge>>;

  /// The shortest cycle through where the program stands, whatever queues there are; where there is none, the one with the
  /// fewest dependencies that only a shared queue makes, and of these the shortest.
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

  /// Replaces `best` by the cheapest cycle through `start`, if that is cheaper. With `only_by_queues` one of its dependencies
  /// is a false one.
  void find_cycle(std::size_t start, bool only_by_queues, const std::vector<std::vector<edge>>& edges, path& best,
                  std::size_t& best_cost) const {
    // A state is a node, and whether a false dependency led there.
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

  void report_stuck(std::vector<report>& all) const {
    const auto cycle = shortest_cycle();
    if (!cycle.empty()) {
      report report;
      report.kind = classify(cycle);
      for (const auto& [n, out] : cycle) {
        report.cycle.push_back({nodes_[n].pe, text_.where(nodes_[n].operation), text_.what(nodes_[n].operation), out.how});
      }
      report.sentence = std::string("membar: ") + name(report.kind) + ": ";
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
  void report_alone(std::size_t n, std::vector<report>& all) const {
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
      host = host || out.by_host || (nodes_[n].unit < 0 && nodes_[n].blocks);
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

  void report_misuse(std::vector<report>& all) const {
    for (const difference& each : different_) {
      all.push_back({hazard::collectives_differ,
                     "membar: collectives differ: " + text(each.first) + " meets " + text(each.second) +
                         ", for each is its PE's collective number " + std::to_string(each.number + 1) +
                         " of that team: call the same collectives of a team in the same order on every PE",
                     {}});
    }
    for (const std::size_t each : unrecorded_) {
      all.push_back({hazard::unrecorded_event,
                     "membar: unrecorded event: " + text(each) +
                         " orders nothing, because the event was not recorded before: record it first, after what is to be "
                         "waited for",
                     {}});
    }
  }

  void report_concurrent_collectives(std::vector<report>& all) const {
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

  void report_grids(std::vector<report>& all) const {
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

  void report_early_copies(std::vector<report>& all) const {
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
                           (program_.hosts == callers::one && operation.target == copied.pe &&
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

  void report_lost_signals(std::vector<report>& all) const {
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

  program_text text_;
};

}  // namespace detail

/// What is wrong with `program`; nothing if every schedule of it comes to its end.
///
/// The work is that of a few passes over the square of the number of operations, of which there may be some thousand.
[[nodiscard]] inline std::vector<report> check(const program& program) { return detail::analysis(program).reports(); }

}  // namespace membar::symmetric::deadlock
