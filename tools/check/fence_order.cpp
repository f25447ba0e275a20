// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception *Requirements for an order.* A Fence-SC order relates every morally
// strong pair of `fence.sc` operations and, combined with base causality, has no cycle. Reads-from and coherence are given, so
// every axiom that the order can still break has the form "`b` does not follow from `a`". These requirements are stored in
// `never_after`. A path from `a` to `b` that exists only because of the order leads from `a` to a first fence f, then along
// fences to a last fence g, and then to `b`. Therefore an order breaks an axiom if and only if, together with base causality,
// it leads from an f to a g for which such `a` and `b` exist. The statement "f is never before g" thus expresses all of the
// axioms, and the search needs to consider only fences. The condition that two accesses remain unordered has the same form.
//
// *Why edges are forced.* If ordering f before g would create a path from some x to some y such that x is never before y, then
// g is before f in every order.
//
// *Why the forced edges are sufficient.* Assume that every two fences are morally strong. Add forced edges and close the order
// under transitivity until no new edge appears, and assume that no contradiction appears. If x is never before y, then "x
// before y" is impossible, so "y before x" is forced. Any total order that contains the forced edges is then consistent: it is
// closed, and x is not before y in it. In this case no search is needed. If the scopes of two fences do not include each
// other's threads, the fences may be related only through other fences, and two edges may together break an axiom that neither
// edge breaks by itself. In that case both directions of a pair are tried, and the edges that each direction forces cut the
// search short.
//
// *Why the order of addition is tried first.* A fence that is added last comes after all others, and nothing follows it yet.
// Therefore only the read or write that is added can break an axiom, through the events that lead to it. The events that lead
// to an access are its predecessors, and the predecessors of each fence that was added no later than the last fence that
// precedes the access. An order of all fences relates more pairs than the model requires, so if it breaks no axiom, an order
// with fewer pairs breaks none either. If it does break one, the search looks for another order.
//
// *Why two accesses are ordered in every order.* A fence g *knows* a write if the write, or a read that observes the write,
// precedes g. Suppose that an access to that location follows fence f, and that the access is older than the write or is
// the write itself. Then ordering g before f would break Coherence or Causality. Therefore f is before g, and everything that
// precedes f precedes everything that follows g. This is how a fence in each thread orders the data that the last block of a
// grid reads.
#include <check/fence_order.hpp>
#include <check/graph.hpp>
#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace membar::check {

