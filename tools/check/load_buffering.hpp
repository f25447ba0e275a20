// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explores the executions with load buffering: those in which program order and reads-from have a cycle, and dependencies and
/// reads-from have none.
///
/// A thread runs on past a read whose source is not chosen yet. What is computed from such a read is unknown: an access with an
/// unknown address or value is left out until it is known, and an unknown branch stops the thread. A read takes a write that is there,
/// or stays open for one that comes later; a write is taken by any of the open reads of its location. For each execution there is
/// one way to choose, so that none is found twice. Executions without a cycle are left to explore.hpp. Axioms are checked on the
/// part that is there: more events, causality or coherence never repair a broken one.
///
/// This costs far more than explore.hpp, and is limited to 64 events. It is used only where a cycle was not ruled out.
#pragma once

#include <check/buffered_execution.hpp>
#include <check/data_flow.hpp>
#include <check/event_builder.hpp>
#include <check/graph.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/relation.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace membar::check::detail {

/// One exploration of the executions with a cycle.
class load_buffering_explorer final : private buffered_execution {
 public:
  /// `so_far` is the result of the exploration without load buffering.
  load_buffering_explorer(const program& checked, const check_property& property, const check_options& options,
                          check_result so_far)
      : buffered_execution(checked), property_(property), options_(options) {
    result_ = std::move(so_far);
  }

  [[nodiscard]] check_result run() {
    for (int t = 0; t < count(); ++t) {
      run_thread(t);
    }
    visit();
    result_.status = result_.found.status;
    return std::move(result_);
  }

 private:
  // ---- growth

  void give_up(const std::string& why) {
    graph empty;
    empty.threads.resize(program_.threads.size());
    report(
        empty, check_status::gave_up,
        "without load buffering nothing is found. An execution in which a read reads from a write that follows from it is not "
        "ruled out, and " +
            why);
  }

  /// The next event that is not part of the execution: writes, fences and barriers before reads.
  [[nodiscard]] planned* next_event() {
    planned* first = nullptr;
    for (line& l : lines_) {
      for (planned& p : l.plan) {
        if (p.known && p.number < 0) {
          if (p.event.kind != event_kind::read) {
            return &p;
          }
          first = first == nullptr ? &p : first;
        }
      }
    }
    return first;
  }

  /// Whether a write of a location, all of whose known ones are part of the execution, may come still.
  [[nodiscard]] bool may_be_written(int location) const {
    return std::any_of(lines_.begin(), lines_.end(), [&](const line& l) {
      return l.end->status == thread_status::undecided || std::any_of(l.plan.begin(), l.plan.end(), [&](const planned& p) {
               return p.number < 0 && (!p.known || (p.event.kind == event_kind::write && p.event.location == location));
             });
    });
  }

  /// Whether some choice of the sources that are not chosen yet may make a cycle. Without one the execution is left to explore.hpp.
  [[nodiscard]] bool may_have_cycle() const {
    relation r = fixed_order();
    const auto add = [&](const std::vector<int>& writes, int to) {
      for (const int w : writes) {
        r.add(w, to);
      }
    };
    const int size = model::count_of(events_);
    for (int n = 0; n < size; ++n) {
      const placed& e = model::at(events_, n);
      if (e.event.kind == event_kind::read && e.source >= 0) {
        r.add(e.source, n);
      } else if (e.event.kind == event_kind::read && e.source == none) {
        add(model::at(order_, e.event.location), n);
      }
    }
    for (const line& l : lines_) {
      if (l.end->status == thread_status::undecided) {
        return true;
      }
      for (const planned& p : l.plan) {
        if (p.number >= 0) {
          continue;
        }
        if (!p.known || p.event.kind != event_kind::read) {
          return true;
        }
        for (int n = 0; n < size; ++n) {  // what comes after it in its thread comes after its source
          if (model::at(events_, n).event.thread == p.event.thread && model::at(events_, n).slot > p.slot) {
            add(model::at(order_, p.event.location), n);
          }
        }
      }
    }
    return !r.acyclic(size == 64 ? ~event_set{0} : model::only(size) - 1);
  }

