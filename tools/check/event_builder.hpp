// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Builds a thread's next event: its clocks, which represent the events that precede it, the memory that it accesses, and the
/// value that it reads.
#pragma once

#include <check/commuting_updates.hpp>
#include <check/exploration_state.hpp>
#include <check/graph.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <check/trace.hpp>
#include <membar/model/array.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace membar::check::detail {

/// Fills in the properties of a memory access that the thread's current instruction determines.
inline void describe_access(graph_event& e, const machine& m, const thread_state& s, const model::other_readings& readings) {
  const instruction& i = m.at(s);
  e.address = e.physical = m.address(s);
  e.bytes = i.bytes;
  e.strong = i.strong;
  e.scope = scope_of(i, readings);
  e.mbarrier = i.mbarrier;
  e.via = i.via;
  e.arrives = arrives(i.mbarrier);
  e.rmw = is_rmw(i.code);
  e.reduction = i.code == op::reduction;
  e.acquires = e.kind == event_kind::read && model::acquires(i.order);
  e.releases = e.kind == event_kind::write && model::releases(i.order);
  e.non_coherent = i.non_coherent;
  e.discarded = e.kind == event_kind::read && m.is_discarded(s);
  e.same_value = e.rmw && m.is_neutral(s);
  e.update = e.rmw ? m.class_of_update(s) : std::uint8_t{0};
}

/// If the scenario accepts the races of a memory access, gives the access system scope and at least relaxed order.
inline void accept_race(const program& checked, graph_event& e) noexcept {
  if (e.mbarrier == mbarrier_op::none && checked.assumed.accepts(e.address)) {
    e.strong = true;
    e.scope = thread_scope::system;
  }
}

/// Creates the events that are added to an execution.
class event_builder {
 public:
  explicit event_builder(exploration_state& state) : state_(state) {}

  /// Returns whether all launches that precede the launch of thread `t` have ended. If `launched` is true, it is sufficient
  /// that, in each block of a launch, some thread has allowed the dependent launches to begin.
  [[nodiscard]] bool are_over(const graph& g, int t, bool launched) const {
    bool result = true;
    for_each_before(t, [&](int u) {
      bool over = state_of(g, u).status == thread_status::ended;
      for (int v = 0; v < state_.count() && launched && !over; ++v) {
        over = model::at(state_.checked.threads, v).block_number == model::at(state_.checked.threads, u).block_number &&
               launch_of_dependents(g, v) != nullptr;
      }
      result = result && over;
    });
    return result;
  }

  [[nodiscard]] bool may_begin(const graph& g, int t) const {
    return !model::at(g.threads, t).events.empty() || are_over(g, t, is_dependent(t));
  }

  /// Orders `e` after the preceding launches, which have ended.
  void follow_launches(const graph& g, graph_event& e) {
    for_each_before(e.thread, [&](int u) {
      const auto& theirs = model::at(g.threads, u).events;
      if (!theirs.empty()) {
        state_.rules.come_after(state_.checked.assumed.kernel_boundary_acquires ? boundary_of(g, u) : *theirs.back(), e);
        state_.rules.follow(e, *theirs.back());
      }
    });
    state_.rules.cross(e, ~0U);  // a kernel boundary acts as a fence for every proxy
  }

