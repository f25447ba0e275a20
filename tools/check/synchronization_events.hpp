// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The next event of a thread that accesses no memory itself: fences, barriers, what starts asynchronous copies and waits for them.
#pragma once

#include <check/async_copies.hpp>
#include <check/event_builder.hpp>
#include <check/graph.hpp>
#include <check/mbarrier_state.hpp>
#include <check/meetings.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/array.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace membar::check::detail {

/// Who may go on, and what an event orders that is no access of memory.
class synchronization_events : protected event_builder {
 protected:
  using event_builder::event_builder;
  ~synchronization_events() = default;

  // ---- who may go on

  [[nodiscard]] bool is_ready(const graph& g, int t) {
    return state_of(g, t).status == thread_status::at_event && may_begin(g, t) && !is_held(g, t);
  }

  /// The thread that has read for an update and writes next; -1 if there is none.
  [[nodiscard]] int amid_update(const graph& g) {
    for (int t = 0; t < count(); ++t) {
      if (is_ready(g, t) && state_of(g, t).part == 1 && is_update(model::at(machines_, t).at(state_of(g, t)).code)) {
        return t;
      }
    }
    return -1;
  }

  /// Whether a thread that is ready waits at no barrier, or those whom it waits for have come.
  [[nodiscard]] bool is_met(const graph& g, int t) {
    const thread_state& s = state_of(g, t);
    std::vector<const graph_event*> left;
    const instruction& i = model::at(machines_, t).at(s);
    if (i.code >= op::proxy_fence) {
      return (i.code != op::async_wait || awaited(g, t, left)) && (i.code != op::grid_wait || are_over(g, t, false));
    }
    return i.code <= op::fence || (s.part == 0 && i.code != op::cluster_wait) || !meetings_.group(g, t, left).empty() ||
           (i.code == op::cluster_wait && meetings_.misuse_of_cluster_barrier(g, t, i) != nullptr);
  }

  /// Whether the thread, if it read the latest values, would go around a loop that only waits.
  [[nodiscard]] bool polls_in_vain(const graph& g, int t) {
    constexpr int longest_poll = 8;  // events of a loop's round that are looked ahead
    const stack_arena::mark mark = arena_.here();
    const machine& m = model::at(machines_, t);
    const thread_state* s = &state_of(g, t);
    bool result = false;
    for (int events = 0; events < longest_poll && !result; ++events) {
      const instruction& i = m.at(*s);
      const bool writes = is_update(i.code) && s->part == 1;
      if ((writes && !m.keeps_value(*s)) || (i.code != op::load && i.code != op::fence && !is_update(i.code))) {
        break;
      }
      wide_value seen{};
      if (i.code != op::fence && !writes) {
        const std::uint64_t address = m.address(*s);
        if (locations_.object_of(address, i.bytes) == nullptr) {
          break;
        }
        const int location = locations_.number_of(address, i.bytes);
        const graph_event* const latest = location < model::count_of(g.order) ? model::at(g.order, location).back() : nullptr;
        seen = latest != nullptr ? latest->value : locations_[location].initial;
      }
      s = m.step(*s, seen);
      result = s->status == thread_status::waiting;
      if (s->status != thread_status::at_event) {
        break;
      }
    }
    arena_.release(mark);
    return result;
  }

  // ---- what comes next

  [[nodiscard]] const graph_event& next_fence(const graph& g, int t) {
    const instruction& i = model::at(machines_, t).at(state_of(g, t));
    graph_event& e = make_event(g, t, event_kind::fence);
    e.strong = true;
    e.scope = i.scope;
    e.acquires = model::acquires(i.order);
    e.releases = model::releases(i.order);
    e.sequential = i.order == memory_order::seq_cst;
    e.restricted = i.restricted;
    if (e.restricted) {
      rules_.join(const_cast<std::uint16_t*>(e.begun), e.base);
    }
    if (e.acquires) {
      rules_.acquire(g, e);
    }
    return e;
  }

