// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The axioms of the memory model on an execution that may have a cycle of program order and reads-from, for load_buffering.hpp.
/// The definitions are those of model/causality.hpp and model/axioms.hpp, restricted to the generic proxy and to coherence that is
/// total; tests compare the two.
#pragma once

#include <check/buffered_threads.hpp>
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

/// An execution of at most 64 events, some of which may be missing still.
class buffered_execution : protected buffered_threads {
 protected:
  using buffered_threads::buffered_threads;
  ~buffered_execution() = default;

  // ---- axioms

  [[nodiscard]] bool before_in_thread(int x, int y) const noexcept {
    const placed& a = model::at(events_, x);
    const placed& b = model::at(events_, y);
    return a.event.thread == b.event.thread && a.slot < b.slot;
  }

  [[nodiscard]] bool launched_before(int t, int u) const {
    const auto& before = program_.launches_before;
    const int mine = model::at(program_.threads, u).launch;
    return mine < model::count_of(before) && std::find(model::at(before, mine).begin(), model::at(before, mine).end(),
                                                       model::at(program_.threads, t).launch) != model::at(before, mine).end();
  }

  /// The arrivals of a thread at a meeting, before event `n` of it.
  [[nodiscard]] int turn_of(int n) const noexcept {
    int count = 0;
    for (int k = 0; k < model::count_of(events_); ++k) {
      const graph_event& e = model::at(events_, k).event;
      count += e.kind == event_kind::barrier && e.releases == model::at(events_, n).event.releases &&
                       e.meeting == model::at(events_, n).event.meeting && before_in_thread(k, n)
                   ? 1
                   : 0;
    }
    return count;
  }

  /// Whether event `x`, an arrival, is waited for at `y`.
  [[nodiscard]] bool meets(int x, int y) const {
    const graph_event& a = model::at(events_, x).event;
    const graph_event& b = model::at(events_, y).event;
    return a.kind == event_kind::barrier && b.kind == event_kind::barrier && a.releases && !b.releases &&
           a.meeting == arrival_of(y).meeting && meetings_.takes_part(a.thread, b.thread, a.meeting) &&
           turn_of(x) == turn_of(index_of_arrival(y));
  }
  [[nodiscard]] int index_of_arrival(int y) const noexcept {
    return placed_at(model::at(events_, y).event.thread, model::at(events_, y).slot - 1);
  }
  [[nodiscard]] const graph_event& arrival_of(int y) const noexcept { return model::at(events_, index_of_arrival(y)).event; }

  /// Program order, the CUDA API and barriers.
  [[nodiscard]] relation fixed_order() const {
    relation r;
    const int size = model::count_of(events_);
    const auto& before = program_.launches_before;
    const bool launches = std::any_of(before.begin(), before.end(), [](const auto& those) { return !those.empty(); });
    for (int x = 0; x < size; ++x) {
      const placed& a = model::at(events_, x);
      for (int y = 0; y < size; ++y) {
        const placed& b = model::at(events_, y);
        if (a.event.thread == b.event.thread ? a.slot < b.slot
                                             : (launches && launched_before(a.event.thread, b.event.thread)) || meets(x, y)) {
          r.add(x, y);
        }
      }
    }
    return r;
  }

  [[nodiscard]] bool strong_pair(int x, int y) const noexcept {
    return rules_.morally_strong(model::at(events_, x).event, model::at(events_, y).event);
  }

  /// Whether some order of the `fence.sc` makes the execution consistent. Reports a race of one that is whole so far.
  [[nodiscard]] bool consistent_here() {
    const int size = model::count_of(events_);
    observed_.assign(static_cast<std::size_t>(size), 0);
    relation base = fixed_order();
    base.close(size);
    for (int reader = 0; reader < size; ++reader) {
      if (model::at(events_, reader).event.kind != event_kind::read) {
        continue;
      }
      // its source, and through the halves of read-modify-writes what that follows from
      for (int r = reader; r >= 0;) {
        const int w = model::at(events_, r).source;
        if (w < 0 || !strong_pair(w, r) || model::contains(model::at(observed_, w), reader)) {
          break;
        }
        model::at(observed_, w) |= model::only(reader);
        r = model::at(events_, w).partner;
      }
    }
    for (int start = 0; start < size; ++start) {
      const graph_event& head = model::at(events_, start).event;
      if (!head.releases || head.kind == event_kind::barrier) {
        continue;
      }
      for (int w = 0; w < size; ++w) {
        const graph_event& write = model::at(events_, w).event;
        if (write.kind == event_kind::write && write.strong &&
            (w == start ||
             (before_in_thread(start, w) && (head.kind == event_kind::fence || head.location == write.location)))) {
          for (event_set s = model::at(observed_, w); s != 0; s = model::rest(s)) {
            synchronize(base, start, model::first(s));
          }
        }
      }
    }
    whole_ = is_whole();
    return orient(base);
  }

