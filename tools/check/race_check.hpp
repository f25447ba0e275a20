// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Detects the data races in an execution, and checks whether its `fence.sc` operations can be ordered consistently.
#pragma once

#include <check/exploration_state.hpp>
#include <check/fence_order.hpp>
#include <check/graph.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace membar::check::detail {

/// Looks for races between the event that is being added and earlier events.
class race_check {
 public:
  /// If `merges_updates` is true, some reads belong to read-modify-writes that cannot change the value. Such reads count as
  /// writes.
  race_check(exploration_state& state, bool merges_updates) : state_(state), merges_updates_(merges_updates) {}

  /// Returns the accesses that conflict with `e`, are not morally strong with it, and are not ordered before it by the clocks.
  [[nodiscard]] suspects races_of(const graph& g, const graph_event& e) const {
    suspects result;
    const bool writes = e.kind == event_kind::write || e.same_value;
    const auto look = [&](const std::vector<const graph_event*>& others) {
      for (const graph_event* o : others) {
        if (o == nullptr || o->thread == e.thread || (!writes && o->kind == event_kind::read && !o->same_value)) {
          continue;
        }
        if (state_.changes_what_is_read_only(*o, e)) {
          state_.report(g, check_status::undefined, read_only_text(state_.checked, *o, e), {o, &e});
        }
        const std::uint16_t* const clock = state_.rules.clock_for(*o, e);
        if (precedes(*o, clock) || at_one_mbarrier(*o, e) || is_of_same_value(*o, e)) {
          continue;
        }
        if (state_.rules.morally_strong(*o, e)) {
          note_accepted(g, *o, e, clock);
          continue;
        }
        if (state_.rules.causes(g, *o, clock)) {
          continue;
        }
        if (const graph_event* const d = o->discarded ? o : e.discarded ? &e : nullptr; d != nullptr) {
          state_.result.discarded = d->thread;
          state_.result.discarded_at = &instruction_of(state_.checked, *d);
        } else {
          if (!state_.passes_over_race(*o, e)) {
            result.emplace_back(o, &e);
          }
        }
      }
    };
    const auto look_at = [&](int location) {
      if (location < model::count_of(g.order)) {
        look(model::at(g.order, location));
        if (writes || merges_updates_) {
          look(model::at(g.reads, location));
        }
      }
    };
    look_at(e.location);
    for (const int other : state_.locations[e.location].overlapping) {
      look_at(other);
    }
    return result;
  }

  /// Returns whether the graph is consistent and free of races. `added` are the events that were added last, and `found` are
  /// the suspected races that they caused. Reports a race if there is one.
  [[nodiscard]] bool consistent(graph& g, const suspects& found, const std::array<const graph_event*, 2>& added) {
    if (g.fences.size() < 2) {
      if (!found.empty()) {
        state_.report_race(g, *found.front().first, *found.front().second);
      }
      return found.empty();
    }
    for (const graph_event* e : added) {
      if (e != nullptr && g.fences_in_order && !keeps_fence_order(g, state_.rules, *e)) {
        if (breaks_every_fence_order(g, state_.rules, *e)) {
          return false;
        }
        g.fences_in_order = false;
      }
    }
    if (g.fences_in_order && std::all_of(found.begin(), found.end(), [&](const auto& pair) {
          return are_ordered_by_fences(g, state_.rules, *pair.first, *pair.second);
        })) {
      return true;
    }
    if (state_.copies && !found.empty()) {
      state_.report(
          g, check_status::gave_up,
          "accesses that can race are not supported in programs that combine asynchronous copies with fence.sc in "
          "several threads: use fence.acq_rel instead of fence.sc. The fence may be in a library, for example in "
          "cuda::pipeline's destructor: then use fewer threads, or add a __syncthreads() before the end of the pipeline",
          {found.front().first, found.front().second});
      return false;
    }
    fence_order order(g, state_.rules);
    const bool result = order.search(found);
    if (order.race() != nullptr) {
      state_.report_race(g, *order.race()->first, *order.race()->second);
      return false;
    }
    return result;
  }

 private:
  /// Records two accesses that are morally strong only because the scenario accepts their race.
  void note_accepted(const graph& g, const graph_event& x, const graph_event& y, const std::uint16_t* clock) const {
    if (!state_.checked.assumed.accepts(y.address) || state_.rules.morally_strong(as_executed(x), as_executed(y)) ||
        state_.rules.causes(g, x, clock)) {
      return;
    }
    const instruction& i = instruction_of(state_.checked, x);
    const instruction& j = instruction_of(state_.checked, y);
    const bool in_order = i.line <= j.line;
    const accepted_race found{y.address,
                              y.bytes,
                              {in_order ? x.thread : y.thread, in_order ? y.thread : x.thread},
                              {in_order ? &i : &j, in_order ? &j : &i}};
    std::vector<accepted_race>& all = state_.result.accepted;
    if (std::find(all.begin(), all.end(), found) == all.end()) {
      all.push_back(found);
    }
  }

  /// Returns an access with the strength of its instruction, without the assumption that its race is accepted.
  [[nodiscard]] graph_event as_executed(const graph_event& e) const {
    const instruction& i = instruction_of(state_.checked, e);
    graph_event result = e;
    result.strong = i.strong || i.code == op::atomic || i.code == op::reduction;
    result.scope = scope_of(i, state_.rules.readings());
    return result;
  }

  /// Returns whether two accesses to the same bytes have the same value and the program assumes that this is not a race.
  [[nodiscard]] bool is_of_same_value(const graph_event& x, const graph_event& y) const noexcept {
    return state_.checked.assumed.same_value_writes && x.address == y.address && x.bytes == y.bytes && !x.value.unknown &&
           x.value == y.value;
  }

  /// Returns whether two operations on an mbarrier do not race: neither of them initializes or invalidates it, or the
  /// initialization is ordered first.
  [[nodiscard]] static bool at_one_mbarrier(const graph_event& x, const graph_event& y) noexcept {
    return x.mbarrier != mbarrier_op::none && y.mbarrier != mbarrier_op::none &&
           ((x.strong && y.strong) || (x.mbarrier == mbarrier_op::init && (precedes(x, y.begun) || precedes(x, y.base))));
  }

  exploration_state& state_;
  bool merges_updates_;
};

}  // namespace membar::check::detail
