// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Updates whose order has no effect: read-modify-writes that perform the same operation and whose old values are not used, and
/// arrivals at an mbarrier.
///
/// Each order of a location's updates is a separate execution. However, an access to the location that comes before all of the
/// updates or after all of them has the same result in all of these executions. Therefore only one of these executions is
/// explored: the execution in which each update reads from the latest update. A later update neither changes the source of an
/// earlier update nor follows from it. A test of an mbarrier may be ordered between the updates. The test reads how many phases
/// are complete. Only the last arrival of a phase changes that number, and this arrival follows from all other arrivals in its
/// phase.
///
/// These statements hold as long as
/// * causality orders every other access to the location before all updates or after all updates,
/// * no `fence.sc` precedes either of two updates that causality does not order, because the order of fences might order them,
/// * no event acquires through a value that an update has read if some update releases, because the order then decides which
///   threads synchronize.
/// If an execution violates one of these conditions, the exploration starts over, and the location's updates are explored in
/// every order.
///
/// Nevertheless, two kinds of values depend on the order: an old value that a thread uses, and a sum of floats that is rounded
/// in some order. These values are treated as unknown, like the results of matrix instructions. As soon as an unknown value
/// decides what a thread does, or is needed for the checked property, the updates of the locations that the value may come from
/// are explored in every order.
///
/// A thread may use only a part of the value that it reads. For example, it may wait for the top bit of an arrival count or for
/// one of two flags. Consider a read of a value that was written by a read-modify-write, or by the second or a later store of
/// the only thread that writes to the location. If this value leads the reading thread to the same state as the previous value
/// would, only the read of the previous value is explored. Reading the older write orders no additional events, and if there is
/// no `fence.sc`, leaving out the read of the newer write hides no behaviour.
#pragma once

#include <check/exploration_state.hpp>
#include <check/graph.hpp>
#include <check/kept_apart.hpp>
#include <check/machine.hpp>
#include <membar/model/array.hpp>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

namespace membar::check::detail {

/// A sum of floats, and whether the result is exactly that sum in every order of the additions.
class exact_sum {
 public:
  /// Creates an empty sum for read-modify-write `i`. If `i` is not an addition of type `f32` or `f64`, the sum does not count
  /// as exact.
  explicit exact_sum(const instruction& i)
      : single_(i.type == ptx_type::f32), exact_((single_ || i.type == ptx_type::f64) && i.what == model::operation::add) {}

  void add(std::uint64_t bits) {
    const float f = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const double d = std::bit_cast<double>(bits);
    const int kind = single_ ? std::fpclassify(f) : std::fpclassify(d);
    exact_ = exact_ && (kind == FP_NORMAL || kind == FP_ZERO);
    if (kind == FP_NORMAL) {
      sizes_.push_back(std::fabs(single_ ? static_cast<double>(f) : d));
    }
  }

  /// Returns whether no partial sum is rounded in any order. Every partial sum is a multiple of the lowest bit that is set in
  /// any summand, and its absolute value is at most the sum of all absolute values. If the sum of absolute values, counted in
  /// units of that bit, has no more digits than the type's significand, nothing is rounded.
  [[nodiscard]] bool is_exact() const {
    using double_limits = std::numeric_limits<double>;
    using float_limits = std::numeric_limits<float>;
    const std::uint64_t most = std::uint64_t{1}
                               << static_cast<unsigned>(single_ ? float_limits::digits : double_limits::digits);
    int least = double_limits::max_exponent;
    for (const double size : sizes_) {
      int exponent = 0;
      const auto digits = static_cast<std::uint64_t>(std::ldexp(std::frexp(size, &exponent), double_limits::digits));
      least = std::min(least, exponent - double_limits::digits + std::countr_zero(digits));
    }
    std::uint64_t sum = 0;
    for (const double size : sizes_) {
      const double scaled = std::ldexp(size, -least);
      if (!(scaled <= static_cast<double>(most - sum))) {
        return false;
      }
      sum += static_cast<std::uint64_t>(scaled);
    }
    return exact_ && least >= (single_ ? float_limits::min_exponent : double_limits::min_exponent) - 1 &&
           least + static_cast<int>(std::bit_width(sum)) <=
               (single_ ? float_limits::max_exponent : double_limits::max_exponent);
  }

