// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Which thread of a replayed execution goes on.
#pragma once

#include <check/exploration_state.hpp>
#include <check/graph.hpp>
#include <check/next_thread.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>

#include <cstddef>

namespace membar::check::detail {

/// Follows a schedule. A step that its thread cannot have here is passed over: what the rest shows is an execution all the same.
class replayed_order {
 public:
  static constexpr int over = -2;  ///< no thread: what is looked for has not come, and will not

  replayed_order(const exploration_state& state, next_thread& next) : state_(state), next_(next) {}

  /// The thread whose event is added next; -1 if there is none. After the schedule all threads continue, as some things show at the end only. `chosen` becomes what the schedule says of an unknown value.
  [[nodiscard]] int of(const graph& g, std::uint64_t& chosen) {
    if (const int t = next_.amid_rmw(g); t >= 0) {
      return t;
    }
    for (; at_ < state_.replayed->steps.size(); ++at_) {
      const replayed_schedule::step& s = state_.replayed->steps[at_];
      const int t = s.operation < 0 ? s.thread : performer_of(g, s.thread, s.operation);
      if (t >= 0 && next_.may_be(g, t)) {
        at_ += s.operation < 0 ? 1 : 0;  // an operation is performed to its end
        chosen = s.chosen;
        return t;
      }
    }
    chosen = 0;
    return state_.replayed->status == check_status::race ? over : next_.of(g);
  }

  /// The thread whose turn it is; -1 after the schedule.
  [[nodiscard]] int turn() const noexcept {
    return at_ < state_.replayed->steps.size() ? state_.replayed->steps[at_].thread : -1;
  }

 private:
  /// What performs the operation of a thread, which it has started after this many others; -1 if it has not.
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
