// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The state that the parts of one exploration share: the program with its machines and its memory, and the result.
#pragma once

#include <check/graph.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <check/stack_arena.hpp>
#include <check/sync_points.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace membar::check::detail {

using model::event_kind;

/// Pairs of conflicting accesses that are not known to be ordered.
using suspects = std::vector<std::pair<const graph_event*, const graph_event*>>;

[[nodiscard]] constexpr bool is_rmw(op code) noexcept { return code == op::atomic || code == op::reduction; }

/// Returns the current state of a thread in an execution.
[[nodiscard]] inline const thread_state& state_of(const graph& g, int t) noexcept {
  return *model::at(g.threads, t).states.back();
}

/// The state of one exploration of a program.
struct exploration_state {
  explicit exploration_state(const program& of, const model::other_readings& readings = {})
      : checked(of),
        locations(of.memory),
        rules(of.threads, readings),
        machines(made(of, arena)),
        points(of.threads, machines) {}
  exploration_state(const exploration_state&) = delete;
  exploration_state& operator=(const exploration_state&) = delete;

  [[nodiscard]] int count() const noexcept { return model::count_of(checked.threads); }
  [[nodiscard]] bool stopped() const noexcept { return result.found.status != check_status::verified; }

  void report(const graph& g, check_status status, std::string message, std::vector<const graph_event*> blamed = {}) {
    if (!stopped() && !passes_over(status)) {
      if (status != check_status::gave_up && has_choice(g)) {
        message += "; this holds only if the unknown values make the threads take the branches shown";
      }
      result.found = finding_of(checked, g, status, std::move(message), blamed);
    }
  }

  /// Ends the exploration because it exceeds a limit. The finding shows no events, because no execution is at fault.
  void give_up(std::string why) {
    graph empty;
    empty.threads.resize(checked.threads.size());
    report(empty, check_status::gave_up, std::move(why));
  }

  /// Reports an error in a thread at its current position.
  void report_of(const graph& g, int thread, check_status status, std::string message) {
    const int of_copies = model::at(checked.threads, thread).copies_of;
    const int line = replayed == nullptr || of_copies >= 0 ? 0 : model::at(machines, thread).at(state_of(g, thread)).line;
    if (replayed != nullptr && status != check_status::gave_up && !replayed->is_at(of_copies >= 0 ? of_copies : thread, line)) {
      return;
    }
    if (!stopped() && !passes_over(status)) {
      report(g, status, std::move(message));
      result.found.thread = thread;
    }
  }

  /// Reports a read of memory that was never written. If the program has executed several `fence.sc` instructions, their order
  /// may rule out the read; in this case, sets `e.unwritten` instead, and `take_read` checks the order once the read is in the
  /// graph.
  void report_unwritten(const graph& g, graph_event& e, std::uint64_t address) {
    e.unwritten = g.fences.size() >= 2 && replayed == nullptr;
    if (!e.unwritten) {
      report_unwritten_at(g, e.thread, address);
    }
  }
  void report_unwritten_at(const graph& g, int thread, std::uint64_t address) {
    report_of(
        g, thread, check_status::uninitialised,
        "thread " + std::to_string(thread) + " may read " + place_text(checked, address) + " before anything is written to it");
  }

  /// Returns whether a replay ignores findings with this status because it looks for a different finding.
  [[nodiscard]] bool passes_over(check_status status) const noexcept {
    return replayed != nullptr && status != check_status::gave_up && status != replayed->status;
  }
  /// Returns whether a replay ignores a race between these two events.
  [[nodiscard]] bool passes_over_race(const graph_event& x, const graph_event& y) const {
    const auto is_wanted = [&](const graph_event& e) {
      const int of_copies = model::at(checked.threads, e.thread).copies_of;
      return of_copies >= 0 ? replayed->is_at(of_copies, 0) : replayed->is_at(e.thread, instruction_of(checked, e).line);
    };
    return passes_over(check_status::race) || (replayed != nullptr && (!is_wanted(x) || !is_wanted(y)));
  }

  void report_race(const graph& g, const graph_event& x, const graph_event& y) {
    report(g, check_status::race, race_text(checked, g, x, y), {&x, &y});
  }

  /// Returns whether one of two events at a location is a non-coherent read, and the other is a write that occurs while the
  /// read's kernel runs. Source: PTX ISA, "ld.global.nc".
  [[nodiscard]] bool changes_what_is_read_only(const graph_event& x, const graph_event& y) const {
    const auto writes = [](const graph_event& e) { return e.kind == event_kind::write || e.same_value; };
    const bool conflict = (x.non_coherent && writes(y)) || (y.non_coherent && writes(x));
    const int a = model::at(checked.threads, x.thread).launch;
    const int b = model::at(checked.threads, y.thread).launch;
    return conflict && !checked.ends_before(a, b) && !checked.ends_before(b, a);
  }

  /// Returns whether thread `t` can continue, or may legitimately wait at its position. In a replay that has not stopped yet,
  /// always returns true, so that the replay continues even if `t` is stuck.
  [[nodiscard]] bool healthy(const graph& g, int t) { return is_healthy(g, t) || (replayed != nullptr && !stopped()); }