  /// Adds synchronizes-with from `start` to the ends of the acquire patterns that begin with read `r`.
  void synchronize(relation& base, int start, int r) const {
    const graph_event& read = model::at(events_, r).event;
    if (!read.strong) {
      return;
    }
    for (int end = 0; end < model::count_of(events_); ++end) {
      const graph_event& e = model::at(events_, end).event;
      const bool ends =
          e.acquires &&
          ((e.kind == event_kind::read && (end == r || (before_in_thread(r, end) && e.location == read.location))) ||
           (e.kind == event_kind::fence && before_in_thread(r, end) && !read.reduction));
      if (ends && start != end && strong_pair(start, end)) {
        base.add_closed(model::count_of(events_), start, end);
      }
    }
  }

  [[nodiscard]] bool orient(const relation& base) {
    const int size = model::count_of(events_);
    for (int x = 0; x < size; ++x) {
      for (int y = x + 1; y < size; ++y) {
        if (model::at(events_, x).event.sequential && model::at(events_, y).event.sequential && strong_pair(x, y) &&
            !base.holds(x, y) && !base.holds(y, x)) {
          relation one = base;
          one.add_closed(size, x, y);
          relation other = base;
          other.add_closed(size, y, x);
          const bool first = orient(one);
          const bool second = !stopped() && orient(other);
          return first || second;
        }
        if (model::at(events_, x).event.sequential && model::at(events_, y).event.sequential && strong_pair(x, y) &&
            base.holds(x, y) && base.holds(y, x)) {
          return false;
        }
      }
    }
    if (!axioms_hold(base)) {
      return false;
    }
    if (whole_) {
      look_for_race(base);
    }
    return true;
  }