  /// Creates an event of thread `t`, including its clocks. The event is not yet part of any graph.
  [[nodiscard]] graph_event& make_event(const graph& g, int t, event_kind kind) {
    const std::size_t width = state_.checked.threads.size();
    const std::size_t begun = state_.begins_mbarriers ? 1 : 0;
    const std::size_t copies = state_.copies ? proxy_spaces + one_ways + 1 : 0;
    const std::size_t all = (begun + copies + (state_.equal.empty() ? 2 : 3)) * width;
    auto* const clocks = static_cast<std::uint16_t*>(state_.arena.take(all * sizeof(std::uint16_t)));
    auto* const e = new (state_.arena.take(sizeof(graph_event))) graph_event;
    const thread_run& run = model::at(g.threads, t);
    e->kind = kind;
    e->serial = ++state_.made_events;
    e->thread = t;
    e->number = model::count_of(run.events);
    e->pc = run.states.back()->pc;
    e->stamp = g.next_stamp;
    e->base = clocks;
    e->prefix = clocks + width;
    e->past = state_.equal.empty() ? e->prefix : clocks + all - width;
    e->begun = state_.begins_mbarriers ? clocks + 2 * width : e->base;
    e->crossed = state_.copies ? clocks + (2 + begun) * width : nullptr;
    e->released = state_.copies ? e->crossed + proxy_spaces * width : nullptr;
    e->given = run.idle != nullptr ? e->released + one_ways * width : nullptr;
    std::fill(clocks, clocks + all, std::uint16_t{0});
    if (e->number > 0) {  // copies all clocks, which are stored consecutively
      std::copy(run.events.back()->base, run.events.back()->base + all, clocks);
    } else if (run.issue != nullptr) {
      state_.rules.come_after(*run.issue, *e);
      state_.rules.follow(*e, *run.issue);
    } else if (!is_dependent(t)) {
      follow_launches(g, *e);
    } else {
      follow_begun_launches(g, *e);
    }
    for (std::size_t k = 0; k < all / width; ++k) {
      const bool crossed = state_.copies && k >= 2 + begun && k < 2 + begun + proxy_spaces + one_ways;
      if (!crossed || run.idle != nullptr) {  // the thread's own events do not yet precede any proxy fence
        clocks[k * width + static_cast<std::size_t>(t)] = static_cast<std::uint16_t>(e->number + 1);
      }
    }
    return *e;
  }

  /// Returns the first read-modify-write of a thread, or null if it has none.
  [[nodiscard]] static const graph_event* first_rmw(const graph& g, int t) {
    for (const graph_event* e : model::at(g.threads, t).events) {
      if (e->rmw) {
        return e;
      }
    }
    return nullptr;
  }

  /// Returns whether thread `t` must wait at its first read-modify-write because an earlier equal thread has not yet executed
  /// its own. Equal threads execute their first read-modify-writes in the order of their numbers. No execution is lost: in any
  /// execution, the threads can be renumbered accordingly for every order of the events that agrees with program order and
  /// reads-from.
  [[nodiscard]] bool is_held(const graph& g, int t) const {
    const thread_state& s = state_of(g, t);
    return !state_.equal.empty() && model::at(state_.equal, t) >= 0 && s.status == thread_status::at_event && s.part == 0 &&
           !s.choosing && is_rmw(model::at(state_.machines, t).at(s).code) && first_rmw(g, t) == nullptr &&
           first_rmw(g, model::at(state_.equal, t)) == nullptr;
  }

  /// Fills in the properties of a memory access. Returns false if the event does not access memory.
  [[nodiscard]] bool place_access(const graph& g, graph_event& e, const thread_state& s) {
    const machine& m = model::at(state_.machines, e.thread);
    const instruction& i = m.at(s);
    describe_access(e, m, s, state_.rules.readings());
    accept_race(state_.checked, e);
    const memory_object* const object = state_.locations.object_of(e.address, e.bytes);
    const std::uint64_t alignment = alignment_of(i, s.part);
    if (object == nullptr || e.address % alignment != 0 ||
        (object->constant && (e.kind == event_kind::write || e.same_value))) {
      const std::string what = object == nullptr            ? " is outside of every object"
                               : e.address % alignment != 0 ? " is not aligned"
                                                            : " writes to constant memory";
      state_.report_of(g, e.thread, check_status::out_of_bounds,
                       "an access by thread " + std::to_string(e.thread) + what + ": " + std::to_string(alignment) +
                           " bytes at " + place_text(state_.checked, e.address) +
                           (object == nullptr && machine::is_shared(e.address)
                                ? "; to give a launch dynamic shared memory, add 'shared BYTES' to its line"
                                : ""));
      return false;
    }
    if (const std::string misuse = misuse_of_space(e, i); !misuse.empty()) {
      state_.report_of(g, e.thread, check_status::undefined, misuse);
      return false;
    }
    if (i.allocates && !may_allocate(g, e.thread, s)) {
      return false;
    }
    if (acquires_or_releases_a_vector(i)) {
      state_.report_of(g, e.thread, check_status::gave_up,
                       "'" + i.text +
                           "' is a vector access that acquires or releases, which is not supported: use a 16-byte scalar "
                           "(.b128), or a relaxed access and a fence");
      return false;
    }
    if (!state_.equal.empty() && e.rmw && e.kind == event_kind::read && model::at(state_.equal, e.thread) >= 0 &&
        first_rmw(g, e.thread) == nullptr) {
      state_.rules.join(const_cast<std::uint16_t*>(e.past), first_rmw(g, model::at(state_.equal, e.thread))->past);
    }
    e.location = state_.locations.number_of(e.address, e.bytes);
    return true;
  }

