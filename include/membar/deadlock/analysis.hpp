// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The exact analysis of a program with up to about a thousand operations. The analysis finds every order between operations,
/// and the shortest cycle. Its running time is cubic in the number of operations.
#pragma once

#include <membar/deadlock/cycle.hpp>
#include <membar/deadlock/hazard.hpp>
#include <membar/deadlock/program.hpp>
#include <membar/deadlock/text.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace deadlock::detail {

/// Writes the reports about a program.
class analysis : public cycle_finder {
 public:
  explicit analysis(const program& program) : analysis(program, std::make_shared<program_parts>()) {}
  analysis(const program& program, std::shared_ptr<program_parts> parts)
      : cycle_finder(program, std::move(parts)), text_(program) {}

  /// Returns all faults. If there are cycles, only the shortest one is reported, as the first fault, because one cycle blocks
  /// many other operations.
  [[nodiscard]] std::vector<report> reports() const {
    std::vector<report> all;
    report_stuck(all);
    report_misuse(all);
    report_concurrent_collectives(all);
    report_grids(all);
    report_early_copies(all);
    report_lost_signals(all);
    report_stale_waits(all);
    return all;
  }

  /// Returns the faults so far, assuming that the last operation is a host wait and that the host thread enqueues more
  /// operations after it. The result contains the reasons why that wait would never return, and the faults that no later
  /// operation can fix.
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
      text_.blame_host(all.front(), last);
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

  /// Reports a node that prevents its own completion under every assignment of hardware queues.
  void report_alone(std::size_t n, std::vector<report>& all) const {
    const stream_operation& operation = operation_of(n);
    if (nodes_[n].kind == kind_t::departs && incomplete_[n]) {
      std::string missing;
      for (const int member : members(operation.object)) {
        const bool comes = std::any_of(arrivals_[n].begin(), arrivals_[n].end(),
                                       [&](std::size_t arrival) { return nodes_[arrival].pe == member; });
        missing += comes ? "" : (missing.empty() ? "PE " : ", PE ") + std::to_string(member);
      }
      all.push_back(text_.missing_member(nodes_[n].operation, missing));
    }
    if (nodes_[n].kind != kind_t::waits || may_run(n, [&](std::size_t other) { return free_[other] != 0; })) {
      return;
    }
    std::uint64_t sum = at_start(operation.pe, operation.object);
    const std::size_t* lost = nullptr;
    for (const std::size_t& each : notifications_of(n)) {
      sum += effect_of(each).value;
      if (!is_added_to(n) && brings(each, n)) {
        if (!free_[each]) {
          return;  // the node depends on another node that never runs
        }
        lost = &each;
      }
    }
    if (lost != nullptr) {
      all.push_back({hazard::lost_signal,
                     "membar: lost signal: " + text(nodes_[n].operation) + " may miss the value of " +
                         text(nodes_[*lost].operation) +
                         ", because another value may replace it first: write the other value after the wait, or count "
                         "notifications with add and wait with at_least",
                     {}});
    } else if (!is_added_to(n) || !condition_of(n).holds(sum)) {
      all.push_back(text_.never_notified(nodes_[n].operation, is_added_to(n) ? &sum : nullptr));
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
        return program_text::host_remedy;
      default:
        return "swap two of these operations";
    }
  }

  void report_misuse(std::vector<report>& all) const {
    for (const difference& each : different_) {
      all.push_back(text_.collectives_differ(each.first, each.second, each.number));
    }
    for (const std::size_t each : unrecorded_) {
      all.push_back(text_.unrecorded_event(each));
    }
  }

  void report_concurrent_collectives(std::vector<report>& all) const {
    for (const auto& [of, calls] : calls_by_) {
      for (std::size_t i = 1; i < calls.size(); ++i) {
        const std::size_t first = calls_[calls[i - 1]].end();
        const std::size_t second = calls_[calls[i]].arrival;
        if (!order_.before(first, second)) {
          all.push_back(text_.concurrent_collectives(nodes_[first].operation, nodes_[second].operation));
          break;
        }
      }
    }
  }

  void report_grids(std::vector<report>& all) const {
    std::set<std::size_t> seen;
    for (const node& each : nodes_) {
      if (too_large(each.operation) && seen.insert(each.operation).second) {
        all.push_back(text_.grid_too_large(each.operation));
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
        if (uses_heap_of(operation, copied.pe) && !order_.before(copy, n)) {
          all.push_back(text_.early_host_copy(nodes_[copy].operation, nodes_[n].operation));
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
          all.push_back(text_.lost_signal(nodes_[n].operation, *candidate == none ? none : nodes_[*candidate].operation,
                                          nodes_[other].operation));
          break;
        }
      }
    }
  }

  void report_stale_waits(std::vector<report>& all) const {
    for (std::size_t n = 0; n != nodes_.size(); ++n) {
      if (nodes_[n].kind == kind_t::waits && free_[n]) {
        report_stale_wait(n, all);
      }
    }
  }

  /// Returns true if no operation that sets a different value is ordered between `earlier` (or the start) and the wait.
  [[nodiscard]] bool keeps_its_value(std::size_t earlier, std::size_t wait) const {
    const std::vector<std::size_t>& sets = notifications_of(wait);
    return std::none_of(sets.begin(), sets.end(), [&](std::size_t set) {
      return !operation_of(set).effect.adds && !brings(set, wait) && order_.before(set, wait) &&
             (earlier == none || order_.before(earlier, set));
    });
  }

  void report_stale_wait(std::size_t n, std::vector<report>& all) const {
    const stream_operation& operation = operation_of(n);
    std::size_t earlier = n;
    const auto started = program_.waited.find({operation.pe, operation.object});
    if (started != program_.waited.end() && started->second.implies(condition_of(n)) && keeps_its_value(none, n)) {
      earlier = none;
    }
    for (std::size_t other = 0; other != nodes_.size() && earlier == n; ++other) {
      const bool same = nodes_[other].kind == kind_t::waits && nodes_[other].link == nodes_[n].link;
      if (same && order_.before(other, n) && condition_of(other).implies(condition_of(n)) && keeps_its_value(other, n)) {
        earlier = other;
      }
    }
    if (earlier == n) {
      return;
    }
    for (const std::size_t each : notifications_of(n)) {
      const bool counts = operation_of(each).effect.adds || brings(each, n);
      if (counts && !order_.before(each, n) && !order_.before(n, each)) {
        all.push_back(
            text_.stale_wait(nodes_[n].operation, earlier == none ? none : nodes_[earlier].operation, nodes_[each].operation));
        return;
      }
    }
  }

  program_text text_;
};

}  // namespace deadlock::detail
}  // namespace v0_3
}  // namespace membar