  /// An arrival at a barrier or another meeting, or going on from it with what it gives, `seen`. Null if that is reported. `chosen`: the
  /// meeting, if it is not known from the instruction.
  [[nodiscard]] const graph_event* next_meeting(const graph& g, int t, wide_value& seen, std::uint64_t chosen) {
    const thread_state& s = state_of(g, t);
    graph_event& e = make_event(g, t, event_kind::barrier);
    const instruction& i = model::at(machines_, t).at(s);
    const bool cluster = i.code == op::cluster_arrive || i.code == op::cluster_wait;
    std::string wrong;
    if (const char* const misuse = cluster ? meetings_.misuse_of_cluster_barrier(g, t, i) : nullptr; misuse != nullptr) {
      report_of(g, t, check_status::violated, "thread " + std::to_string(t) + " " + misuse);
      return nullptr;
    }
    e.scope = i.scope;
    e.arrives = s.part == 0 && i.code != op::cluster_wait;
    if (e.arrives || cluster) {
      e.meeting = chosen != 0 ? chosen : meetings_.at(t, s, wrong);
    }
    if (e.arrives) {
      e.releases = !cluster || model::releases(i.order);
      e.value = meetings_.brought(t, s);
      if (i.code == op::block_barrier || i.code == op::block_arrive) {
        wrong = wrong.empty() ? meetings_.ambiguity(g, e) : wrong;
      }
      if (cluster) {
        std::vector<const graph_event*> heads;
        rules_.release_by_arrival(g, e, heads);
        e.heads = kept(heads);
      }
    } else if (wrong.empty()) {
      std::vector<const graph_event*> left;
      const std::vector<const graph_event*> arrivals = meetings_.group(g, t, left);
      for (const graph_event* a : arrivals) {
        meet(e, *a, i.code, cluster);
      }
      for (const graph_event* a : left) {
        follow(e, *a);
      }
      seen = meetings_.result(t, s, arrivals, wrong);
    }
    if (!wrong.empty()) {
      report_of(g, t, check_status::gave_up, "thread " + std::to_string(t) + ": " + wrong);
      return nullptr;
    }
    return &e;
  }

  /// A proxy fence, the start of an asynchronous copy, the end of a group of them, a wait for groups or for the kernels before. Null if
  /// something is wrong with it, which is reported.
  [[nodiscard]] const graph_event* next_asynchronous(const graph& g, int t) {
    const thread_state& s = state_of(g, t);
    const instruction& i = model::at(machines_, t).at(s);
    graph_event& e = make_event(g, t,
                                i.code == op::proxy_fence    ? event_kind::proxy_fence
                                : i.code == op::async_copy   ? event_kind::issue
                                : i.code == op::async_commit ? event_kind::commit
                                : i.code == op::async_wait   ? event_kind::group_wait
                                                             : event_kind::grid_wait);
    if (i.code == op::async_copy) {
      return starts_copy(g, e, s) ? &e : nullptr;
    }
    if (i.code == op::proxy_fence && i.restricted) {
      e.scope = i.scope;
      e.releases = i.order == memory_order::release;
      rules_.cross_one_way(e, i.order == memory_order::release);
    } else if (i.code == op::proxy_fence) {
      rules_.cross(e, i.proxy_spaces);
    } else if (i.code == op::grid_wait) {
      follow_launches(g, e);
    } else if (i.code == op::async_wait) {
      std::vector<const graph_event*> last;
      static_cast<void>(awaited(g, t, last));
      for (const graph_event* end : last) {
        rules_.synchronize(*end, e);
        follow(e, *end);
      }
    }
    return &e;
  }

  /// What `e`, the write of an update of an mbarrier, does to it. False if that is undefined, which is reported.
  [[nodiscard]] bool updates_mbarrier(const graph& g, graph_event& e, const thread_state& s) {
    const mbarrier_outcome outcome = model::at(machines_, e.thread).updated_mbarrier_at(s);
    e.completes = outcome.completes;
    if (outcome.wrong != nullptr) {
      report(g, check_status::violated,
             "thread " + std::to_string(e.thread) + " " + outcome.wrong + ": " + place_text(program_, e.address));
    }
    return outcome.wrong == nullptr;
  }

  /// A copy of `heads` that lives as long as the event that is added next.
  [[nodiscard]] std::span<const graph_event* const> kept(const std::vector<const graph_event*>& heads) {
    auto* const to = static_cast<const graph_event**>(arena_.take(heads.size() * sizeof(heads[0]) + 1));
    std::copy(heads.begin(), heads.end(), to);
    return {to, heads.size()};
  }

  bool lacks_copies_ = false;  ///< the exploration ended because too little performs copies

 private:
  std::vector<copy_shape> shapes_ = shapes_of(program_);  ///< of the copies that the program starts

  /// Lets `e` go on after arrival `a` at the same barrier.
  void meet(graph_event& e, const graph_event& a, op code, bool cluster) {
    follow(e, a);
    look_for_mixed_barriers(e, a);
    if (cluster) {
      for (const graph_event* head : a.heads) {
        if (rules_.include_each_other(*head, e)) {
          rules_.synchronize(*head, e);
        }
      }
    } else if (meetings::orders(code)) {
      rules_.synchronize(a, e);
    }
  }