  /// Returns the position, in the location's order, of the oldest write that `e` may read from.
  [[nodiscard]] int oldest_source(const graph& g, const graph_event& e, int location) const noexcept {
    int oldest = state_.rules.oldest_source(g, location, e.base);
    const auto& order = model::at(g.order, location);
    for (int i = oldest + 1; e.begun != e.base && i < model::count_of(order); ++i) {
      const graph_event& w = *model::at(order, i);
      oldest = w.mbarrier == mbarrier_op::init && precedes(w, e.begun) ? i : oldest;
    }
    return oldest;
  }

  /// Sets the source of a read. Returns false if the memory was never written.
  [[nodiscard]] bool read_from(const graph& g, graph_event& e, const graph_event* source) {
    e.source = source;
    if (source != nullptr) {
      e.value = source->value;
      if (e.update == 0) {
        state_.rules.follow(e, *source);
        commuting_updates::for_each_of_phase(*source, [&](const graph_event& a) { state_.rules.follow(e, a); });
      }
    } else {
      e.value = state_.locations[e.location].initial;
      if (!state_.locations[e.location].initialised && !e.discarded) {
        state_.report_unwritten(g, e, e.address);
        if (state_.stopped()) {
          return false;
        }
      }
    }
    if (e.mbarrier == mbarrier_op::test) {
      e.passes = model::at(state_.machines, e.thread).passes(state_of(g, e.thread), e.value);
    }
    if (e.acquires) {
      state_.rules.acquire(g, e);
    }
    return true;
  }

  /// Returns a copy of `heads` that lives as long as the event that is added next.
  [[nodiscard]] std::span<const graph_event* const> kept(const std::vector<const graph_event*>& heads) {
    auto* const to = static_cast<const graph_event**>(state_.arena.take(heads.size() * sizeof(heads[0]) + 1));
    std::copy(heads.begin(), heads.end(), to);
    return {to, heads.size()};
  }

 private:
  /// Returns a new event for the end of thread `u`, which has ended: a fence that acquires everything that the thread's reads
  /// have observed.
  [[nodiscard]] const graph_event& boundary_of(const graph& g, int u) {
    graph_event& end = make_event(g, u, event_kind::fence);
    end.strong = true;
    end.acquires = true;
    end.scope = thread_scope::system;
    state_.rules.acquire(g, end);
    const_cast<std::uint16_t*>(end.base)[u] = static_cast<std::uint16_t>(end.number);  // the end is not an event of the graph
    return end;
  }

