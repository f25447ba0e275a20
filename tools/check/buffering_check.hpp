// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Whether a program may have executions with a cycle of program order and reads-from: load buffering. It is asked while those
/// without a cycle are explored; where the answer is no, there is nothing more to explore.
///
/// Such an execution grows event by event along dependencies and reads-from, which have no cycle. Beside it grows one without a
/// cycle, in which a read whose source is not there yet reads an older write. That continues until a read is to take a write that follows from
/// it: by program order, reads-from or barriers, but not by dependencies. The exploration reaches that write too, and sees the read. If
/// causality leads from the read to the write, no execution has that. Nor has one if program order and reads-from of only their location
/// lead there: each step continues in the location's coherence, whatever the reads on the way read. Two cases need more:
///  * a read-modify-write cannot read an older write that another read-modify-write has read. So a read-modify-write is asked for when it reads, as if it came before all
///    that it follows from;
///  * an older write may be ordered after more than the one that is to be read, if the read acquires. So a read that acquires counts,
///    if its thread accesses memory after it without depending on it, and something follows from that thread without causality.
/// A weak read whose value its thread never uses counts for nothing: the execution without it is one.
#pragma once

#include <check/dependencies.hpp>
#include <check/exploration_state.hpp>
#include <check/graph.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>

#include <algorithm>
#include <vector>

namespace membar::check::detail {

/// Looks for load buffering in the executions that an exploration comes to.
class buffering_check {
 public:
  explicit buffering_check(exploration_state& state) : state_(state) {}

  /// Whether a cycle of program order and reads-from is not ruled out.
  [[nodiscard]] bool found() const noexcept { return buffering_; }
  /// Looks no more.
  void stop() noexcept { buffering_ = true; }

  /// Looks for a read that could have read write `e`, the next event, although the write follows from it: neither a dependency nor
  /// causality leads from the read to the write. Of a read-modify-write `e` is the read, whose source is not chosen: it might come first.
  void look_for_early_read(const graph& g, const graph_event& e) {
    if (buffering_) {
      return;
    }
    const auto look = [&](int location) {
      for (const graph_event* r : model::at(g.reads, location)) {
        if (!buffering_ && !r->discarded && r->thread != e.thread && precedes(*r, e.prefix) && !precedes(*r, e.base) &&
            !precedes(*r, state_.rules.clock_for(*r, e))) {
          dependencies on(g, state_.checked.threads, state_.points, known_);
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

  /// Looks for a read that acquires, with an access after it in its thread that does not depend on it, and that read `e` follows
  /// from without causality. Its earlier sources may order more than a write would that follows from it.
  void look_for_late_acquire(const graph& g, const graph_event& e) {
    for (int t = 0; t < state_.count() && !buffering_; ++t) {
      const auto& events = model::at(g.threads, t).events;
      bool fence = false;
      const bool copies = model::at(state_.checked.threads, t).copies_of >= 0;  // whose reads acquire nothing
      for (int n = std::min<int>(e.prefix[t], model::count_of(events)) - 1;
           t != e.thread && !copies && n >= e.base[t] && !buffering_; --n) {
        const graph_event& h = *model::at(events, n);
        fence = fence || (h.kind == event_kind::fence && h.acquires);
        if (h.kind == event_kind::read && h.strong && (h.acquires || fence)) {
          dependencies on(g, state_.checked.threads, state_.points, known_);
          for (int k = n + 1; k < model::count_of(events) && !buffering_; ++k) {
            const event_kind kind = model::at(events, k)->kind;
            buffering_ = (kind == event_kind::read || kind == event_kind::write) && !on.reaches(h, t, k);
          }
        }
      }
    }
  }

 private:
  /// Whether a dependency leads from read `r` to the start of an operation of several threads, and causality from that to `e`. The operation begins
  /// when all of them have started it, and it is over for each of them at once.
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

  /// Whether `e`, the next event, follows from read `r` by accesses of one location only: program order, what a thread did before it started
  /// a copy that does so through the generic proxy, and reads-from that is morally strong. Then `r` reads nothing from `e`: Coherence and SC-per-Location.
  [[nodiscard]] bool follows_at_location(const graph& g, const graph_event& r, const graph_event& e) {
    if (r.location != e.location || !e.strong || !r.strong) {
      return false;
    }
    reached_.assign(state_.checked.threads.size(),
                    0);  // per thread: how many events there are up to the last that `e` follows from
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