  [[nodiscard]] bool starts_copy(const graph& g, graph_event& e, const thread_state& s) {
    const copy_request asked = copy_started(shapes_, model::at(machines_, e.thread), s);
    if (!asked.wrong.empty()) {
      report(g, asked.unsupported ? check_status::gave_up : check_status::violated,
             "thread " + std::to_string(e.thread) + " " + asked.wrong);
      return false;
    }
    e.starts = free_copy(g, e.thread);
    if (e.starts < 0) {
      report(g, check_status::gave_up,
             "thread " + std::to_string(e.thread) + " starts more than " + std::to_string(program_.copies_of_each) +
                 " asynchronous copies");
      lacks_copies_ = true;
      return false;
    }
    e.started = model::at(machines_, e.starts).begin(nobody{}, asked.words);
    return true;
  }

  /// What performs the operation that thread `t` starts next; -1 if there are too few.
  [[nodiscard]] int free_copy(const graph& g, int t) const {
    int started = 0;
    for (const graph_event* e : model::at(g.threads, t).events) {
      started += e->starts >= 0 ? 1 : 0;
    }
    for (int c = 0; c < count(); ++c) {
      if (model::at(program_.threads, c).copies_of == t && started-- == 0) {
        return c;
      }
    }
    return -1;
  }

  /// The last events of the operations that thread `t`, which is at a wait for groups, waits for. False if one is not there yet.
  [[nodiscard]] bool awaited(const graph& g, int t, std::vector<const graph_event*>& last) const {
    last.clear();
    const machine& m = model::at(machines_, t);
    const thread_state& s = state_of(g, t);
    const instruction& wait = m.at(s);
    const int of = model::at(program_.threads, t).copies_of < 0 ? t : model::at(program_.threads, t).copies_of;
    std::vector<int> committed;
    std::vector<int> ends;  // of the groups, in `committed`
    std::vector<int> open;
    for (const graph_event* e : model::at(g.threads, of).events) {
      const instruction& i = instruction_of(program_, *e);
      if (e == model::at(g.threads, t).issue) {
        break;
      }
      if (e->starts >= 0 && i.completes == wait.completes) {
        open.push_back(e->starts);
      } else if (e->kind == event_kind::commit && i.completes == wait.completes) {
        committed.insert(committed.end(), open.begin(), open.end());
        ends.push_back(model::count_of(committed));
        open.clear();
      }
    }
    if (wait.mode == 1) {
      committed.insert(committed.end(), open.begin(), open.end());
    } else {
      const auto groups = static_cast<std::uint64_t>(ends.size());
      const std::uint64_t pending = std::min(truncated(m.operand(s, 0), 32), groups);
      committed.resize(pending == groups ? 0 : static_cast<std::size_t>(ends[static_cast<std::size_t>(groups - pending - 1)]));
    }
    for (const int c : committed) {
      const graph_event* const end = ended_part(model::at(g.threads, c), c, wait.reads_only);
      if (end == nullptr) {
        return false;
      }
      last.push_back(end);
    }
    return true;
  }

  /// The last event of an operation, or of the reading of its source; null if that is not there yet.
  [[nodiscard]] const graph_event* ended_part(const thread_line& line, int c, bool reads_only) const {
    if (line.states.back()->status == thread_status::ended && !reads_only) {
      return line.events.empty() ? nullptr : line.events.back();
    }
    const machine& m = model::at(machines_, c);
    int n = 0;
    while (n < model::count_of(line.events) && m.at(*model::at(line.states, n)).code == op::load) {
      ++n;
    }
    const bool reads_on = n == model::count_of(line.events) && m.at(*line.states.back()).code == op::load;
    return !reads_only || n == 0 || reads_on ? nullptr : model::at(line.events, n - 1);
  }

  /// Whether `e`, which goes on from a barrier, and arrival `a` at it are at different barriers in the source.
  void look_for_mixed_barriers(const graph_event& e, const graph_event& a) {
    if (result_.mixed.at != nullptr || e.pc == a.pc) {
      return;
    }
    const instruction& mine = instruction_of(program_, e);
    const instruction& other = instruction_of(program_, a);
    if (mine.code == op::block_barrier && mine.aligned && other.aligned && !same_place(mine, other)) {
      const auto& x = model::at(program_.threads, e.thread).where;
      const auto& y = model::at(program_.threads, a.thread).where;
      if (x.warp != y.warp && names_threads(mine) && names_threads(other)) {
        return;  // a barrier of warps that come by different ways, as PTX allows
      }
      result_.mixed = {e.thread, a.thread, &mine, &other, x.warp == y.warp};
    }
  }

  /// Whether one barrier in the source became both: the compiler unrolls loops.
  [[nodiscard]] static bool same_place(const instruction& x, const instruction& y) noexcept {
    return x.source_line != 0 && x.file == y.file && x.source_line == y.source_line && x.caller_file == y.caller_file &&
           x.caller_line == y.caller_line;
  }
};

}  // namespace membar::check::detail
