// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Threads that wait together: a block that polls with a voting barrier, a warp that polls with votes or shuffles, or a block
/// or warp that passes on the polled flag in shared memory.
///
/// A thread *has returned* if it is at the head of a loop in the same state as before, and has since then only read,
/// synchronized with other threads and written to shared memory. Threads wait together if all threads that synchronized in
/// these iterations have returned, the iterations have the same sync points, and the shared memory that they wrote again
/// contains its earlier values. In addition, no other thread of the block may be able to read this memory. The exploration also
/// reaches the execution without these iterations, which has the same values and orders fewer events.
///
/// An iteration with a vote or a reducing barrier fails as soon as one thread contributes the deciding value, provided that all
/// participants then return, regardless of the values that they read.
#pragma once

#include <check/exploration_state.hpp>
#include <check/graph.hpp>
#include <check/machine.hpp>
#include <membar/model/array.hpp>
#include <ptx/instruction.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace membar::check::detail {

/// Finds the threads that wait together.
class waiting_together {
 public:
  explicit waiting_together(exploration_state& state) : state_(state) {}

  /// Returns whether thread `t` has returned to the head of its loop.
  [[nodiscard]] static bool has_come_back(const graph& g, int t) {
    const thread_state& s = state_of(g, t);
    return s.comes_back && s.status == thread_status::at_event && s.part == 0;
  }

  /// Returns whether an event belongs to the last iteration of a thread that has returned.
  [[nodiscard]] static bool is_of_round(const graph& g, const graph_event& e) {
    return has_come_back(g, e.thread) && e.number >= state_of(g, e.thread).waits_from;
  }

  /// Returns the threads with which thread `t` waits together, including `t`. The result is empty if `t` does not wait.
  [[nodiscard]] const std::vector<int>& of(const graph& g, int t) {
    members_.clear();
    written_.clear();
    if (has_come_back(g, t)) {
      members_.push_back(t);
    }
    for (std::size_t k = 0; k < members_.size(); ++k) {
      if (!take_round(g, model::at(members_, static_cast<int>(k)))) {
        members_.clear();
      }
    }
    const bool restored =
        std::all_of(written_.begin(), written_.end(), [&](const graph_event* w) { return is_restored(g, *w); });
    if (!restored) {
      members_.clear();
    }
    return members_;
  }

  /// Returns whether thread `t` contributes a value that decides a vote or a barrier after which all participants return to the
  /// head of the loop, whatever they have read before.
  [[nodiscard]] bool is_decided_to_come_back(const graph& g, int t) const {
    const stack_arena::mark mark = state_.arena.here();
    const thread_state* const s = arriving(state_of(g, t), t);
    bool result = false;
    if (s != nullptr && s->part == 0) {
      const instruction& i = model::at(state_.machines, t).at(*s);
      const wide_value brought = state_.points.brought(t, *s);
      const bool of_all = i.code == op::vote ? i.mode == 1 : i.mode == 2;
      const bool of_any = i.code == op::vote ? i.mode == 2 : i.mode == 3;
      if (!brought.unknown && ((of_all && brought.low == 0) || (of_any && brought.low != 0))) {
        result = all_come_back(g, t, *s, of_any ? 1 : 0);
      }
    }
    state_.arena.release(mark);
    return result;
  }

 private:
  static constexpr int longest_round = 16;  // the maximum number of events that are tried

  /// Executes thread `t` from state `from`, with unknown values for its reads, and returns its state at a vote or a reducing
  /// barrier, or after its arrival there. Returns null if the thread does anything else first.
  [[nodiscard]] const thread_state* arriving(const thread_state& from, int t) const {
    const machine& m = model::at(state_.machines, t);
    const thread_state* s = m.has_unknown_values(from) ? nullptr : &from;
    for (int events = 0; s != nullptr && events < longest_round; ++events) {
      if (s->status != thread_status::at_event || s->choosing) {
        return nullptr;
      }
      const instruction& i = m.at(*s);
      if ((i.code == op::vote || i.code == op::block_barrier) && i.destinations > 0) {
        return s;
      }
      s = read_anything(m, *s);
    }
    return nullptr;
  }

  /// Returns the state after a load of an unknown value, or after a fence. Returns null if the next event is neither.
  [[nodiscard]] static const thread_state* read_anything(const machine& m, const thread_state& s) {
    const op code = m.at(s).code;
    const bool reads = code == op::load && m.at(s).mbarrier == mbarrier_op::none;
    return reads || code == op::fence ? m.step(s, {0, 0, reads}) : nullptr;
  }