 private:
  bool single_;
  bool exact_;
  std::vector<double> sizes_{};  ///< the nonzero absolute values
};

/// Returns whether any kernel of a program contains a `fence.sc`.
[[nodiscard]] inline bool has_sequential_fence(const program& checked) {
  return std::any_of(checked.kernels.begin(), checked.kernels.end(), [](const auto& k) {
    return std::any_of(k->code.begin(), k->code.end(),
                       [](const instruction& i) { return i.code == op::fence && i.order == memory_order::seq_cst; });
  });
}

/// Finds commuting updates in an execution.
class commuting_updates {
 public:
  commuting_updates(exploration_state& state, kept_apart& apart) : state_(state), apart_(apart) {}

  /// Returns whether the exploration has to start over because some location's updates must be explored in every order.
  [[nodiscard]] bool begins_again() const noexcept { return begins_again_; }

  /// Makes all further reads skip writes that change nothing for the reading thread, unless the program contains a `fence.sc`.
  void look_past_updates() { looks_past_ = !has_sequential_fence(state_.checked); }

  /// Returns whether read `r` has the same effect when it reads from `w` as when it reads from the write before `w`. This is
  /// the case if `r` is a test of an mbarrier whose phase `w` does not complete, or if the value of `w` leads the thread of `r`
  /// to the same state as the previous value.
  [[nodiscard]] bool is_passed_over(const graph& g, const graph_event& w, const graph_event& r) {
    if (r.mbarrier != mbarrier_op::none) {
      return w.update != 0 && !w.completes && r.mbarrier == mbarrier_op::test;
    }
    if (!looks_past_ || w.mbarrier != mbarrier_op::none || w.update != 0 || r.rmw || r.mixed) {
      return false;
    }
    const machine& m = model::at(state_.machines, r.thread);
    const thread_state& s = *model::at(model::at(g.threads, r.thread).states, r.number);
    const auto leads_on = [&](wide_value old) {
      return m.at(s).elements == 1 && !old.unknown && !w.value.unknown && m.leads_to_the_same(s, old, w.value);
    };
    if (w.rmw) {
      const graph_event* const before = w.partner->source;
      return !w.partner->mixed && (before == nullptr || state_.rules.morally_strong(*before, *w.partner)) &&
             leads_on(w.partner->value);
    }
    const graph_event* const before = last_of_one_writer(g, w);
    if (before == nullptr || !leads_on(before->value)) {
      return false;
    }
    passed_over_.insert(w.address);
    return true;
  }

  /// Returns whether the updates of a location may still be explored in a single order when access `e` is added. If not, they
  /// will be explored in every order.
  [[nodiscard]] bool allow(const graph& g, graph_event& e) {
    if (!may_commute(g, e, e.location) || interferes(g, e, e.location)) {
      return keep_apart(g, e.location);
    }
    for (const int other : state_.locations[e.location].overlapping) {
      if (other < model::count_of(g.order) &&
          (!may_commute(g, e, other) || interferes(g, e, other) || (e.update != 0 && model::at(g.order, other).size() > 1))) {
        return keep_apart(g, e.update != 0 ? e.location : other);
      }
    }
    return true;
  }

  /// Marks the value returned by `r`, the read of an update, as unknown if the sum may be rounded in some order. `place` is the
  /// position of the read's source in the location's order, and `s` is the thread's state before the update.
  void hide_rounded(const graph& g, graph_event& r, const thread_state& s, int place) {
    const machine& m = model::at(state_.machines, r.thread);
    if (m.may_round(s) && !sums_exactly(g, r, s, place)) {
      r.value = {0, 0, true};
      hides_values_ = true;
    }
    hides_values_ = hides_values_ || m.uses_old_value(s);
  }

  /// Returns whether any value is hidden (unknown) because the order of updates determines it.
  [[nodiscard]] bool hides_values() const noexcept { return hides_values_; }

  /// Called when an unknown value of thread `t`, or of any thread if `t` is -1, is about to affect the exploration. Returns
  /// whether the value may come from updates. If so, these updates will be explored in every order.
  [[nodiscard]] bool asks_hidden_value(const graph& g, int t) {
    bool found = false;
    for (int u = t < 0 ? 0 : t; u < (t < 0 ? state_.count() : t + 1); ++u) {
      for (const graph_event* e : model::at(g.threads, u).events) {
        if (e->kind == event_kind::read && hides_a_value(g, *e)) {
          found = true;
          static_cast<void>(keep_apart(g, e->location));
        }
      }
    }
    return found || (t >= 0 && hides_values_ && asks_hidden_value(g, -1));
  }

