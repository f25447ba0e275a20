// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Decides, without running them, whether the operations that the PEs enqueue can all complete.
///
/// **The schedules of a program.** Each stream of a PE uses one of the device's hardware queues, but CUDA does not specify
/// which one. A queue runs its operations in the order in which they were enqueued. Two streams may share a queue and then
/// block each other, even though no dependency orders them. A captured graph is enqueued as a unit; its nodes run in any order
/// that its edges allow. A host thread enqueues an operation only after its earlier host waits have returned. An operation runs
/// when it is the first in its queue, the event records that it waits for have run, and the condition that it waits for holds.
/// A wait requires its signal to have a suitable value; a collective requires every member to make the call with the same
/// number. The blocks of one kernel run concurrently.
///
/// **The answer.** The program hangs if some operation never runs in some schedule. For counters, collectives and events, the
/// answer is exact. Running an operation can only enable other operations, so the schedule with one queue per device is the
/// worst case, and the order of arrival does not affect which operations run in it.
///
/// Two kinds of programs are reported even though they may never hang. First, if a signal is set to several values, a later
/// value may overwrite the value that a wait needs. Such a signal can be analyzed in the same way as a counter if every
/// operation that sets a different value is ordered either before the operation that sets the awaited value or after the wait.
/// Otherwise, it is reported as `lost_signal`. Second, a captured graph is reported if several of its operations are each
/// blocked in some order of its nodes, even if no single order blocks all of them. Every program that hangs in some schedule is
/// reported.
///
/// In the cases `concurrent_collectives`, `grid_too_large` and `early_host_copy`, CUDA or NVSHMEM leaves the behaviour
/// undefined, whether or not the program hangs. `concurrent_collectives` and `early_host_copy` are reported unless the check
/// finds an order between the operations. The same applies to `lost_signal`, and to `stale_wait`, which reports a wait that may
/// be satisfied by an earlier wait's value before its own notification arrives. Orders follow from streams, events, host waits,
/// collectives, and the notifications without which a wait cannot end.
///
/// **Time and size.** The check runs a program once in its worst schedule, with vector clocks, in time that grows with the
/// number of operations. This proves most programs correct. Any other program is analyzed exactly if it has at most
/// `exact_operations` operations. To demonstrate a hang in a larger program, the check analyzes only the operations that have
/// not run, up to a maximum of `exact_operations`. A report of another kind may then be a false alarm that the exact analysis
/// would rule out.
///
/// Source: NVSHMEM's documentation, "NVSHMEM and the CUDA model"; CUDA C++ Programming Guide, "Asynchronous concurrent
/// execution".
#pragma once

#include <membar/deadlock/analysis.hpp>
#include <membar/deadlock/hazard.hpp>
#include <membar/deadlock/program.hpp>
#include <membar/deadlock/text.hpp>
#include <membar/deadlock/watch.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock {

/// The largest number of operations that are analyzed exactly, counting the parts of collectives and kernels.
inline constexpr std::size_t exact_operations = 1024;

namespace detail {

/// Checks a program repeatedly while it grows.
class checker {
 public:
  /// A program with up to `exact` operations is analyzed exactly as a whole. In a larger program, up to `rest` of the
  /// operations that have not run are analyzed exactly.
  explicit checker(const program& program, std::size_t exact = exact_operations, std::size_t rest = exact_operations)
      : program_(program), exact_(exact), rest_(rest), watch_(made()) {}

  /// Returns all faults, assuming that the program ends here.
  [[nodiscard]] std::vector<report> reports() {
    settle();
    if (watch_->is_clean()) {
      return {};
    }
    if (watch_->size() <= exact_) {
      return analysis(program_, parts_).reports();
    }
    std::vector<report> all = watch_->ended() ? std::vector<report>() : reports_of_rest(false);
    add_suspicions(all, false);
    return all;
  }

  /// Returns the faults, assuming that the last operation is a host wait and that the host enqueues more operations after it.
  [[nodiscard]] std::vector<report> reports_of_last_wait() {
    settle();
    const bool ends = watch_->last_has_ended(program_.operations.size() - 1);
    const bool suspicious = watch_->suspicions_for_the_host() > acquitted_ || !watch_->large_grids().empty();
    if (ends && !suspicious) {
      return {};
    }
    std::vector<report> all;
    if (watch_->size() <= exact_) {
      all = analysis(program_, parts_).reports_of_last_wait();
    } else {
      all = ends ? std::vector<report>() : reports_of_rest(true);
      add_suspicions(all, true);
    }
    acquitted_ = all.empty() ? watch_->suspicions_for_the_host() : acquitted_;
    return all;
  }

  /// Starts over, because operations before the program's end have changed or the program now begins later.
  void restart() {
    acquitted_ = 0;
    watch_ = made();
  }
  /// Starts over after the last operation, which was a host wait, has been removed.
  void take_back() {
    parts_->take_back();
    restart();
  }
  /// Starts over with another program.
  void forget() {
    parts_ = std::make_shared<program_parts>();
    restart();
  }
  /// Returns how many times the check has started over.
  [[nodiscard]] std::size_t runs() const noexcept { return runs_; }
  /// Returns how many operations have been searched for captures and kernel steps.
  [[nodiscard]] std::size_t registered() const noexcept { return parts_->taken(); }