  /// Returns whether all participants of the sync point at which thread `t` is in state `s` return to their loop head if the
  /// result of the sync point is `result`.
  [[nodiscard]] bool all_come_back(const graph& g, int t, const thread_state& s, std::uint64_t result) const {
    std::string wrong;
    const std::uint64_t point = state_.points.at(t, s, wrong);
    const int turn = sync_points::arrivals(g, t, point);
    if (!wrong.empty() || sync_points::warps_of(point) != 0) {
      return false;
    }
    for (int u = 0; u < state_.count(); ++u) {
      if (!state_.points.takes_part(u, t, point) || state_of(g, u).status == thread_status::ended) {
        continue;
      }
      const thread_state& now = state_of(g, u);
      const thread_state* at = arriving(now, u);
      const bool has_arrived = at != nullptr && at->part != 0;
      if (at == nullptr || sync_points::arrivals(g, u, point) != turn + (has_arrived ? 1 : 0) ||
          (has_arrived ? model::at(g.threads, u).events.back()->sync_point : state_.points.at(u, *at, wrong)) != point) {
        return false;
      }
      if (!comes_back(u, *at, result, now.events)) {
        return false;
      }
    }
    return wrong.empty();
  }

  /// Returns whether thread `u`, which is at a sync point in state `s`, returns to an earlier position if the result of the
  /// sync point is `result`: the position after the thread's first `events` events.
  [[nodiscard]] bool comes_back(int u, const thread_state& s, std::uint64_t result, std::int32_t events) const {
    const machine& m = model::at(state_.machines, u);
    const thread_state* after = s.part == 0 ? m.step(s, {}) : &s;
    after = m.step(*after, {result, 0});
    for (int n = 0; n < longest_round && after != nullptr && after->status == thread_status::at_event; ++n) {
      if (after->comes_back) {
        return after->waits_from <= events;
      }
      after = after->choosing ? nullptr : read_anything(m, *after);
    }
    return false;
  }

  [[nodiscard]] bool is_member(int t) const { return std::find(members_.begin(), members_.end(), t) != members_.end(); }

  /// Adds the threads that member `t` synchronized with in its iteration. Returns false if one of these threads has not
  /// returned, or arrived before its own iteration began.
  [[nodiscard]] bool take_round(const graph& g, int t) {
    const auto& events = model::at(g.threads, t).events;
    int open = 0;  // the number of arrivals at the cluster's barrier without a wait
    for (int n = state_of(g, t).waits_from; n < model::count_of(events); ++n) {
      const graph_event& e = *model::at(events, n);
      if (e.kind == event_kind::write) {
        written_.push_back(&e);
      }
      if (e.kind != event_kind::barrier) {
        continue;
      }
      open += e.arrives ? 1 : -1;
      if (!e.arrives) {
        continue;
      }
      const std::vector<const graph_event*> all = state_.points.together(g, t, e.sync_point, e.turn, left_);
      if (all.empty()) {
        return false;
      }
      for (const graph_event* a : all) {
        if (!is_of_round(g, *a)) {
          return false;
        }
        if (!is_member(a->thread)) {
          members_.push_back(a->thread);
        }
      }
    }
    return open == 0;
  }

  /// Returns whether the location that `w` wrote during the iterations again contains its earlier value, and no thread outside
  /// the group can read it.
  [[nodiscard]] bool is_restored(const graph& g, const graph_event& w) const {
    const thread_context& writer = model::at(state_.checked.threads, w.thread);
    if (writer.cluster_blocks > 1 || state_.copies || !machine::is_shared(w.address)) {
      return false;
    }
    for (int t = 0; t < state_.count(); ++t) {
      const bool beside = model::at(state_.checked.threads, t).block_number == writer.block_number;
      if (beside && state_of(g, t).status != thread_status::ended && !is_member(t)) {
        return false;
      }
    }
    for (const int other : state_.locations[w.location].overlapping) {
      if (other < model::count_of(g.order) && model::at(g.order, other).size() > 1) {
        return false;
      }
    }
    const auto& order = model::at(g.order, w.location);
    int first = 1;
    while (!is_of_round(g, *model::at(order, first))) {
      ++first;
    }
    for (int n = first; n < model::count_of(order); ++n) {
      if (!is_of_round(g, *model::at(order, n))) {
        return false;
      }
    }
    const graph_event* const before = model::at(order, first - 1);
    const location_info& here = state_.locations[w.location];
    return before != nullptr ? before->value == order.back()->value : here.initialised && here.initial == order.back()->value;
  }

  exploration_state& state_;
  std::vector<int> members_{};
  std::vector<const graph_event*> written_{};
  std::vector<const graph_event*> left_{};
};

}  // namespace membar::check::detail