namespace detail {

bool fence_pairs::exists() {
  state now{after_, never_};
  for (std::size_t f = 0; f < fences_; ++f) {
    for (std::size_t g = 0; g < fences_; ++g) {
      if (has(after_, f, g)) {
        merge(now.never, g, never_, f);
      }
    }
  }
  // If every two fences are related, the forced edges are sufficient (see the comment at the top of the file).
  if (pairs_.size() == fences_ * (fences_ - 1) / 2) {
    std::vector<pair> open = pairs_;
    return force(now, open);
  }
  return orient(now, pairs_);
}

void fence_pairs::set(matrix& m, std::size_t from, std::size_t to) const noexcept {
  m[from * width_ + to / 64] |= std::uint64_t{1} << (to % 64);
}

bool fence_pairs::has(const matrix& m, std::size_t from, std::size_t to) const noexcept {
  return ((m[from * width_ + to / 64] >> (to % 64)) & 1U) != 0;
}

void fence_pairs::merge(matrix& to, std::size_t row, const matrix& from, std::size_t of) const noexcept {
  for (std::size_t w = 0; w < width_; ++w) {
    to[row * width_ + w] |= from[of * width_ + w];
  }
}

bool fence_pairs::may_precede(const state& now, std::size_t f, std::size_t g) const noexcept {
  std::uint64_t broken = has(now.never, f, g) ? 1 : 0;
  for (std::size_t w = 0; w < width_; ++w) {
    broken |= now.never[f * width_ + w] & now.after[g * width_ + w];
  }
  return broken == 0;
}

void fence_pairs::add(state& now, std::size_t f, std::size_t g) const {
  const auto reaches = [&](std::size_t from, std::size_t to) { return from == to || has(now.after, from, to); };
  for (std::size_t x = 0; x < fences_; ++x) {
    if (reaches(x, f)) {
      set(now.after, x, g);
      merge(now.after, x, now.after, g);
    }
  }
  for (std::size_t y = 0; y < fences_; ++y) {
    if (reaches(g, y)) {
      merge(now.never, y, now.never, f);
    }
  }
}

bool fence_pairs::force(state& now, std::vector<pair>& open) const {
  for (bool changed = true; changed;) {
    changed = false;
    std::size_t kept = 0;
    for (std::size_t i = 0; i < open.size(); ++i) {
      const auto [f, g] = open[i];
      if (has(now.after, f, g) || has(now.after, g, f)) {
        continue;
      }
      const bool forth = may_precede(now, f, g);
      const bool back = may_precede(now, g, f);
      if (forth && back) {
        open[kept++] = open[i];
      } else if (!forth && !back) {
        return false;
      } else {
        add(now, forth ? f : g, forth ? g : f);
        changed = true;
      }
    }
    open.resize(kept);
  }
  return true;
}

bool fence_pairs::orient(state& now, std::vector<pair> open) {
  while (force(now, open)) {
    if (open.empty()) {
      return true;
    }
    const auto [f, g] = open.front();
    state chosen = now;
    add(chosen, f, g);
    if (orient(chosen, open)) {
      return true;
    }
    add(now, g, f);
  }
  return false;
}

bool can_order_fences(const ordered_events& events) {
  for (std::size_t i = 0; i < events.base.size(); ++i) {
    if ((events.base[i] & events.never_after[i]) != 0) {
      return false;
    }
  }
  const std::size_t width = events.width;
  const auto follows = [&](std::size_t from, std::size_t to) {
    return ((events.base[from * width + to / 64] >> (to % 64)) & 1U) != 0;
  };
  fence_pairs pairs(events.fences.size());
  std::vector<std::uint64_t> never(width, 0);
  for (std::size_t f = 0; f < events.fences.size(); ++f) {
    std::fill(never.begin(), never.end(), 0);
    for (std::size_t a = 0; a * width < events.base.size(); ++a) {
      if (follows(a, events.fences[f])) {
        for (std::size_t w = 0; w < width; ++w) {
          never[w] |= events.never_after[a * width + w];
        }
      }
    }
    for (std::size_t g = 0; g < events.fences.size(); ++g) {
      if (follows(events.fences[f], events.fences[g])) {
        pairs.set_before(f, g);
      }
      std::uint64_t broken = 0;
      for (std::size_t w = 0; w < width; ++w) {
        broken |= never[w] & events.base[events.fences[g] * width + w];
      }
      if (broken != 0) {
        pairs.set_never_before(f, g);
      }
    }
  }
  for (const auto& [first, second] : events.related) {
    pairs.relate(first, second);
  }
  return pairs.exists();
}

}  // namespace detail

bool keeps_fence_order(const graph& g, const event_rules& rules, const graph_event& e) {
  if (e.location < 0 || e.mixed) {
    return true;
  }
  const auto& order = model::at(g.order, e.location);
  const auto place = event_rules::place_in(order, e.kind == model::event_kind::write ? &e : e.source);
  const auto last = std::find_if(g.fences.rbegin(), g.fences.rend(), [&](auto* f) { return precedes(*f, e.base); });
  if (place + 1 == model::count_of(order) || last == g.fences.rend()) {
    return true;
  }
  std::vector<std::uint16_t> before(e.base, e.base + g.threads.size());
  std::for_each(last, g.fences.rend(), [&](auto* f) { rules.join(before.data(), f->base); });
  return std::none_of(order.begin() + place + 1, order.end(), [&](auto* w) { return rules.causes(g, *w, before.data()); });
}