  /// Returns true if the operations so far have no faults and can affect later operations only through the values of signals.
  [[nodiscard]] bool is_behind() const {
    return watch_->size() >= least_to_leave && watch_->is_clean() && watch_->host_is_after_all();
  }
  /// Returns whether all operations have run.
  [[nodiscard]] bool ended() const { return watch_->ended(); }
  /// Makes the current values of the signals the initial values in `next`.
  void leave_signals(program& next) const { watch_->leave_signals(next); }

 private:
  static constexpr std::size_t least_to_leave = 512;
  static constexpr std::size_t most_reports = 64;  ///< the maximum number of reports per kind

  void settle() {
    while (!watch_->settle()) {
      restart();
    }
  }
  [[nodiscard]] std::unique_ptr<watch> made() {
    ++runs_;
    return std::make_unique<watch>(program_, parts_, without_order_);
  }

  void add_suspicions(std::vector<report>& all, bool of_a_host_wait) const {
    const program_text text(program_);
    if (!of_a_host_wait) {
      for (const watch::differing& each : watch_->differing_collectives()) {
        all.push_back(text.collectives_differ(each.first, each.second, each.number));
      }
      for (const std::size_t each : watch_->unrecorded_events()) {
        all.push_back(text.unrecorded_event(each));
      }
    }
    for (const std::size_t each : watch_->large_grids()) {
      all.push_back(text.grid_too_large(each));
    }
    std::map<hazard, std::size_t> told;
    std::size_t acquitted = of_a_host_wait ? acquitted_ : 0;
    for (const suspicion& each : watch_->suspicions()) {
      const bool skipped = of_a_host_wait && is_of_signals(each.kind);
      if (skipped || (acquitted != 0 && acquitted-- != 0) || ++told[each.kind] > most_reports) {
        continue;
      }
      const std::size_t first = watch_->operation_at(each.first);
      const std::size_t second = watch_->operation_at(each.second);
      const std::size_t third = watch_->operation_at(each.third);
      all.push_back(each.kind == hazard::lost_signal       ? text.lost_signal(first, second, third)
                    : each.kind == hazard::stale_wait      ? text.stale_wait(first, second, third)
                    : each.kind == hazard::early_host_copy ? text.early_host_copy(first, third)
                                                           : text.concurrent_collectives(first, third));
    }
  }

  /// Reports why the remaining operations never run.
  [[nodiscard]] std::vector<report> reports_of_rest(bool of_a_host_wait) const {
    bool whole = true;
    const program rest = program_of_rest(whole);
    std::vector<report> all = analysis(rest).reports();
    // If a notification or call is missing, the analysis of the whole program explains the hang better.
    std::erase_if(all, [](const report& each) {
      const bool of_signals = hangs(each.kind) || each.kind == hazard::lost_signal;
      return !of_signals || each.kind == hazard::never_notified || each.kind == hazard::missing_member;
    });
    add_missing(all);
    const program_text text(program_);
    if (all.empty() && !whole) {
      const std::vector<std::size_t> left = watch_->left();
      all.push_back({hazard::cycle,
                     "membar: cycle: " + text.whole(watch_->node_at(left.front()).operation) +
                         " never ends, and the cause was not found, because only " + std::to_string(rest_) + " of the " +
                         std::to_string(left.size()) +
                         " operations that never run could be examined: check a shorter part of the program",
                     {}});
    }
    if (of_a_host_wait && !all.empty() && all.front().cycle.empty()) {
      text.blame_host(all.front(), program_.operations.size() - 1);
    }
    return all;
  }

  /// Reports the waits and collectives for which the whole program lacks a notification or a call.
  void add_missing(std::vector<report>& all) const {
    const program_text text(program_);
    for (const std::size_t n : watch_->left()) {
      const node& each = watch_->node_at(n);
      if (each.kind == node::kind_t::departs) {
        std::string missing;
        for (const int member : watch_->missing_of(n)) {
          missing += (missing.empty() ? "PE " : ", PE ") + std::to_string(member);
        }
        if (!missing.empty()) {
          all.push_back(text.missing_member(each.operation, missing));
        }
      } else if (each.kind == node::kind_t::waits) {
        const auto most = watch_->most_of(n);
        if (most ? !watch_->condition_of(n).holds(*most) : !watch_->may_be_set(n)) {
          all.push_back(text.never_notified(each.operation, most ? &*most : nullptr));
        }
      }
      if (all.size() == most_reports) {
        return;
      }
    }
  }

