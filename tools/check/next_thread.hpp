// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Chooses the thread that continues next in an execution.
#pragma once

#include <check/event_builder.hpp>
#include <check/exploration_state.hpp>
#include <check/graph.hpp>
#include <check/machine.hpp>
#include <check/synchronization_events.hpp>
#include <check/waiting_together.hpp>
#include <membar/model/array.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace membar::check::detail {

/// Chooses the thread whose event is added next.
class next_thread {
 public:
  next_thread(exploration_state& state, const event_builder& build, const synchronization_events& synchronization,
              waiting_together& together)
      : state_(state), build_(build), synchronization_(synchronization), together_(together) {}

  /// Returns the thread whose event is added next. The result depends only on the graph. Reads are chosen late, because more
  /// writes are then available to them immediately, and loop iterations that would only wait are chosen last.
  [[nodiscard]] int of(const graph& g) {
    asked_.clear();
    if (const int t = amid_rmw(g); t >= 0) {
      return t;
    }
    // the candidates, in order of preference: the first thread at a read-modify-write, the first thread at a load, the first
    // thread that is back at the head of a loop in which other threads continue, and the first threads at a read-modify-write
    // and at a load that spin without progress
    constexpr std::size_t comes_back = 2;
    std::array<int, 5> first{-1, -1, -1, -1, -1};
    for (int t = 0; t < state_.count(); ++t) {
      if (!is_ready(g, t)) {
        continue;
      }
      if (waiting_together::has_come_back(g, t)) {
        if (first[comes_back] < 0 && is_met(g, t) && together_.of(g, t).empty()) {
          first[comes_back] = t;
        }
        continue;
      }
      const op code = model::at(state_.machines, t).at(state_of(g, t)).code;
      if ((code == op::load || is_rmw(code)) && !state_of(g, t).choosing) {
        const std::size_t kind = is_rmw(code) ? 0 : 1;
        if (first[kind] < 0) {
          int& place = spins_without_progress(g, t) ? first[comes_back + 1 + kind] : first[kind];
          place = place < 0 ? t : place;
        }
        continue;
      }
      if (is_met(g, t)) {
        return t;
      }
    }
    for (const int t : first) {
      if (t >= 0) {
        return t;
      }
    }
    return -1;
  }

  /// Returns whether thread `t` can continue. A thread that waits in a loop cannot.
  [[nodiscard]] bool may_be(const graph& g, int t) {
    asked_.clear();
    return is_ready(g, t) && is_met(g, t);
  }

  /// From now on, does not choose thread `t`.
  void leave_out(int t) { left_out_.insert(t); }

  /// Like `of`, but chooses a thread that performs asynchronous operations only if no other thread can continue.
  [[nodiscard]] int before_copies(const graph& g) {
    if (const int t = amid_rmw(g); t >= 0) {
      return t;
    }
    for (int t = 0; t < state_.count(); ++t) {
      if (model::at(state_.checked.threads, t).copies_of < 0 && may_be(g, t) && !waiting_together::has_come_back(g, t)) {
        return t;
      }
    }
    return of(g);
  }

  /// Returns the thread that is between the read and the write of a read-modify-write, or -1 if there is none.
  [[nodiscard]] int amid_rmw(const graph& g) {
    for (int t = 0; t < state_.count(); ++t) {
      if (is_ready(g, t) && model::at(state_.machines, t).is_amid_rmw(state_of(g, t))) {
        return t;
      }
    }
    return -1;
  }

  /// Returns one of the threads that may continue, or -1 if there is none. `chosen(n)` selects one of n threads.
  template <class Chosen>
  [[nodiscard]] int any_of(const graph& g, const Chosen& chosen) {
    asked_.clear();
    if (const int t = amid_rmw(g); t >= 0) {
      return t;
    }
    std::vector<int> ready;
    std::vector<int> back;
    for (int t = 0; t < state_.count(); ++t) {
      if (is_ready(g, t) && is_met(g, t)) {
        (waiting_together::has_come_back(g, t) ? back : ready).push_back(t);
      }
    }
    for (std::size_t k = 0; ready.empty() && k < back.size(); ++k) {
      if (together_.of(g, back[k]).empty()) {
        ready.push_back(back[k]);
      }
    }
    return ready.empty() ? -1 : model::at(ready, chosen(model::count_of(ready)));
  }

 private:
  [[nodiscard]] bool is_ready(const graph& g, int t) {
    return state_of(g, t).status == thread_status::at_event && build_.may_begin(g, t) && !build_.is_held(g, t) &&
           left_out_.count(t) == 0;
  }

  /// Returns whether a ready thread can continue immediately: it is not at a barrier or wait, or everything that it waits for
  /// has happened.
  [[nodiscard]] bool is_met(const graph& g, int t) {
    const thread_state& s = state_of(g, t);
    std::vector<const graph_event*> left;
    const instruction& i = model::at(state_.machines, t).at(s);
    if (s.choosing) {
      return true;
    }
    if (i.code >= op::proxy_fence) {
      return (i.code != op::async_wait || synchronization_.awaited(g, t, left)) &&
             (i.code != op::grid_wait || build_.are_over(g, t, false));
    }
    return i.code <= op::fence || (s.part == 0 && i.code != op::cluster_wait) || has_met(g, t) ||
           (i.code == op::cluster_wait && state_.points.misuse_of_cluster_barrier(g, t, i) != nullptr);
  }

  /// Returns whether all threads that thread `t` waits for have arrived. The result is computed only once for all threads that
  /// wait for the same arrivals.
  [[nodiscard]] bool has_met(const graph& g, int t) {
    const sync_points::waiting mine = state_.points.waited_for(g, t);
    const auto known = std::find_if(asked_.begin(), asked_.end(), [&](const auto& a) { return a.first == mine; });
    if (known != asked_.end()) {
      return known->second;
    }
    std::vector<const graph_event*> left;
    return asked_.emplace_back(mine, !state_.points.group(g, t, left).empty()).second;
  }

  /// Returns whether the thread would complete a loop iteration that only waits if it read the latest values.
  [[nodiscard]] bool spins_without_progress(const graph& g, int t) {
    constexpr int longest_poll = 8;  // the maximum number of events that are tried in an iteration
    const stack_arena::mark mark = state_.arena.here();
    const machine& m = model::at(state_.machines, t);
    const thread_state* s = &state_of(g, t);
    bool result = false;
    for (int events = 0; events < longest_poll && !result; ++events) {
      const instruction& i = m.at(*s);
      const bool writes = m.is_amid_rmw(*s);
      if (s->choosing) {
        break;
      }
      if ((writes && !m.keeps_value(*s)) || (i.code != op::load && i.code != op::fence && !is_rmw(i.code))) {
        break;
      }
      wide_value seen{};
      if (i.code != op::fence && !writes) {
        const std::uint64_t address = m.address(*s);
        if (state_.locations.object_of(address, i.bytes) == nullptr) {
          break;
        }
        const int location = state_.locations.number_of(address, i.bytes);
        const graph_event* const latest = location < model::count_of(g.order) ? model::at(g.order, location).back() : nullptr;
        seen = latest != nullptr ? latest->value : state_.locations[location].initial;
      }
      s = m.step(*s, seen);
      result = s->status == thread_status::waiting;
      if (s->status != thread_status::at_event) {
        break;
      }
    }
    state_.arena.release(mark);
    return result;
  }

  exploration_state& state_;
  const event_builder& build_;
  const synchronization_events& synchronization_;
  waiting_together& together_;
  std::vector<std::pair<sync_points::waiting, bool>> asked_{};
  std::set<int> left_out_{};
};

}  // namespace membar::check::detail
