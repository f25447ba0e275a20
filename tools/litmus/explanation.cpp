// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/explanation.hpp>

#include <membar/model/array.hpp>
#include <membar/model/causality.hpp>
#include <membar/model/enumerate.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/relation.hpp>

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

namespace membar::litmus_files {

namespace {

using namespace model;

/// A visitor that stores the first execution that satisfies a test's condition. The test must outlive the visitor.
class witness_finder final : public execution_visitor {
 public:
  explicit witness_finder(const test_view& test) noexcept : state_(test) {}

  [[nodiscard]] bool viable(const partial_execution& execution) override { return state_.viable(execution); }
  [[nodiscard]] bool observes(int thread, int reg) const override { return state_.observes(thread, reg); }
  [[nodiscard]] std::uint64_t observed_memory() const override { return state_.observed_memory(); }

  [[nodiscard]] bool accept(const partial_execution& execution) override {
    const bool more = state_.accept(execution);
    if (!more) {
      witness w;
      w.events.assign(execution.events().begin(), execution.events().end());
      for (int i = 0; i < count_of(w.events); ++i) {
        const event_set with_value =
            execution.facts().memory | execution.facts().shuffle_writes | execution.facts().shuffle_reads;
        w.values.push_back(contains(with_value, i) ? execution.value(i) : 0);
      }
      w.facts = execution.facts();
      w.choice = execution.choice();
      w.last = state_.last();
      w.choice.coherence = execution.coherence_that_ends_in(w.last);
      found_ = std::move(w);
    }
    return more;
  }

  [[nodiscard]] std::optional<witness>& found() noexcept { return found_; }

 private:
  state_finder state_;
  std::optional<witness> found_;
};

/// A relation, and the name that an explanation uses for it.
using named_relation = std::pair<std::string, const relation*>;

/// Returns a shortest path from one event to another, as named steps in the union of several relations. Returns an empty path
/// if there is none.
[[nodiscard]] std::vector<step> find_path(int count, const std::vector<named_relation>& edges, int from, int to) {
  std::vector<step> reached_by(static_cast<std::size_t>(count), {-1, -1, ""});
  std::vector<int> queue = {from};
  const auto visit = [&](int here, int next, const std::string& by) {
    if ((next != from || to == from) && at(reached_by, next).from < 0) {
      at(reached_by, next) = {here, next, by};
      queue.push_back(next);
    }
  };
  for (std::size_t n = 0; n < queue.size() && at(reached_by, to).from < 0; ++n) {
    for (const auto& [name_of, relates] : edges) {
      for (event_set s = (*relates)[queue[n]]; s != 0; s = rest(s)) {
        visit(queue[n], first(s), name_of);
      }
    }
  }
  std::vector<step> path;
  for (int here = to; at(reached_by, to).from >= 0 && (path.empty() || here != from); here = at(reached_by, here).from) {
    path.insert(path.begin(), at(reached_by, here));
  }
  return path;
}

/// Searches for the basis of a verdict. The test must outlive the explainer.
class explainer {
 public:
  explainer(const litmus_test& test, const search_options& options, const other_readings& rules)
      : view_(test.view()), options_(options), rules_(rules) {}

  [[nodiscard]] explanation run() {
    if (require_defined(view_.program, rules_, options_) == defined::by_atomicity_alone) {
      (void)decide(view_, rules_, options_);  // throws if there is no verdict for the test
    }
    explanation result;
    {
      witness_finder visitor(view_);
      result.counts = enumerator(view_.program, visitor, rules_, options_).run();
      result.shown = std::move(visitor.found());
      result.reachable = result.shown.has_value();
    }
    if (!result.reachable) {
      require_whole(result.counts, options_);
    }
    spend(result.counts);
    result.race = look_for_race(view_.program, options_.limit, rules_);
    if (!result.reachable) {
      try {
        find_rule(result);
      } catch (const limit_reached&) {
        result.given_up = true;
      }
    }
    return result;
  }

 private:
  /// Subtracts a search's steps from the limit, which never becomes less than 1.
  void spend(const statistics& counts) noexcept {
    if (options_.limit != 0) {
      options_.limit -= std::min(options_.limit - 1, counts.steps);
    }
  }