  /// Returns false if `w` is an update that ends a release pattern, and an event acquires through an update's read of the
  /// location. In that case, the location's updates will be explored in every order.
  [[nodiscard]] bool allow_release(const graph& g, const graph_event& w) {
    if (w.update == 0 || w.mbarrier != mbarrier_op::none || w.heads.empty()) {
      return true;
    }
    released_.insert(w.address);
    return acquired_.count(w.address) == 0 || keep_apart(g, w.location);
  }

  /// Returns false if fence `e` acquires through an update's read of a location, and an update of that location ends a release
  /// pattern. In that case, the location's updates will be explored in every order.
  [[nodiscard]] bool allow_acquire(const graph& g, const graph_event& e) {
    if (!e.acquires) {
      return true;
    }
    for (const graph_event* r : model::at(g.threads, e.thread).events) {
      if (r->update != 0 && r->kind == event_kind::read && !r->reduction && r->mbarrier == mbarrier_op::none) {
        acquired_.insert(r->address);
        if (released_.count(r->address) != 0) {
          return keep_apart(g, r->location);
        }
      }
    }
    return true;
  }

  /// Adds to `places` the positions of the writes that `r`, a test of an mbarrier, may read from. The positions refer to the
  /// location's order; the newest write's position is added first. The search ends at `oldest`, unless that write is a
  /// commuting update. It also ends at an update that completes a phase if the test must observe that completion.
  void find_sources(const graph& g, const graph_event& r, int oldest, std::vector<int>& places) const {
    const auto& order = model::at(g.order, r.location);
    for (int i = model::count_of(order) - 1; i >= 0;) {
      i = last_complete(order, i);  // the write that a test sees while the phase is incomplete
      places.push_back(i);
      if (is_update(order, i) ? !may_miss_phase(g, r, i) : i <= oldest) {
        return;
      }
      --i;
    }
  }

  /// Repairs a graph from which events were removed: an update whose source is no longer the preceding write is replaced by a
  /// copy that reads from the preceding write.
  void connect(graph& g) {
    for (std::size_t l = 0; l < g.order.size(); ++l) {
      auto& order = g.order[l];
      for (std::size_t k = 1; k < order.size(); ++k) {
        if (order[k]->update != 0 && order[k]->partner->source != order[k - 1]) {
          order[k] = read_again(g, *order[k], order[k - 1]);
        }
      }
    }
  }

  /// If `w` completes a phase, calls `use` with each of the phase's other arrivals.
  template <class Use>
  static void for_each_of_phase(const graph_event& w, const Use& use) {
    for (const graph_event* a = w.update != 0 && w.completes ? w.partner->source : nullptr;
         a != nullptr && a->update != 0 && !a->completes; a = a->partner->source) {
      use(*a);
    }
  }

  /// Returns whether write `w`, which follows the source of `r` in coherence, changes the result of `r`. Only events for which
  /// `counts` returns true are considered to exist. For a test of an mbarrier, all arrivals of the completed phase must exist.
  template <class Counts>
  [[nodiscard]] bool changes(const graph& g, const graph_event& w, const graph_event& r, const Counts& counts) {
    bool all = counts(w) && !is_passed_over(g, w, r);
    if (r.mbarrier == mbarrier_op::test) {
      for_each_of_phase(w, [&](const graph_event& a) { all = all && counts(a); });
    }
    return all;
  }

  /// Returns whether read `r` has read from update `w` or from a later write.
  [[nodiscard]] static bool has_seen(const graph& g, const graph_event& r, const graph_event& w) {
    const auto& order = model::at(g.order, w.location);
    return r.update == 0 && event_rules::place_in(order, r.source) >= event_rules::place_in(order, &w);
  }

  /// Returns the clock of the events that exist whenever a read takes its value from write `w`. If `w` completes a phase, these
  /// events include the phase's other arrivals.
  [[nodiscard]] const std::uint16_t* past_of(const graph_event& w) {
    if (w.update == 0 || !w.completes) {
      return w.past;
    }
    const std::size_t width = state_.checked.threads.size();
    auto* const past = static_cast<std::uint16_t*>(state_.arena.take(width * sizeof(std::uint16_t)));
    std::copy(w.past, w.past + width, past);
    for_each_of_phase(w, [&](const graph_event& a) { state_.rules.join(past, a.past); });
    return past;
  }