  [[nodiscard]] bool causes(const relation& base, int x, int y) const noexcept {
    return base.holds(x, y) || (model::at(events_, x).event.kind == event_kind::write && contains_any(base, x, y));
  }
  [[nodiscard]] bool contains_any(const relation& base, int w, int y) const noexcept {
    for (event_set s = model::at(observed_, w); s != 0; s = model::rest(s)) {
      if (base.holds(model::first(s), y)) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] static int place_of(const std::vector<int>& order, int w) noexcept {
    return static_cast<int>(std::find(order.begin(), order.end(), w) - order.begin());
  }

  [[nodiscard]] bool axioms_hold(const relation& base) const {
    const int size = model::count_of(events_);
    relation local;  // SC-per-Location
    for (int x = 0; x < size; ++x) {
      const placed& e = model::at(events_, x);
      if (e.event.location < 0) {
        continue;
      }
      const std::vector<int>& order = model::at(order_, e.event.location);
      for (int y = 0; y < size; ++y) {
        if (model::at(events_, y).event.location == e.event.location && before_in_thread(x, y)) {
          local.add(x, y);
        }
      }
      if (e.event.kind == event_kind::write) {
        for (int k = place_of(order, x) + 1; k < model::count_of(order); ++k) {
          if (causes(base, model::at(order, k), x)) {
            return false;
          }
          if (strong_pair(x, model::at(order, k))) {
            local.add(x, model::at(order, k));
          }
        }
        const int r = e.partner;
        if (r >= 0) {
          const int source = model::at(events_, r).source;
          for (int k = source < 0 ? 0 : place_of(order, source) + 1; k < place_of(order, x); ++k) {
            if (strong_pair(model::at(order, k), r) && strong_pair(model::at(order, k), x)) {
              return false;  // Atomicity
            }
          }
          if (source >= 0 && place_of(order, source) > place_of(order, x)) {
            return false;
          }
        }
      } else if (e.event.kind == event_kind::read && e.source != none) {
        if (e.source >= 0) {
          if (base.holds(x, e.source)) {
            return false;
          }
          if (strong_pair(e.source, x)) {
            local.add(e.source, x);
          }
        }
        for (int k = e.source < 0 ? 0 : place_of(order, e.source) + 1; k < model::count_of(order); ++k) {
          if (causes(base, model::at(order, k), x)) {
            return false;
          }
          if (strong_pair(x, model::at(order, k))) {
            local.add(x, model::at(order, k));
          }
        }
      }
    }
    return local.acyclic(size == 64 ? ~event_set{0} : model::only(size) - 1);
  }

  /// Whether nothing is open or unknown: what is there is an execution up to some point.
  [[nodiscard]] bool is_whole() const noexcept {
    for (const placed& e : events_) {
      if (e.event.kind == event_kind::read && e.source == none) {
        return false;
      }
    }
    for (const line& l : lines_) {
      bool gap = false;
      for (const planned& p : l.plan) {
        if (gap && p.number >= 0) {
          return false;
        }
        gap = gap || p.number < 0;
      }
    }
    return true;
  }

  void look_for_race(const relation& base) {
    const int size = model::count_of(events_);
    for (int x = 0; x < size && !stopped(); ++x) {
      for (int y = x + 1; y < size; ++y) {
        const graph_event& a = model::at(events_, x).event;
        const graph_event& b = model::at(events_, y).event;
        if (a.location >= 0 && a.location == b.location && (a.kind == event_kind::write || b.kind == event_kind::write) &&
            a.thread != b.thread && !strong_pair(x, y) && !causes(base, x, y) && !causes(base, y, x)) {
          const graph g = as_graph();
          report(g, check_status::race, race_text(program_, a, b),
                 {&*model::at(model::at(g.threads, a.thread).events, in_graph(x)),
                  &*model::at(model::at(g.threads, b.thread).events, in_graph(y))});
          return;
        }
      }
    }
  }

  /// The number of an event in its thread.
  [[nodiscard]] int in_graph(int n) const noexcept {
    int count = 0;
    for (int k = 0; k < model::count_of(events_); ++k) {
      count += before_in_thread(k, n) ? 1 : 0;
    }
    return count;
  }

  /// The execution as other parts of the checker know one. Its events lie in the arena.
  [[nodiscard]] graph as_graph() {
    graph g;
    g.threads.resize(program_.threads.size());
    std::vector<graph_event*> made;
    std::vector<std::pair<std::uint64_t, int>> sorted;
    for (int n = 0; n < model::count_of(events_); ++n) {
      auto* const e = new (arena_.take(sizeof(graph_event))) graph_event(model::at(events_, n).event);
      auto* const clock = static_cast<std::uint16_t*>(arena_.take(program_.threads.size() * sizeof(std::uint16_t)));
      std::fill(clock, clock + program_.threads.size(), std::uint16_t{0});
      e->number = in_graph(n);
      made.push_back(e);
      sorted.emplace_back(e->stamp, n);
      e->base = e->prefix = clock;
    }
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t k = 0; k < sorted.size(); ++k) {  // a trace is sorted by these: the order in which things were decided
      const_cast<std::uint16_t*>(model::at(made, sorted[k].second)->prefix)[0] = static_cast<std::uint16_t>(k);
    }
    for (int n = 0; n < model::count_of(events_); ++n) {
      const placed& p = model::at(events_, n);
      model::at(made, n)->source = p.source >= 0 ? model::at(made, p.source) : nullptr;
      model::at(made, n)->partner = p.partner >= 0 ? model::at(made, p.partner) : nullptr;
      auto& line_events = model::at(g.threads, p.event.thread).events;
      line_events.resize(std::max<std::size_t>(line_events.size(), static_cast<std::size_t>(in_graph(n)) + 1));
      line_events[static_cast<std::size_t>(in_graph(n))] = model::at(made, n);
    }
    for (int t = 0; t < count(); ++t) {
      model::at(g.threads, t).states.push_back(model::at(lines_, t).end);
    }
    g.reserve(static_cast<std::size_t>(locations_.size()));
    for (std::size_t l = 0; l < order_.size(); ++l) {
      for (const int w : order_[l]) {
        g.order[l].push_back(model::at(made, w));
      }
    }
    return g;
  }

 private:
  std::vector<event_set> observed_{};  ///< per write: the reads that observe it
  bool whole_ = false;
};

}  // namespace membar::check::detail