  void find_rule(explanation& result) {
    static constexpr rule candidates[] = {rule::axiom_causality_from_reads,
                                          rule::axiom_causality_reads_from,
                                          rule::cause_orders_writes,
                                          rule::axiom_atomicity,
                                          rule::atomics_of_any_size_are_serial,
                                          rule::axiom_sc_per_location,
                                          rule::axiom_no_thin_air,
                                          rule::morally_strong_writes_are_ordered,
                                          rule::waiting_ends};
    for (const rule one : candidates) {
      if (try_without({one}, result)) {
        return;
      }
    }
    for (const rule one : candidates) {
      for (const rule other : candidates) {
        if (one < other && try_without({one, other}, result)) {
          return;
        }
      }
    }
    (void)try_without({std::begin(candidates), std::end(candidates)}, result);
  }

  bool try_without(const std::vector<rule>& dropped, explanation& result) {
    every_rule_but rules = rules_;
    for (const rule one : dropped) {
      rules.drop(one);
    }
    witness_finder visitor(view_);
    spend(enumerator(view_.program, visitor, rules, options_).run());
    if (!visitor.found()) {
      return false;
    }
    result.shown = std::move(visitor.found());
    // of the dropped rules, keep those that this execution violates
    for (const rule one : dropped) {
      std::vector<step> cycle = cycle_of(*result.shown, one);
      if (!cycle.empty() || one == rule::waiting_ends) {
        if (result.cycle.empty()) {
          result.cycle = std::move(cycle);
        }
        result.broken.push_back(one);
      }
    }
    if (result.broken.empty()) {
      result.broken = dropped;
    }
    return true;
  }

  [[nodiscard]] static int source(const witness& w, int read) { return at(w.choice.source, read); }

  /// Returns the steps of cause(from, to): an observation, if there is one, followed by base causality.
  [[nodiscard]] std::vector<step> cause_path(const witness& w, int from, int to) const {
    const int count = count_of(w.events);
    relation api;
    for (const api_edge& edge : view_.program.api) {
      for (int i = 0; i < count; ++i) {
        for (int j = 0; j < count; ++j) {
          if (at(w.events, i).thread == edge.before && at(w.events, j).thread == edge.after) {
            api.add(i, j);
          }
        }
      }
    }
    for (const api_edge& launch : view_.program.launches) {
      for (int i = 0; i < count; ++i) {
        for (int j = 0; j < count; ++j) {
          if (at(w.events, i).thread == launch.before && at(w.events, j).thread == launch.after &&
              at(w.events, j).kind == event_kind::grid_wait) {
            api.add(i, j);
          }
        }
      }
    }
    const std::vector<named_relation> edges = {{"po", &w.facts.po},
                                               {"issue", &w.facts.issued},
                                               {"completion", &w.facts.completed},
                                               {"sync", &w.choice.sync},
                                               {"barrier", &w.choice.barrier_sync},
                                               {"fence-sc", &w.choice.fence_sc},
                                               {"api", &api}};
    std::vector<step> path = find_path(count, edges, from, to);
    for (event_set s = w.choice.observation[from]; s != 0 && path.empty(); s = rest(s)) {
      if (w.choice.cause.holds(first(s), to)) {
        path = find_path(count, edges, first(s), to);
        path.insert(path.begin(), {from, first(s), "obs"});
      }
    }
    return path;
  }

