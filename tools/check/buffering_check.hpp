// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Checks whether a program may have executions with load buffering, that is, with a cycle of program order and reads-from. The
/// check runs while the executions without such a cycle are explored. If it rules out load buffering, nothing more needs to be
/// explored.
///
/// An execution with load buffering can be built event by event along dependencies and reads-from, because these relations
/// together have no cycle. For each such execution, an execution without a cycle can be built in the same way, except that a
/// read whose source does not exist yet reads an older write. The two executions develop in the same way until some read would
/// have to read a write that follows from that read by program order, reads-from or barriers, but not by dependencies. The
/// exploration also reaches that write, and then checks the read. If causality leads from the read to the write, no execution
/// allows the read to return that write's value. The same holds if the path from the read to the write consists only of program
/// order and reads-from between accesses to the same location as the read and the write. Each step of such a path moves forward
/// in the location's coherence order, whatever values the reads along the path return. Two cases need additional checks:
/// * A read-modify-write cannot read an older write that another read-modify-write has already read. Therefore a
///   read-modify-write is checked when it reads, as if it preceded all the events that it follows from.
/// * If the read acquires, reading an older write may order accesses that the execution with load buffering does not order.
///   Therefore an acquiring read counts as possible load buffering if it orders one of two conflicting accesses before the other,
///   and does not hold back the later one: that access does not depend on the read, and does not follow a sync point or the end
///   of a launch that some thread reaches only after a branch that depends on the read.
/// A weak read whose value is never used does not count, because omitting the read leaves a possible execution.
#pragma once

#include <check/dependencies.hpp>
#include <check/exploration_state.hpp>
#include <check/graph.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

namespace membar::check::detail {

/// Looks for load buffering in the executions that the exploration reaches.
class buffering_check {
 public:
  explicit buffering_check(exploration_state& state) : state_(state) {}

  /// Returns whether load buffering could not be ruled out.
  [[nodiscard]] bool found() const noexcept { return buffering_; }
  /// Stops looking. Load buffering then counts as possible.
  void stop() noexcept { buffering_ = true; }

  /// Looks for a read that could read from write `e`, the next event, although `e` follows from the read: neither a dependency
  /// nor causality leads from the read to the write. For a read-modify-write, which might have to come first, `e` is its read,
  /// and the source of that read has not been chosen yet.
  void look_for_early_read(const graph& g, const graph_event& e) {
    if (buffering_) {
      return;
    }
    const auto look = [&](int location) {
      for (const graph_event* r : model::at(g.reads, location)) {
        if (!buffering_ && !r->discarded && r->thread != e.thread && precedes(*r, e.prefix) && !precedes(*r, e.base) &&
            !precedes(*r, state_.rules.clock_for(*r, e))) {
          dependencies on(g, state_.checked, state_.points, known_);
          buffering_ =
              !follows_at_location(g, *r, e) && !on.reaches(*r, e.thread, e.number) && !is_before_operation(g, on, *r, e);
        }
      }
    };
    look(e.location);
    for (const int other : state_.locations[e.location].overlapping) {
      if (other < model::count_of(g.reads)) {
        look(other);
      }
    }
  }

  /// Looks for an acquiring read that does not hold back access `e`, the next event, although an access that conflicts with `e`
  /// may be ordered before `e` only because of this read. In an execution in which the read takes its value from a write that
  /// does not exist yet, the two accesses may not be ordered.
  void look_for_late_acquire(const graph& g, const graph_event& e) {
    if (buffering_ || e.discarded || !has_conflict(g, e, [](const graph_event&) { return true; })) {
      return;
    }
    std::optional<dependencies> before;
    for (int t = 0; t < state_.count() && !buffering_; ++t) {
      const auto& events = model::at(g.threads, t).events;
      bool fence = false;
      const bool copies = model::at(state_.checked.threads, t).copies_of >= 0;  // reads by copies do not acquire
      for (int n = std::min<int>(e.base[t], model::count_of(events)) - 1; !copies && n >= 0 && !buffering_; --n) {
        const graph_event& h = *model::at(events, n);
        fence = fence || (h.kind == event_kind::fence && h.acquires);
        if (h.kind != event_kind::read || !h.strong || h.reduction || !(h.acquires || fence) ||
            !any_acquired(g, h, [](const graph_event&) { return true; })) {
          continue;
        }
        if (!before) {
          before.emplace(g, state_.checked, state_.points, known_);
          before->find_what_holds_back(e.thread, e.number);
        }
        buffering_ = !before->has_found(h) && any_acquired(g, h, [&](const graph_event& head) {
          return has_conflict(g, e, [&](const graph_event& c) { return state_.rules.causes(g, c, head.base); });
        });
      }
    }
  }

