// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines which thread of a replayed execution continues.
#pragma once

#include <check/exploration_state.hpp>
#include <check/graph.hpp>
#include <check/next_thread.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>

#include <cstddef>

namespace membar::check::detail {

/// Follows a schedule. If a thread cannot execute its step at this point, the step is skipped; the result is still an
/// execution.
class replayed_order {
 public:
  static constexpr int over = -2;  ///< no thread: the finding to reproduce has not occurred and can no longer occur

  replayed_order(const exploration_state& state, next_thread& next) : state_(state), next_(next) {}

  /// Returns the thread whose event is added next, or -1 if there is none. After the end of the schedule, all threads continue,
  /// because some findings appear only at the end of an execution. `chosen` receives the choice that the schedule makes for an
  /// unknown value.
  [[nodiscard]] int of(const graph& g, std::uint64_t& chosen) {
    if (const int t = next_.amid_rmw(g); t >= 0) {
      return t;
    }
    for (; at_ < state_.replayed->steps.size(); ++at_) {
      const replayed_schedule::step& s = state_.replayed->steps[at_];
      const int t = s.operation < 0 ? s.thread : performer_of(g, s.thread, s.operation);
      if (t >= 0 && next_.may_be(g, t)) {
        at_ += s.operation < 0 ? 1 : 0;  // the step of an operation is repeated until the operation is complete
        chosen = s.chosen;
        return t;
      }
    }
    chosen = 0;
    return state_.replayed->status == check_status::race ? over : next_.of(g);
  }

  /// Returns the thread whose turn it is, or -1 after the end of the schedule.
  [[nodiscard]] int turn() const noexcept {
    return at_ < state_.replayed->steps.size() ? state_.replayed->steps[at_].thread : -1;
  }

 private:
  /// Returns the thread that performs operation `number` of thread `t`, or -1 if thread `t` has not started it.
  [[nodiscard]] static int performer_of(const graph& g, int t, int number) {
    for (const graph_event* e : model::at(g.threads, t).events) {
      if (e->starts >= 0 && number-- == 0) {
        return e->starts;
      }
    }
    return -1;
  }

  const exploration_state& state_;
  next_thread& next_;
  std::size_t at_ = 0;
};

}  // namespace membar::check::detail