  const program& checked;
  stack_arena arena{};
  location_table locations;
  event_rules rules;
  std::vector<machine> machines;
  sync_points points;
  bool copies = checked.copies;                          ///< whether some threads perform asynchronous copies
  bool begins_mbarriers = begins_mbarriers_in(checked);  ///< whether some fence applies only to initializations of mbarriers
  std::vector<int> equal{};  ///< per thread: the preceding equal thread, or -1; empty if symmetry is not used
  std::uint64_t made_events = 0;
  check_result result{};
  const replayed_schedule* replayed = nullptr;  ///< the schedule to replay; null if this is not a replay

 private:
  [[nodiscard]] bool is_healthy(const graph& g, int t) {
    const thread_state& s = state_of(g, t);
    switch (s.status) {
      case thread_status::at_event:
      case thread_status::waiting:
      case thread_status::repeats:
      case thread_status::ended:
      case thread_status::undecided:
        return true;
      case thread_status::trapped: {
        const std::string& text = model::at(machines, t).at(s).text;
        const bool expects = model::at(checked.threads, t).where.host && !checked.fragment;
        report_of(g, t, check_status::violated,
                  expects ? thread_text(checked, t) + ": '" + text + "' does not hold"
                          : "thread " + std::to_string(t) + (text == assertion_text ? ": an assertion fails" : " traps"));
        return false;
      }
      case thread_status::unsupported:
        report_of(g, t, check_status::gave_up,
                  "thread " + std::to_string(t) + " reaches '" + model::at(machines, t).at(s).text +
                      "', which membar-check can read but not execute" + reason_of(model::at(machines, t).at(s)) +
                      ": choose arguments with which no thread reaches it, or check the protocol in a kernel without it");
        return false;
      case thread_status::unknown_operand: {
        const instruction& i = model::at(machines, t).at(s);
        report_of(g, t, check_status::gave_up,
                  "an unknown value determines what '" + i.text + "' of thread " + std::to_string(t) +
                      " does: " + origin_of_unknown_values(checked));
        return false;
      }
      case thread_status::held:
        report_of(g, t, check_status::undefined,
                  "thread " + std::to_string(t) + " uses, in '" + model::at(machines, t).at(s).text +
                      "', a register that an asynchronous matrix operation still uses: wait for the operation first, with "
                      "wgmma.wait_group or tcgen05.wait");
        return false;
      case thread_status::unfenced:
        report_of(g, t, check_status::undefined,
                  "thread " + std::to_string(t) + " executes '" + model::at(machines, t).at(s).text +
                      "' on a register that it has used before, without a wgmma.fence in between");
        return false;
      case thread_status::endless:
        report_of(g, t, check_status::hang,
                  "thread " + std::to_string(t) + " is in a loop that accesses no memory and never ends");
        return false;
      case thread_status::waits_for_time:
        report_of(g, t, check_status::gave_up,
                  "thread " + std::to_string(t) +
                      " waits for time to pass, but clocks stand still in this check: leave out the wait, for example with a "
                      "macro that the scenario's source line defines");
        return false;
      case thread_status::too_long:
        report_of(g, t, check_status::gave_up,
                  "thread " + std::to_string(t) + " executes more than " + std::to_string(machine::most_steps) +
                      " steps between two events: reduce the number of iterations of its loops");
        return false;
      case thread_status::uninitialised:
        report_of(g, t, check_status::uninitialised, "thread " + std::to_string(t) + " reads local memory that it never wrote");
        return false;
      case thread_status::out_of_bounds:
        report_of(g, t, check_status::out_of_bounds, "thread " + std::to_string(t) + " accesses local memory out of bounds");
        return false;
      case thread_status::others_memory:
        report_of(g, t, check_status::undefined,
                  "thread " + std::to_string(t) + " accesses the local memory of another thread");
        return false;
    }
    return false;
  }

  [[nodiscard]] static std::string reason_of(const instruction& i) { return i.reason.empty() ? "" : ": " + i.reason; }

  /// Returns whether an unknown value has decided the path of a thread.
  [[nodiscard]] static bool has_choice(const graph& g) {
    return std::any_of(g.threads.begin(), g.threads.end(), [](const thread_run& run) {
      return std::any_of(run.events.begin(), run.events.end(), [](const graph_event* e) { return e->chosen; });
    });
  }

  [[nodiscard]] static std::vector<machine> made(const program& p, stack_arena& arena) {
    std::vector<machine> result;
    for (const thread_context& c : p.threads) {
      result.emplace_back(c, arena);
    }
    return result;
  }

  [[nodiscard]] static bool begins_mbarriers_in(const program& p) {
    return std::any_of(p.kernels.begin(), p.kernels.end(), [](const auto& k) {
      return std::any_of(k->code.begin(), k->code.end(),
                         [](const instruction& i) { return i.restricted && i.code == op::fence; });
    });
  }
};

}  // namespace membar::check::detail