 private:
  [[nodiscard]] static bool is_update(const std::vector<const graph_event*>& order, int i) noexcept {
    return model::at(order, i) != nullptr && model::at(order, i)->update != 0;
  }

  /// Returns the position of the last write, up to position `i`, that is not an update or that completes a phase.
  [[nodiscard]] static int last_complete(const std::vector<const graph_event*>& order, int i) noexcept {
    while (is_update(order, i) && !model::at(order, i)->completes) {
      --i;
    }
    return i;
  }

  /// Returns whether `r`, a test, may fail to observe the end of the phase that the update at `place` completes. Two conditions
  /// must hold. First, some arrival of that phase could be its last one, because it precedes neither `r` nor another test that
  /// did not observe the end. Second, nothing that precedes `r` has observed the end of the phase.
  [[nodiscard]] bool may_miss_phase(const graph& g, const graph_event& r, int place) const {
    const auto& order = model::at(g.order, r.location);
    const auto& reads = model::at(g.reads, r.location);
    if (std::any_of(reads.begin(), reads.end(), [&](const graph_event* o) {
          return o->update == 0 && precedes(*o, r.base) && event_rules::place_in(order, o->source) >= place;
        })) {
      return false;
    }
    for (int i = model::count_of(order) - 1; i > place; --i) {
      if (precedes(*model::at(order, i), r.base)) {
        return false;
      }
    }
    const auto may_be_last = [&](const graph_event& a) {
      return !precedes(a, r.base) && std::none_of(reads.begin(), reads.end(), [&](const graph_event* o) {
        return o->update == 0 && precedes(a, o->base) && event_rules::place_in(order, o->source) < place;
      });
    };
    bool misses = false;
    for (int i = place; i > 0 && is_update(order, i) && (i == place || !model::at(order, i)->completes); --i) {
      misses = misses || may_be_last(*model::at(order, i));
    }
    return misses;
  }

  /// Returns the preceding write to the location by the thread of `w` if `w` is strong and no other thread writes to the
  /// location. Returns null otherwise.
  [[nodiscard]] const graph_event* last_of_one_writer(const graph& g, const graph_event& w) const {
    const auto& order = model::at(g.order, w.location);
    if (!w.strong || apart_.has(w.address) || !state_.locations[w.location].overlapping.empty()) {
      return nullptr;
    }
    const graph_event* last = nullptr;
    for (const graph_event* o : order) {
      if (o != nullptr && o->thread != w.thread) {
        return nullptr;
      }
      last = o != nullptr && o->number < w.number ? o : last;
    }
    return last;
  }

  /// Returns whether `e` is a write to a location where reads skip the stores of another thread. Such a write might be ordered
  /// between these stores.
  [[nodiscard]] bool interferes(const graph& g, const graph_event& e, int location) const {
    const location_info& l = state_.locations[location];
    const auto& order = model::at(g.order, location);
    return (e.kind == event_kind::write || e.rmw) && passed_over_.count(l.address) != 0 && !apart_.has(l.address) &&
           (location != e.location ||
            std::any_of(order.begin(), order.end(), [&](auto* o) { return o != nullptr && o->thread != e.thread; }));
  }

  [[nodiscard]] bool has_fence_before(const graph& g, const graph_event& e) const {
    return std::any_of(g.fences.begin(), g.fences.end(), [&](const graph_event* f) { return precedes(*f, e.base); });
  }

  /// Returns whether the updates of a location commute, given its existing events and `e`.
  [[nodiscard]] bool may_commute(const graph& g, const graph_event& e, int location) const {
    if (location >= model::count_of(g.order)) {
      return true;
    }
    const auto& order = model::at(g.order, location);
    const auto is_test = [](const graph_event& o) { return o.mbarrier == mbarrier_op::test; };
    for (const graph_event* o : order) {
      if (o == nullptr || precedes(*o, e.base) || (o->update == 0 && e.update == 0)) {
        continue;
      }
      if (o->update == e.update ? !g.fences.empty() && (has_fence_before(g, *o) || has_fence_before(g, e))
                                : !is_test(e) || (!g.fences.empty() && has_fence_before(g, e))) {
        return false;
      }
    }
    const auto& reads = model::at(g.reads, location);
    return e.update == 0 || std::all_of(reads.begin(), reads.end(), [&](const graph_event* r) {
             return r->update == e.update || precedes(*r, e.base) ||
                    (is_test(*r) && (g.fences.empty() || !has_fence_before(g, *r)));
           });
  }