  void visit() {
    if (stopped()) {
      return;
    }
    if (++steps_ > options_.most_buffered_steps) {
      give_up("the exploration of those takes more than " + std::to_string(options_.most_buffered_steps) + " steps");
      return;
    }
    for (const line& l : lines_) {
      if (l.unsupported) {
        give_up(
            "a thread does something then that is not supported: values that lanes exchange, an address or a predicate of "
            "local memory "
            "or of a barrier that is not known, more than 64 events, or an access outside of memory");
        return;
      }
    }
    planned* const p = next_event();
    if (p == nullptr) {
      complete();
      return;
    }
    if (p->event.kind == event_kind::read && !may_have_cycle()) {
      return;
    }
    if (events_.size() == model::max_events) {
      give_up("the execution has more than " + std::to_string(model::max_events) + " events");
      return;
    }
    const planned mine = *p;  // lines are run again below
    const int number = model::count_of(events_);
    const stack_arena::mark mark = arena_.here();
    placed e;
    e.event = mine.event;
    e.slot = mine.slot;
    e.event.stamp = ++stamp_;
    if (mine.event.kind == event_kind::read) {
      for (const int other : locations_[e.event.location].overlapping) {
        if (other < model::count_of(order_) && !model::at(order_, other).empty()) {
          give_up("it has accesses of different sizes");
          return;
        }
      }
      events_.push_back(e);
      const std::vector<int> sources = model::at(order_, e.event.location);
      for (int k = -1; k < model::count_of(sources) && !stopped(); ++k) {
        choose(number, k < 0 ? initial : model::at(sources, k), [&] { visit_if_consistent(); });
      }
      if (!stopped() && may_be_written(e.event.location)) {  // it stays open
        with_new_run(e.event.thread, [&] { visit_if_consistent(); });
      }
      events_.pop_back();
    } else {
      if (mine.event.kind == event_kind::write && mine.event.update) {
        e.partner = placed_at(mine.event.thread, mine.slot - 1);
      }
      for (const int other : e.event.location < 0 ? std::vector<int>{} : locations_[e.event.location].overlapping) {
        for (const placed& o : events_) {
          if (o.event.location == other) {
            give_up("it has accesses of different sizes");
            return;
          }
        }
      }
      events_.push_back(e);
      with_new_run(e.event.thread, [&] {
        if (mine.event.kind != event_kind::write) {
          visit_if_consistent();
          return;
        }
        for (int at = 0; at <= model::count_of(model::at(order_, e.event.location)) && !stopped(); ++at) {
          auto& order = model::at(order_, e.event.location);
          order.insert(order.begin() + at, number);
          offer(number, 0);
          auto& after = model::at(order_, e.event.location);
          after.erase(after.begin() + at);
        }
      });
      events_.pop_back();
    }
    arena_.release(mark);
  }

  /// Lets the open reads from number `first` on take write `w` or not.
  void offer(int w, int first) {
    int r = first;
    const graph_event& write = model::at(events_, w).event;
    while (r < w && (model::at(events_, r).source != none || model::at(events_, r).event.kind != event_kind::read ||
                     model::at(events_, r).event.location != write.location || before_in_thread(r, w))) {
      ++r;
    }
    if (r >= w) {
      visit_if_consistent();
      return;
    }
    choose(r, w, [&] { offer(w, r + 1); });
    if (!stopped()) {
      offer(w, r + 1);
    }
  }

  /// Read `r` reads from `w` while `use` runs.
  template <class Use>
  void choose(int r, int w, const Use& use) {
    placed& read = model::at(events_, r);
    const int t = read.event.thread;
    const std::uint32_t stamp = read.event.stamp;
    read.source = w;
    read.event.stamp = ++stamp_;
    if (w == initial) {
      if (!locations_[read.event.location].initialised) {
        const graph g = as_graph();
        report(g, check_status::uninitialised,
               "thread " + std::to_string(t) + " may read " + place_text(program_, read.event.address) +
                   " before anything is written to it");
        return;
      }
      read.event.value = locations_[read.event.location].initial;
    } else {
      read.event.value = model::at(events_, w).event.value;
    }
    with_new_run(t, use);
    placed& again = model::at(events_, r);
    again.source = none;
    again.event.stamp = stamp;
  }

  void visit_if_consistent() {
    if (!stopped() && consistent_here()) {
      visit();
    }
  }

  // ---- the end

  /// Whether program order, barriers and reads-from have a cycle.
  [[nodiscard]] bool has_cycle() const {
    relation r = fixed_order();
    const int size = model::count_of(events_);
    for (int n = 0; n < size; ++n) {
      if (model::at(events_, n).event.kind == event_kind::read && model::at(events_, n).source >= 0) {
        r.add(model::at(events_, n).source, n);
      }
    }
    return !r.acyclic(size == 64 ? ~event_set{0} : model::only(size) - 1);
  }

  /// Whether every thread that has gone on from a barrier has met all that it waits for.
  [[nodiscard]] bool all_met() const {
    for (int y = 0; y < model::count_of(events_); ++y) {
      if (model::at(events_, y).event.kind != event_kind::barrier || model::at(events_, y).event.releases) {
        continue;
      }
      for (int t = 0; t < count(); ++t) {
        bool met = !meetings_.takes_part(t, model::at(events_, y).event.thread, arrival_of(y).meeting) ||
                   model::at(lines_, t).end->status == thread_status::ended;
        for (int x = 0; x < model::count_of(events_) && !met; ++x) {
          met = model::at(events_, x).event.thread == t && meets(x, y);
        }
        if (!met) {
          return false;
        }
      }
    }
    return true;
  }

  void complete() {
    for (const placed& e : events_) {
      if (e.event.kind == event_kind::read && e.source == none) {
        return;
      }
    }
    if (!has_cycle()) {
      return;
    }
    bool ended = true;
    bool stuck = true;
    graph g = as_graph();
    for (int t = 0; t < count(); ++t) {
      if (!healthy(g, t)) {
        return;
      }
      const thread_state& s = *model::at(lines_, t).end;
      ended = ended && s.status == thread_status::ended;
      stuck = stuck && (s.status != thread_status::waiting || waits_for_ever(g, t));
    }
    ended = ended && all_met();
    if (ended) {
      ++result_.counts.buffered;
      result_.counts.longest = std::max(result_.counts.longest, model::count_of(events_));
    }
    finish(g, ended, stuck, property_);
  }

  const check_property& property_;
  check_options options_;
  std::uint32_t stamp_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace membar::check::detail
