// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Decides, without running it, whether what the PEs enqueue can come to an end.
///
/// **The schedules of a program.** Each stream of a PE uses one of the device's hardware queues; nothing says which. A queue
/// runs its operations in the order in which they were enqueued. Two streams may share a queue, and then hold each other up
/// although nothing orders them. A captured graph is enqueued as one piece; its nodes run in any order that its edges allow.
/// The host thread enqueues an operation after the waits that it called before. An operation runs when it is the first of its
/// queue, when what its events name has run, and when what it waits for is there: for a wait, its signal's value; for a
/// collective, every member's call of the same number. The blocks of one kernel run at once.
///
/// **The answer.** The program hangs if in some schedule something never runs. With counters, collectives and events that is
/// decided exactly. An operation that runs only lets others run, so the schedule with one queue for each device is the worst,
/// and what runs in it does not depend on who comes first.
///
/// Two things are reported although they may never hang. A signal that is set may lose the value that is waited for to a later
/// one. It is decided like a counter if each set of another value is ordered before the awaited one, or after the wait; else
/// it is reported as `lost_signal`. A captured graph is reported if each order of its nodes holds up something, even if no
/// order holds up all. No program that hangs in some schedule goes unreported.
///
/// `concurrent_collectives`, `grid_too_large` and `early_host_copy` are undefined by CUDA or NVSHMEM, whether or not they hang.
/// The first and the last are reported unless an order is found (orders.hpp says from what).
///
/// Source: NVSHMEM's documentation, "NVSHMEM and the CUDA model"; CUDA C++ Programming Guide, "Asynchronous concurrent
/// execution".
#pragma once

#include <membar/symmetric/deadlock/cycle.hpp>
#include <membar/symmetric/deadlock/hazard.hpp>
#include <membar/symmetric/deadlock/program.hpp>
#include <membar/symmetric/deadlock/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar::inline v0_2::symmetric::deadlock {

namespace detail {

/// Writes the reports about a program.
class analysis : public cycle_finder {
 public:
  explicit analysis(const program& program) : cycle_finder(program), text_(program) {}

  /// Everything that is wrong. The shortest cycle comes first, and is the only one: a cycle holds up much else.
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

  /// What is wrong so far, if the last operation is a wait of the host and the host thread enqueues more after it: why that
  /// wait would never return, and what no later operation mends.
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
      deadlock::report& first = all.front();
      const std::string why = first.sentence.substr(first.sentence.find(": ", sizeof "membar:") + 2);
      first.kind = hazard::host_before_enqueue;
      first.sentence = std::string("membar: ") + name(first.kind) + ": " + text(last) + " would never return, because " +
                       why.substr(0, why.rfind(": ")) + " among what is enqueued so far: " + remedy(first.kind);
    }
    report_concurrent_collectives(all);
    report_grids(all);
    report_early_copies(all);
    return all;
  }

 private:
  [[nodiscard]] std::string text(std::size_t operation) const { return text_.whole(operation); }

  void report_stuck(std::vector<report>& all) const {
    const auto cycle = shortest_cycle();
    if (!cycle.empty()) {
      deadlock::report hang;
      hang.kind = classify(cycle);
      for (const auto& [n, out] : cycle) {
        hang.cycle.push_back({nodes_[n].pe, text_.where(nodes_[n].operation), text_.what(nodes_[n].operation), out.how});
      }
      hang.sentence = std::string("membar: ") + name(hang.kind) + ": ";
      for (std::size_t i = 0; i != cycle.size(); ++i) {
        hang.sentence += (i == 0 ? "" : ", which ") + (i == 0 ? text(nodes_[cycle[i].first].operation) + " " : std::string()) +
                         cycle[i].second.how + " " + text(nodes_[cycle[i].second.to].operation);
      }
      hang.sentence += std::string(": ") + remedy(hang.kind);
      all.push_back(std::move(hang));
    }
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (!free_[n]) {
        report_alone(n, all);
      }
    }
  }

  /// Reports a node that never runs, with any hardware queues, because of itself.
  void report_alone(std::size_t n, std::vector<report>& all) const {
    const stream_operation& operation = operation_of(n);
    if (nodes_[n].kind == kind_t::departs && !nodes_[n].complete) {
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
               ", because another value replaces it first: order that one after the wait, or count: add, and wait for at least",
           {}});
    } else if (!is_added_to(n) || !operation.condition.holds(sum)) {
      all.push_back({hazard::never_notified,
                     "membar: never notified: " + text(nodes_[n].operation) + " waits forever, because " +
                         (is_added_to(n) ? "all that is added brings the signal to " + std::to_string(sum) + " only"
                                         : std::string("no PE sets the signal so")) +
                         ": notify it, or check the signal, the value and the PE that the notification names",
                     {}});
    }
  }

  [[nodiscard]] hazard classify(const std::vector<std::pair<std::size_t, edge>>& cycle) const {
    bool host = false;
    bool collective = false;
    bool put_after_barrier = false;
    for (const auto& [n, out] : cycle) {
      if (out.cost >= false_dependency) {
        return hazard::wait_before_notify;
      }
      host = host || out.by_host || (nodes_[n].unit < 0 && nodes_[n].blocks);
      collective = collective || nodes_[n].kind == kind_t::departs;
      put_after_barrier = put_after_barrier || (nodes_[n].kind == kind_t::notifies && nodes_[out.to].kind == kind_t::departs);
    }
    if (host) {
      return hazard::host_before_enqueue;
    }
    return collective && put_after_barrier ? hazard::barrier_before_put : hazard::cycle;
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
        return "swap two of these";
    }
  }

  void report_misuse(std::vector<report>& all) const {
    for (const difference& each : different_) {
      all.push_back({hazard::collectives_differ,
                     "membar: collectives differ: " + text(each.first) + " is taken for " + text(each.second) +
                         ", because each is its PE's collective number " + std::to_string(each.number + 1) +
                         " of that team: call the same collectives of a team in the same order on every PE",
                     {}});
    }
    for (const std::size_t each : unrecorded_) {
      all.push_back({hazard::unrecorded_event,
                     "membar: unrecorded event: " + text(each) +
                         " orders nothing, because the event was not recorded before: record it first, after the work that it "
                         "stands for",
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
                             " may then come first: copy asynchronously and wait for the stream, or have the memory copied "
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
                             " may replace first: order that after the wait, or count: add, and wait for at least",
                         {}});
          break;
        }
      }
    }
  }

  program_text text_;
};

}  // namespace detail

/// What is wrong with `program`; empty if every schedule of it ends.
///
/// The time grows with the square of the number of operations, of which there may be a few thousand.
[[nodiscard]] inline std::vector<report> check(const program& program) { return detail::analysis(program).reports(); }

}  // namespace membar::inline v0_2::symmetric::deadlock