  [[nodiscard]] std::vector<step> cycle_of(const witness& w, rule broken) const {
    const auto with_cause = [&](int from, int to, const char* name, int end) {
      std::vector<step> result = {{from, to, name}};
      const std::vector<step> path = cause_path(w, to, end);
      result.insert(result.end(), path.begin(), path.end());
      return result;
    };
    const event_structure& f = w.facts;
    for (event_set s = f.reads; s != 0; s = rest(s)) {
      const int read = first(s);
      if (broken == rule::axiom_causality_reads_from && w.choice.cause.holds(read, source(w, read))) {
        return with_cause(source(w, read), read, "rf", source(w, read));
      }
      for (event_set t = w.choice.coherence[source(w, read)]; t != 0; t = rest(t)) {
        const int newer = first(t);
        if (broken == rule::axiom_causality_from_reads && w.choice.cause.holds(newer, read)) {
          return with_cause(read, newer, "fr", read);
        }
        const int write = at(w.events, read).partner;
        if (broken == rule::axiom_atomicity && write >= 0 && f.morally_strong.holds(read, newer) &&
            f.morally_strong.holds(newer, write) && w.choice.coherence.holds(newer, write)) {
          return {{read, newer, "fr"}, {newer, write, "co"}, {write, read, "rmw⁻¹"}};
        }
      }
    }
    if (broken == rule::cause_orders_writes) {
      return unordered_writes(w);
    }
    if (broken == rule::morally_strong_writes_are_ordered) {
      for (event_set s = f.writes & ~f.initial; s != 0; s = rest(s)) {
        const int one = first(s);
        for (event_set t = f.morally_strong[one] & f.writes & f.overlap[one]; t != 0; t = rest(t)) {
          if (!w.choice.coherence.holds(one, first(t)) && !w.choice.coherence.holds(first(t), one)) {
            return {{one, first(t), "neither co"}, {first(t), one, "nor co"}};
          }
        }
      }
    }
    if (broken == rule::atomics_of_any_size_are_serial) {
      event_structure facts = f;
      for (int i = 0; i < f.count; ++i) {
        for (int j = 0; j < f.count; ++j) {
          if (i != j && serial_atomics(rules_, view_.program, at(w.events, i), at(w.events, j))) {
            facts.serial.add(i, j);
          }
        }
      }
      const relation before = performed_before(w.choice, facts, w.events, f.reads);
      return shortest_cycle(w, {{"performed before", &before}});
    }
    if (broken == rule::axiom_no_thin_air) {
      relation rf;
      for (event_set s = f.reads; s != 0; s = rest(s)) {
        rf.add(source(w, first(s)), first(s));
      }
      return shortest_cycle(w, {{"rf", &rf}, {"dep", &f.dependency}});
    }
    if (broken == rule::axiom_sc_per_location) {
      relation rf;
      relation fr;
      relation co;
      for (event_set s = f.reads; s != 0; s = rest(s)) {
        if (f.morally_strong.holds(source(w, first(s)), first(s))) {
          rf.add(source(w, first(s)), first(s));
        }
        fr[first(s)] = w.choice.coherence[source(w, first(s))] & f.morally_strong[first(s)];
      }
      for (event_set s = f.writes; s != 0; s = rest(s)) {
        co[first(s)] = w.choice.coherence[first(s)] & f.morally_strong[first(s)];
      }
      return shortest_cycle(w, {{"rf", &rf}, {"co", &co}, {"fr", &fr}, {"po-loc", &f.po_loc}});
    }
    return {};
  }

  /// Returns the causality steps that order one write before another even though the final state requires the opposite order.
  [[nodiscard]] std::vector<step> unordered_writes(const witness& w) const {
    for (int pass = 0; pass < 2; ++pass) {
      for (event_set s = w.facts.writes; s != 0; s = rest(s)) {
        const int early = first(s);
        const int physical = at(w.events, early).physical;
        for (event_set t = w.choice.cause[early] & w.facts.writes & w.facts.overlap[early]; t != 0; t = rest(t)) {
          const bool final_value = at(w.last, physical) == early;
          if (final_value || (pass == 1 && w.choice.coherence.holds(first(t), early))) {
            std::vector<step> path = cause_path(w, early, first(t));
            path.push_back({first(t), early, final_value ? "final value" : "co"});
            return path;
          }
        }
      }
    }
    return {};
  }

  [[nodiscard]] static std::vector<step> shortest_cycle(const witness& w, const std::vector<named_relation>& edges) {
    std::vector<step> best;
    for (int i = 0; i < count_of(w.events); ++i) {
      std::vector<step> cycle = find_path(count_of(w.events), edges, i, i);
      if (!cycle.empty() && (best.empty() || cycle.size() < best.size())) {
        best = std::move(cycle);
      }
    }
    return best;
  }

  test_view view_;
  search_options options_;
  other_readings rules_;
};

}  // namespace

explanation find_explanation(const litmus_test& test, const search_options& options, const other_readings& rules) {
  return explainer(test, options, rules).run();
}

}  // namespace membar::litmus_files