 private:
  /// Returns whether `counts` is true for the start of a release pattern with which an acquire through read `h` synchronizes, and
  /// which does not precede `h` otherwise. If `h` itself acquires, it also acquires through the earlier reads of its location.
  template <class Counts>
  [[nodiscard]] bool any_acquired(const graph& g, const graph_event& h, const Counts& counts) const {
    const auto& events = model::at(g.threads, h.thread).events;
    const std::uint16_t* const past = h.number > 0 ? model::at(events, h.number - 1)->base : nullptr;
    const auto any_of = [&](const graph_event& r) {
      const graph_event* const s = r.mbarrier != mbarrier_op::none ? event_rules::phase_seen(r) : r.source;
      return s != nullptr && std::ranges::any_of(s->heads, [&](const graph_event* head) {
               return head->thread != h.thread && !is_of_earlier_launch(*head, h) &&
                      (past == nullptr || !precedes(*head, past)) && counts(*head);
             });
    };
    return any_of(h) || (h.acquires && std::ranges::any_of(model::at(g.reads, h.location), [&](const graph_event* r) {
                           return r->thread == h.thread && r->number < h.number && any_of(*r);
                         }));
  }

  /// Returns whether an access by another thread conflicts with `e` and `counts`.
  template <class Counts>
  [[nodiscard]] bool has_conflict(const graph& g, const graph_event& e, const Counts& counts) const {
    const auto is_one = [&](const graph_event* c) {
      return c != nullptr && c->thread != e.thread && !c->discarded && !is_of_earlier_launch(*c, e) && counts(*c);
    };
    const auto is_at = [&](int location) {
      return location < model::count_of(g.reads) &&
             (std::ranges::any_of(model::at(g.order, location), is_one) ||
              ((e.kind == event_kind::write || e.rmw) && std::ranges::any_of(model::at(g.reads, location), is_one)));
    };
    return is_at(e.location) || std::ranges::any_of(state_.locations[e.location].overlapping, is_at);
  }

  /// Returns whether the launch of `x` has ended before the launch of `y` begins.
  [[nodiscard]] bool is_of_earlier_launch(const graph_event& x, const graph_event& y) const {
    const std::vector<thread_context>& threads = state_.checked.threads;
    return state_.checked.ends_before(model::at(threads, x.thread).launch, model::at(threads, y.thread).launch);
  }

  /// Returns whether there is an operation, started by several threads together, such that a dependency leads from read `r` to
  /// its start and causality leads from its start to `e`. The operation begins when all of these threads have started it, and
  /// it ends for all of them at the same time.
  [[nodiscard]] bool is_before_operation(const graph& g, dependencies& on, const graph_event& r, const graph_event& e) const {
    for (int c = 0; c < state_.count(); ++c) {
      const auto& events = model::at(g.threads, c).events;
      if (model::at(state_.checked.threads, c).starters > 1 && !events.empty() && precedes(*events.front(), e.base) &&
          on.reaches(r, c, 0)) {
        return true;
      }
    }
    return false;
  }

  /// Returns whether `e`, the next event, follows from read `r` only through accesses to one location: by program order, by the
  /// order between a thread's accesses and a generic-proxy copy that the thread starts later, and by morally strong reads-from.
  /// In that case, Coherence and SC-per-Location do not allow `r` to read from `e`.
  [[nodiscard]] bool follows_at_location(const graph& g, const graph_event& r, const graph_event& e) {
    if (r.location != e.location || !e.strong || !r.strong) {
      return false;
    }
    reached_.assign(state_.checked.threads.size(),
                    0);  // per thread: the number of events up to the last event from which `e` follows
    const auto reach = [&](const graph_event& x, int number) {
      model::at(reached_, x.thread) = std::max(model::at(reached_, x.thread), number);
      const graph_event* const issue = model::at(g.threads, x.thread).issue;
      if (issue != nullptr && x.via == model::proxy::generic) {
        model::at(reached_, issue->thread) = std::max(model::at(reached_, issue->thread), issue->number);
      }
    };
    reach(e, e.number);
    for (bool more = true; more;) {
      more = false;
      for (const graph_event* q : model::at(g.reads, e.location)) {
        const graph_event* const w = q->source;
        if (w != nullptr && !q->mixed && q->number < model::at(reached_, q->thread) &&
            w->number >= model::at(reached_, w->thread) && state_.rules.morally_strong(*w, *q)) {
          reach(*w, w->number + 1);
          more = true;
        }
      }
    }
    return r.number < model::at(reached_, r.thread);
  }

  exploration_state& state_;
  std::vector<int> reached_{};
  dependencies::memory known_{};
  bool buffering_ = false;
};

}  // namespace membar::check::detail