  /// Returns whether thread `t` can allocate the columns of tensor memory that it requests next. Source: PTX ISA,
  /// "tcgen05.alloc": the instruction blocks until the columns are free.
  [[nodiscard]] bool may_allocate(const graph& g, int t, const thread_state& s) {
    const machine& m = model::at(state_.machines, t);
    const std::uint64_t asked = truncated(m.operand(s, 1), 32);
    if (asked < 32 || asked > tensor_columns || (asked & (asked - 1)) != 0) {
      state_.report_of(g, t, check_status::undefined,
                       "thread " + std::to_string(t) + " allocates " + std::to_string(asked) +
                           " columns of tensor memory; the number must be a power of 2 from 32 to 512");
    } else if (static_cast<std::uint64_t>(s.columns) + asked > tensor_columns) {
      state_.report_of(g, t, check_status::hang,
                       "thread " + std::to_string(t) + " waits for " + std::to_string(asked) +
                           " columns of tensor memory, but its block already holds " + std::to_string(s.columns) +
                           " of the 512");
    }
    for (int u = 0; u < state_.count() && !state_.stopped(); ++u) {
      const bool other = u != t && model::at(state_.checked.threads, u).copies_of < 0 &&
                         model::at(state_.checked.threads, u).block_number == model::at(state_.checked.threads, t).block_number;
      if (other && state_of(g, u).columns != 0) {
        state_.report_of(g, t, check_status::gave_up,
                         "two warps of a block allocate tensor memory, which is not supported: let only one warp allocate it");
      }
    }
    return !state_.stopped();
  }

  /// Returns the reason why access `e` by instruction `i` is undefined, or an empty string if it is defined. Source: PTX ISA,
  /// "Shared State Space": the `.shared::cta` window is the memory of the block itself, and the `.shared::cluster` window is
  /// the memory of its cluster.
  [[nodiscard]] std::string misuse_of_space(const graph_event& e, const instruction& i) const {
    const thread_context& c = model::at(state_.checked.threads, e.thread);
    if (e.address < shared_window || e.address >= local_window || state_.checked.fragment) {
      return {};
    }
    const bool other = c.block_of(e.address) != c.block_number;
    if (!c.is_in_cluster(e.address)) {
      return "thread " + std::to_string(e.thread) +
             " accesses the shared memory of a block outside its cluster: " + place_text(state_.checked, e.address);
    }
    return i.own_block && other && c.copies_of < 0
               ? "'" + i.text + "' of thread " + std::to_string(e.thread) +
                     " can access only its own block's shared memory, not " + place_text(state_.checked, e.address)
               : std::string();
  }

  /// Returns the launches that precede the launch of thread `t`.
  [[nodiscard]] const std::vector<int>& launches_before(int t) const {
    static const std::vector<int> none;
    const int mine = model::at(state_.checked.threads, t).launch;
    return mine < model::count_of(state_.checked.launches_before) ? model::at(state_.checked.launches_before, mine) : none;
  }

  [[nodiscard]] bool is_dependent(int t) const {
    const int mine = model::at(state_.checked.threads, t).launch;
    return mine < model::count_of(state_.checked.dependent) && state_.checked.dependent[static_cast<std::size_t>(mine)];
  }

  /// Calls `use` with each thread of the launches that precede the launch of thread `t`.
  template <class Use>
  void for_each_before(int t, const Use& use) const {
    const std::vector<int>& before = launches_before(t);
    for (int u = 0; u < state_.count() && !before.empty(); ++u) {
      if (std::find(before.begin(), before.end(), model::at(state_.checked.threads, u).launch) != before.end()) {
        use(u);
      }
    }
  }

  /// Returns the event at which thread `t` allows its launch's dependent launches to begin, or null if the thread has not
  /// reached it. Source: PTX ISA, "griddepcontrol".
  [[nodiscard]] const graph_event* launch_of_dependents(const graph& g, int t) const {
    for (const graph_event* e : model::at(g.threads, t).events) {
      if (instruction_of(state_.checked, *e).code == op::grid_launch) {
        return e;
      }
    }
    return nullptr;
  }

  /// Orders `e`, the first event of a dependent launch, after the events that allowed the launch to begin. This order is not
  /// causality, so it orders no memory accesses.
  void follow_begun_launches(const graph& g, graph_event& e) const {
    for_each_before(e.thread, [&](int u) {
      const auto& theirs = model::at(g.threads, u).events;
      const graph_event* const launch = launch_of_dependents(g, u);
      if (launch != nullptr || (!theirs.empty() && state_of(g, u).status == thread_status::ended)) {
        state_.rules.follow(e, launch != nullptr ? *launch : *theirs.back());
      }
    });
  }

  exploration_state& state_;
};

}  // namespace membar::check::detail