  /// Returns the remaining operations as a program that starts in the state that the program has reached so far. The program is
  /// truncated if it is too long for the exact analysis. `whole` is set to false if the program was truncated, and to true
  /// otherwise.
  [[nodiscard]] program program_of_rest(bool& whole) const {
    program rest;
    rest.pes = program_.pes;
    rest.hosts = program_.hosts;
    rest.teams = program_.teams;
    rest.own_queues = program_.own_queues;
    rest.names = program_text(program_).numbered_streams();
    rest.signals = program_.signals;
    watch_->leave_signals(rest);
    std::vector<std::size_t> nodes = watch_->left();
    whole = nodes.size() <= rest_;
    if (!whole) {
      nodes = nearest(nodes);
    }
    // removes the second nodes of operations: the delivery of a notification, and the host's wait for a copy
    std::erase_if(nodes, [&](std::size_t n) {
      const operation_kind kind = program_.operations[watch_->node_at(n).operation].kind;
      return watch_->node_at(n).unit < 0 && (kind == operation_kind::notify || kind == operation_kind::host_copy);
    });
    for (const std::size_t index : watch_->open_arrivals()) {  // once a barrier is complete, its second half waits for nothing
      rest.operations.push_back(program_.operations[index]);
      rest.operations.back().graph = rest.operations.back().kernel = 0;
    }
    std::map<unsigned, unsigned> kernels;
    unsigned graphs = 0;
    for (auto begin = nodes.begin(); begin != nodes.end();) {
      const auto same_call = [&](std::size_t n) { return watch_->call_of(n) == watch_->call_of(*begin); };
      const auto end = std::find_if_not(begin, nodes.end(), same_call);
      const std::size_t by = watch_->enqueued_by(*begin);
      const bool launches = program_.operations[by].kind == operation_kind::launch_graph;
      graphs += launches ? 1 : 0;
      std::size_t last = static_cast<std::size_t>(-1);
      for (auto each = begin; each != end; ++each) {
        const std::size_t index = watch_->node_at(*each).operation;
        if (index != last && (index != by || !launches)) {
          add_to(rest, *each, launches ? graphs : 0, kernels);
        }
        last = index;
      }
      if (launches) {
        rest.operations.push_back(program_.operations[by]);
        rest.operations.back().object = static_cast<std::uint64_t>(graphs);
      }
      begin = end;
    }
    return rest;
  }

  void add_to(program& rest, std::size_t n, unsigned graph, std::map<unsigned, unsigned>& kernels) const {
    const node& each = watch_->node_at(n);
    stream_operation operation = program_.operations[each.operation];
    operation.graph = graph;
    operation.effect = watch_->effect_of(n);
    operation.condition = watch_->condition_of(n);
    if (each.kernel != 0) {
      const auto [kernel, is_new] = kernels.try_emplace(each.kernel, static_cast<unsigned>(kernels.size()) + 1);
      if (is_new) {
        std::size_t index = each.operation;
        while (program_.operations[index].kind != operation_kind::kernel) {
          --index;
        }
        rest.operations.push_back(program_.operations[index]);
        rest.operations.back().kernel = kernel->second;
        rest.operations.back().graph = graph;
      }
      operation.kernel = kernel->second;
      if (operation.kind == operation_kind::kernel) {
        return;
      }
    }
    if (operation.kind == operation_kind::wait_event && !watch_->waits_for_record(n)) {
      operation.kind = operation_kind::work;
    }
    rest.operations.push_back(operation);
  }

  /// Returns the first operations in each queue that have not run, and the first notifications that they wait for.
  [[nodiscard]] std::vector<std::size_t> nearest(const std::vector<std::size_t>& left) const {
    const std::size_t most = rest_ / (4 * watch_->queues()) + 1;
    std::map<std::pair<std::uint32_t, bool>, std::size_t> taken;
    std::set<std::size_t> awaited;
    std::map<std::size_t, std::size_t> notified;
    std::vector<std::size_t> result;
    for (const std::size_t n : left) {
      const node& each = watch_->node_at(n);
      if (++taken[{each.queue, each.unit < 0}] <= most && each.kind == node::kind_t::waits) {
        awaited.insert(each.link);
      }
    }
    taken.clear();
    for (const std::size_t n : left) {
      const node& each = watch_->node_at(n);
      const bool early = ++taken[{each.queue, each.unit < 0}] <= most;
      if (early || n == left.back() ||
          (each.kind == node::kind_t::notifies && awaited.contains(each.link) && ++notified[each.link] <= 4)) {
        result.push_back(n);
      }
    }
    return result;
  }

  const program& program_;
  std::size_t exact_;
  std::size_t rest_;
  std::set<of_pe> without_order_;
  std::shared_ptr<program_parts> parts_ = std::make_shared<program_parts>();
  std::size_t runs_ = 0;
  std::unique_ptr<watch> watch_;
  std::size_t acquitted_ = 0;  ///< the number of suspected faults that the exact analysis has ruled out at a host wait
};

}  // namespace detail

/// Returns the faults of `program`. If the result is empty, every schedule of the program ends. The time grows with the number
/// of operations.
[[nodiscard]] inline std::vector<report> check(const program& program) { return detail::checker(program).reports(); }

}  // namespace deadlock
}  // namespace v0_3
}  // namespace membar