  /// Returns whether read `r` belongs to an update that hides a value.
  [[nodiscard]] bool hides_a_value(const graph& g, const graph_event& r) const {
    const thread_state& s = *model::at(model::at(g.threads, r.thread).states, r.number);
    const machine& m = model::at(state_.machines, r.thread);
    return r.update != 0 && ((r.value.unknown && m.may_round(s)) || m.uses_old_value(s));
  }

  /// Returns whether the sum of update `r` and the updates up to position `place` in the location's order is exact in every
  /// order of the additions. `s` is the state of the thread of `r` before this update.
  [[nodiscard]] bool sums_exactly(const graph& g, const graph_event& r, const thread_state& s, int place) const {
    const auto& order = model::at(g.order, r.location);
    const machine& m = model::at(state_.machines, r.thread);
    exact_sum sum(m.at(s));
    bool known = !m.is_unknown(s, 1);
    sum.add(m.operand(s, 1));
    for (; is_update(order, place); --place) {
      const graph_event& w = *model::at(order, place);
      const machine& other = model::at(state_.machines, w.thread);
      const thread_state& then = *model::at(model::at(g.threads, w.thread).states, w.number);
      known = known && !other.is_unknown(then, 1);
      sum.add(other.operand(then, 1));
    }
    const graph_event* const before = model::at(order, place);
    const wide_value first = before != nullptr ? before->value : state_.locations[r.location].initial;
    sum.add(first.low);
    return known && !first.unknown && sum.is_exact();
  }

  [[nodiscard]] bool keep_apart(const graph& g, int location) {
    const location_info& l = state_.locations[location];
    const memory_object& o = *state_.locations.object_of(l.address, l.bytes);
    apart_.add(o.address, o.bytes, l.address);
    begins_again_ = true;
    state_.report(g, check_status::gave_up, "the exploration starts over");
    return false;
  }

  /// Returns a copy of update `w` whose read takes its value from `source`.
  [[nodiscard]] const graph_event* read_again(graph& g, const graph_event& w, const graph_event* source) {
    auto* const read = new (state_.arena.take(sizeof(graph_event))) graph_event(*w.partner);
    auto* const write = new (state_.arena.take(sizeof(graph_event))) graph_event(w);
    thread_run& run = model::at(g.threads, w.thread);
    read->source = source;
    read->value = source != nullptr ? source->value : state_.locations[w.location].initial;
    if (w.mbarrier == mbarrier_op::none) {
      hide_rounded(g, *read, *model::at(run.states, read->number),
                   event_rules::place_in(model::at(g.order, w.location), source));
    }
    const auto [value, completes] = model::at(state_.machines, w.thread).updated(*model::at(run.states, w.number), read->value);
    write->partner = read;
    write->value = value;
    write->completes = completes;
    auto& reads = model::at(g.reads, w.location);
    std::replace(reads.begin(), reads.end(), w.partner, static_cast<const graph_event*>(read));
    model::at(run.events, read->number) = read;
    model::at(run.events, write->number) = write;
    std::vector<const graph_event*> heads;
    state_.rules.release(g, *write, heads);
    auto* const kept = static_cast<const graph_event**>(state_.arena.take(heads.size() * sizeof(heads[0]) + 1));
    std::copy(heads.begin(), heads.end(), kept);
    write->heads = {kept, heads.size()};
    return write;
  }

  exploration_state& state_;
  kept_apart& apart_;
  std::set<std::uint64_t> released_{};     ///< locations with an update that ends a release pattern
  std::set<std::uint64_t> acquired_{};     ///< locations with an update that begins an acquire pattern
  std::set<std::uint64_t> passed_over_{};  ///< locations with a single writer where reads skipped some of the writer's stores
  bool begins_again_ = false;
  bool hides_values_ = false;
  bool looks_past_ = false;
};

}  // namespace membar::check::detail