namespace {

/// Returns the position, in a location's order, of the last write that fence `f` knows.
[[nodiscard]] int last_known(const graph& g, const event_rules& rules, int location, const graph_event& f) {
  const auto& order = model::at(g.order, location);
  int last = model::count_of(order) - 1;
  while (last > 0 && !precedes(*model::at(order, last), f.base)) {
    --last;
  }
  for (const graph_event* r : model::at(g.reads, location)) {
    if (r->source != nullptr && !r->mixed && precedes(*r, f.base) && rules.morally_strong(*r->source, *r)) {
      last = std::max(last, event_rules::place_in(order, r->source));
    }
  }
  return last;
}

/// Returns whether no order puts `second` before `first`.
[[nodiscard]] bool is_before_in_every_order(const graph& g, const event_rules& rules, const graph_event& first,
                                            const graph_event& second) {
  for (int l = 0; l < model::count_of(g.order); ++l) {
    const auto& order = model::at(g.order, l);
    const int last = order.size() > 1 ? last_known(g, rules, l, second) : 0;
    for (int k = 1; k <= last; ++k) {
      if (precedes(first, model::at(order, k)->base)) {
        return true;
      }
    }
    for (const graph_event* r : model::at(g.reads, l)) {
      if (last > 0 && !r->mixed && precedes(first, r->base) && event_rules::place_in(order, r->source) < last) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace

bool are_ordered_by_fences(const graph& g, const event_rules& rules, const graph_event& x, const graph_event& y) {
  std::vector<const graph_event*> after;   // for each thread: the first fence after `x`
  std::vector<const graph_event*> before;  // for each thread: the last fence before `y`
  const auto put = [](std::vector<const graph_event*>& fences, const graph_event* f, bool last, int own) {
    const auto mine = std::find_if(fences.begin(), fences.end(), [&](auto* o) { return o->thread == f->thread; });
    if (mine == fences.end()) {
      fences.insert(f->thread == own ? fences.begin() : fences.end(), f);
    } else if (last) {
      *mine = f;
    }
  };
  for (const graph_event* f : g.fences) {
    if (rules.causes(g, x, f->base)) {
      put(after, f, false, x.thread);
    }
    if (precedes(*f, y.base)) {
      put(before, f, true, y.thread);
    }
  }
  return std::any_of(after.begin(), after.end(), [&](auto* f) {
    return std::any_of(before.begin(), before.end(), [&](auto* s) {
      return f == s || precedes(*f, s->base) || (rules.morally_strong(*f, *s) && is_before_in_every_order(g, rules, *f, *s));
    });
  });
}

bool breaks_every_fence_order(const graph& g, const event_rules& rules, const graph_event& e) {
  if (e.location < 0 || e.mixed) {
    return false;
  }
  const auto& order = model::at(g.order, e.location);
  const auto place = event_rules::place_in(order, e.kind == model::event_kind::write ? &e : e.source);
  return std::any_of(order.begin() + place + 1, order.end(), [&](auto* w) { return are_ordered_by_fences(g, rules, *w, e); });
}

fence_order::fence_order(const graph& g, const event_rules& rules) : graph_(g), rules_(rules) {
  for (const thread_run& t : g.threads) {
    first_.push_back(model::count_of(events_));
    events_.insert(events_.end(), t.events.begin(), t.events.end());
  }
  order_.width = (events_.size() + 63) / 64;
  order_.base.assign(events_.size() * order_.width, 0);
  order_.never_after.assign(events_.size() * order_.width, 0);
  for (std::size_t i = 0; i < events_.size(); ++i) {
    if (events_[i]->sequential) {
      for (std::size_t f = 0; f < order_.fences.size(); ++f) {
        const graph_event& other = *events_[order_.fences[f]];
        if (rules_.morally_strong(other, *events_[i])) {
          const std::pair both{f, order_.fences.size()};
          order_.related.push_back(other.stamp < events_[i]->stamp ? both : std::pair{both.second, both.first});
        }
      }
      order_.fences.push_back(i);
    }
    for (std::size_t t = 0; t < first_.size(); ++t) {
      for (int k = 0; k < events_[i]->base[t]; ++k) {
        const std::size_t before = static_cast<std::size_t>(first_[t] + k);
        if (before != i) {
          add(order_.base, before, i);
        }
      }
    }
  }
  for (std::size_t l = 0; l < g.order.size(); ++l) {
    read_axioms(l);
  }
}

bool fence_order::search(const std::vector<std::pair<const graph_event*, const graph_event*>>& suspects) {
  for (const auto& s : suspects) {
    detail::ordered_events apart = order_;
    keep_from(apart.never_after, *s.first, *s.second);
    keep_from(apart.never_after, *s.second, *s.first);
    if (can_order_fences(apart)) {
      race_ = &s;
      return true;
    }
  }
  return can_order_fences(order_);
}

void fence_order::add(std::vector<std::uint64_t>& relation, std::size_t from, std::size_t to) const noexcept {
  relation[from * order_.width + to / 64] |= std::uint64_t{1} << (to % 64);
}

std::size_t fence_order::index_of(const graph_event& e) const noexcept {
  return static_cast<std::size_t>(model::at(first_, e.thread) + e.number);
}

template <class Use>
void fence_order::each_observation(std::size_t location, Use use) const {
  for (const graph_event* reader : graph_.reads[location]) {
    for (const graph_event* r = reader; r != nullptr && r->source != nullptr && rules_.morally_strong(*r->source, *r);
         r = r->source->partner) {
      if (static_cast<std::size_t>(r->source->location) == location && r->source->kind == model::event_kind::write) {
        use(*reader, *r->source);
      }
    }
  }
}

void fence_order::keep_from(std::vector<std::uint64_t>& never_after, const graph_event& w, const graph_event& e) const {
  add(never_after, index_of(w), index_of(e));
  if (w.kind == model::event_kind::write) {
    for (const graph_event* r : model::at(graph_.reads, w.location)) {
      if (rules_.observes(*r, w)) {
        add(never_after, index_of(*r), index_of(e));
      }
    }
  } else if (w.rmw && rules_.readings().takes(model::reading::whole_updates_are_observed)) {
    for (const graph_event* s : model::at(graph_.order, w.location)) {
      if (s != nullptr && s->partner == &w) {
        keep_from(never_after, *s, e);
      }
    }
  }
}

void fence_order::read_axioms(std::size_t location) {
  const auto& order = graph_.order[location];
  // per position in the order: the reads that take their value from the write at that position
  std::vector<std::vector<std::size_t>> from(order.size());
  for (const graph_event* r : graph_.reads[location]) {
    if (!r->mixed) {
      from[static_cast<std::size_t>(event_rules::place_in(order, r->source))].push_back(index_of(*r));
      if (r->source != nullptr) {
        add(order_.never_after, index_of(*r), index_of(*r->source));
      }
    }
  }
  std::vector<std::uint64_t> earlier(order_.width, 0);
  const auto join = [&](std::size_t row, const std::uint64_t* other) {
    for (std::size_t w = 0; w < order_.width; ++w) {
      order_.never_after[row * order_.width + w] |= other[w];
    }
  };
  for (std::size_t j = 0; j < order.size(); ++j) {
    if (order[j] != nullptr) {
      join(index_of(*order[j]), earlier.data());
      add(earlier, 0, index_of(*order[j]));
    }
    for (const std::size_t r : from[j]) {
      add(earlier, 0, r);
    }
  }
  each_observation(location, [&](const graph_event& reader, const graph_event& w) {
    join(index_of(reader), &order_.never_after[index_of(w) * order_.width]);
  });
}

}  // namespace membar::check
