// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Why a test is decided as it is: one execution that shows the outcome, or the rule that forbids it and the circle that the
/// rule finds. As text, as JSON and as a picture for Graphviz.
#pragma once

#include <membar/model/decide.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/outcomes.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace membar::model {

/// How an explanation is printed.
enum class explanation_format { text, json, dot };

/// One step of a circle or of a path: `from` is related to `to` by the relation of that name.
struct step {
  int from = 0;
  int to = 0;
  std::string relation;
};

/// An execution with everything that is printed of it.
struct witness {
  std::vector<event> events;
  std::vector<std::int64_t> values;  ///< per event: what is read or written
  frame facts{};
  candidate choice{};
  std::array<int, max_events> last{};  ///< per physical location: the write that gives the final value, -1: not asked for
};

/// What `explain` finds out about a test.
struct explanation {
  bool reachable = false;        ///< some execution satisfies the condition (for `forall`: violates it)
  std::optional<witness> shown;  ///< that execution; or one that only the rules in `broken` forbid
  std::vector<rule> broken;      ///< empty if reachable
  std::vector<step> circle;      ///< what the first broken rule objects to
  statistics counts{};
};

/// Visitor that keeps the first execution that satisfies a condition.
class witness_seeker {
 public:
  witness_seeker(const test_view& test, bool wanted)
      : test_(test),
        wanted_(wanted),
        named_(named_memory(test.condition, test.program.locations) | named_memory(test.filter, test.program.locations)) {}

  template <class Enumerator>
  [[nodiscard]] bool viable(const Enumerator& execution) const {
    return seeker(test_, wanted_).viable(execution);
  }

  template <class Enumerator>
  [[nodiscard]] bool accept(const Enumerator& execution) {
    std::array<int, max_events> last{};
    last.fill(-1);
    const bool more = for_each_memory(execution, named_, last, [&](const auto& state) {
      return evaluate(test_.filter, state) != truth::yes ||
             evaluate(test_.condition, state) != (wanted_ ? truth::yes : truth::no);
    });
    if (!more) {
      witness w;
      w.events.assign(execution.events().begin(), execution.events().end());
      for (int i = 0; i < static_cast<int>(w.events.size()); ++i) {
        const event_kind kind = w.events[static_cast<std::size_t>(i)].kind;
        w.values.push_back(kind == event_kind::read || kind == event_kind::write ? execution.value(i) : 0);
      }
      w.facts = execution.facts();
      w.choice = execution.choice();
      w.last = last;
      found_ = std::move(w);
    }
    return more;
  }

  [[nodiscard]] std::optional<witness>& found() noexcept { return found_; }

 private:
  test_view test_;
  bool wanted_;
  std::uint64_t named_;
  std::optional<witness> found_;
};

/// A shortest path of named steps in the union of some relations, from one event to another; empty if there is none.
[[nodiscard]] inline std::vector<step> find_path(int count, const std::vector<std::pair<std::string, const relation*>>& edges,
                                                 int from, int to) {
  std::vector<int> before(static_cast<std::size_t>(count), -1);
  std::vector<std::size_t> by(static_cast<std::size_t>(count), 0);
  std::vector<int> queue = {from};
  bool reached = false;
  for (std::size_t at = 0; at < queue.size() && !reached; ++at) {
    for (std::size_t r = 0; r < edges.size() && !reached; ++r) {
      for (event_set s = (*edges[r].second)[queue[at]]; s != 0; s = rest(s)) {
        const int next = first(s);
        if (next != from || to == from) {
          if (before[static_cast<std::size_t>(next)] < 0) {
            before[static_cast<std::size_t>(next)] = queue[at];
            by[static_cast<std::size_t>(next)] = r;
            queue.push_back(next);
          }
          if (next == to) {
            reached = true;
            break;
          }
        }
      }
    }
  }
  std::vector<step> path;
  if (!reached) {
    return path;
  }
  for (int at = to; path.empty() || at != from;) {
    const int previous = before[static_cast<std::size_t>(at)];
    path.insert(path.begin(), {previous, at, edges[by[static_cast<std::size_t>(at)]].first});
    at = previous;
  }
  return path;
}

/// Finds out what a test's verdict rests on.
class explainer {
 public:
  explicit explainer(const litmus_test& test) : view_(test.view()), wanted_(test.quantified != quantifier::forall) {}

  [[nodiscard]] explanation run() {
    require_defined(view_.program);
    explanation result;
    {
      witness_seeker visitor(view_, wanted_);
      result.counts = enumerator<witness_seeker>(view_.program, visitor).run();
      result.shown = std::move(visitor.found());
      result.reachable = result.shown.has_value();
    }
    if (result.reachable) {
      return result;
    }
    static constexpr rule candidates[] = {rule::axiom_causality_from_reads,
                                          rule::axiom_causality_reads_from,
                                          rule::cause_orders_writes,
                                          rule::axiom_atomicity,
                                          rule::axiom_sc_per_location,
                                          rule::axiom_no_thin_air,
                                          rule::morally_strong_writes_are_ordered,
                                          rule::waiting_ends};
    for (const rule one : candidates) {
      if (try_without({one}, result)) {
        return result;
      }
    }
    for (const rule one : candidates) {
      for (const rule other : candidates) {
        if (one < other && try_without({one, other}, result)) {
          return result;
        }
      }
    }
    (void)try_without({std::begin(candidates), std::end(candidates)}, result);
    return result;
  }

 private:
  bool try_without(const std::vector<rule>& dropped, explanation& result) {
    every_rule_but rules;
    for (const rule one : dropped) {
      rules.dropped |= every_rule_but(one).dropped;
    }
    witness_seeker visitor(view_, wanted_);
    (void)enumerator<witness_seeker, every_rule_but>(view_.program, visitor, rules).run();
    if (!visitor.found()) {
      return false;
    }
    result.shown = std::move(visitor.found());
    // of the rules dropped, those that this execution breaks
    for (const rule one : dropped) {
      std::vector<step> circle = circle_of(*result.shown, one);
      if (!circle.empty() || one == rule::waiting_ends) {
        if (result.circle.empty()) {
          result.circle = std::move(circle);
        }
        result.broken.push_back(one);
      }
    }
    if (result.broken.empty()) {
      result.broken = dropped;
    }
    return true;
  }

  [[nodiscard]] static int source(const witness& w, int read) { return w.choice.source[static_cast<std::size_t>(read)]; }

  /// The steps behind cause(from, to): an observation first, if there is one, then base causality.
  [[nodiscard]] std::vector<step> cause_path(const witness& w, int from, int to) const {
    const int count = static_cast<int>(w.events.size());
    relation api;
    for (const api_edge& edge : view_.program.api) {
      for (int i = 0; i < count; ++i) {
        for (int j = 0; j < count; ++j) {
          if (w.events[static_cast<std::size_t>(i)].thread == edge.before &&
              w.events[static_cast<std::size_t>(j)].thread == edge.after) {
            api.add(i, j);
          }
        }
      }
    }
    const std::vector<std::pair<std::string, const relation*>> edges = {{"po", &w.facts.po},
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

  [[nodiscard]] std::vector<step> circle_of(const witness& w, rule broken) const {
    const auto with_cause = [&](int from, int to, const char* name, int end) {
      std::vector<step> result = {{from, to, name}};
      const std::vector<step> path = cause_path(w, to, end);
      result.insert(result.end(), path.begin(), path.end());
      return result;
    };
    const frame& f = w.facts;
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
        const int write = w.events[static_cast<std::size_t>(read)].partner;
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
    if (broken == rule::axiom_no_thin_air) {
      relation rf;
      for (event_set s = f.reads; s != 0; s = rest(s)) {
        rf.add(source(w, first(s)), first(s));
      }
      return any_circle(w, {{"rf", &rf}, {"dep", &f.dependency}});
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
      return any_circle(w, {{"rf", &rf}, {"co", &co}, {"fr", &fr}, {"po-loc", &f.po_loc}});
    }
    return {};
  }

  /// A write that causality puts before another although the final state wants it the other way round.
  [[nodiscard]] std::vector<step> unordered_writes(const witness& w) const {
    for (int pass = 0; pass < 2; ++pass) {
      for (event_set s = w.facts.writes; s != 0; s = rest(s)) {
        const int early = first(s);
        const int physical = w.events[static_cast<std::size_t>(early)].physical;
        for (event_set t = w.choice.cause[early] & w.facts.writes & w.facts.overlap[early]; t != 0; t = rest(t)) {
          const bool final_value = w.last[static_cast<std::size_t>(physical)] == early;
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

  [[nodiscard]] static std::vector<step> any_circle(const witness& w,
                                                    const std::vector<std::pair<std::string, const relation*>>& edges) {
    std::vector<step> best;
    for (int i = 0; i < static_cast<int>(w.events.size()); ++i) {
      std::vector<step> circle = find_path(static_cast<int>(w.events.size()), edges, i, i);
      if (!circle.empty() && (best.empty() || circle.size() < best.size())) {
        best = std::move(circle);
      }
    }
    return best;
  }

  test_view view_;
  bool wanted_;
};

/// Prints explanations.
class explanation_printer {
 public:
  explanation_printer(const litmus_test& test, const explanation& found) : test_(test), found_(found) {
    if (found.shown) {
      const witness& w = *found.shown;
      const int count = static_cast<int>(w.events.size());
      for (int i = 0; i < count; ++i) {
        used_ |= contains(w.facts.initial, i) ? 0 : only(i);
      }
      for (event_set s = w.facts.reads; s != 0; s = rest(s)) {
        used_ |= only(w.choice.source[static_cast<std::size_t>(first(s))]);
      }
      for (const int last : w.last) {
        used_ |= last >= 0 ? only(last) : 0;
      }
      gather();
    }
  }

  [[nodiscard]] std::string print(explanation_format format) const {
    return format == explanation_format::json ? json() : format == explanation_format::dot ? dot() : text();
  }

 private:
  void gather() {
    const witness& w = *found_.shown;
    const frame& f = w.facts;
    for (event_set s = f.reads; s != 0; s = rest(s)) {
      const int read = first(s);
      const int source = w.choice.source[static_cast<std::size_t>(read)];
      edges_.push_back({source, read, "rf"});
    }
    for (event_set s = f.writes & used_; s != 0; s = rest(s)) {
      const int write = first(s);
      for (event_set t = w.choice.coherence[write] & used_; t != 0; t = rest(t)) {
        bool direct = true;
        for (event_set m = w.choice.coherence[write] & used_; m != 0; m = rest(m)) {
          direct = direct && !w.choice.coherence.holds(first(m), first(t));
        }
        if (direct) {
          edges_.push_back({write, first(t), "co"});
        }
      }
    }
    for (event_set s = f.reads; s != 0; s = rest(s)) {
      const int read = first(s);
      for (event_set t = w.choice.coherence[w.choice.source[static_cast<std::size_t>(read)]] & used_; t != 0; t = rest(t)) {
        if (first(t) != w.events[static_cast<std::size_t>(read)].partner) {
          edges_.push_back({read, first(t), "fr"});
        }
      }
    }
    const std::pair<const char*, const relation*> more[] = {
        {"sync", &w.choice.sync}, {"barrier", &w.choice.barrier_sync}, {"fence-sc", &w.choice.fence_sc}};
    for (const auto& [name_of, edges] : more) {
      for (int i = 0; i < f.count; ++i) {
        for (event_set t = (*edges)[i]; t != 0; t = rest(t)) {
          edges_.push_back({i, first(t), name_of});
        }
      }
    }
  }

  [[nodiscard]] std::string letter(int index) const {
    std::string name;
    for (int n = index; n >= 0; n = n / 26 - 1) {
      name.insert(name.begin(), static_cast<char>('a' + n % 26));
    }
    return name;
  }

  [[nodiscard]] std::string thread_name(const event& e) const {
    return e.thread < 0 ? "init" : "P" + std::to_string(test_.threads[static_cast<std::size_t>(e.thread)].number);
  }

  [[nodiscard]] std::string written(const event& e) const {
    return e.thread < 0 ? std::string()
                        : test_.threads[static_cast<std::size_t>(e.thread)].text[static_cast<std::size_t>(e.instruction)];
  }

  [[nodiscard]] std::string action(int index) const {
    const event& e = found_.shown->events[static_cast<std::size_t>(index)];
    switch (e.kind) {
      case event_kind::read:
      case event_kind::write:
        return (e.kind == event_kind::read ? "R " : "W ") + test_.location_names[static_cast<std::size_t>(e.location)] + "=" +
               value_text(test_, found_.shown->values[static_cast<std::size_t>(index)]);
      case event_kind::fence:
        return "F";
      case event_kind::proxy_fence:
        return "PF";
      case event_kind::barrier:
        return "B";
    }
    return "";
  }

  [[nodiscard]] std::string verdict_word() const { return found_.reachable ? "allowed" : "forbidden"; }

  [[nodiscard]] std::string question() const {
    const std::string condition = test_.condition_text.empty() ? "any final state" : test_.condition_text;
    return test_.quantified == quantifier::forall ? "not " + condition : condition;
  }

  [[nodiscard]] std::string reason() const {
    if (found_.reachable) {
      return "one execution that shows it:";
    }
    if (!found_.shown) {
      return "no choice of paths and of reads-from gives these values.";
    }
    std::string rules;
    for (std::size_t i = 0; i < found_.broken.size(); ++i) {
      rules += (i == 0 ? "" : ", ") + std::string(name(found_.broken[i]));
    }
    return found_.broken.size() == 1 ? "the rule '" + rules + "' forbids it. Without that rule this execution would show it:"
                                     : "several rules forbid it (" + rules + "). Without them this execution would show it:";
  }

  [[nodiscard]] std::string text() const {
    std::string out = "Test " + test_.name + ": " + verdict_word() + "\n" + question() + "\n" + reason() + "\n";
    if (found_.shown) {
      out += "Events\n";
      for (event_set s = used_; s != 0; s = rest(s)) {
        const event& e = found_.shown->events[static_cast<std::size_t>(first(s))];
        std::string line = "  " + letter(first(s));
        line.resize(std::max<std::size_t>(line.size() + 1, 6), ' ');
        line += thread_name(e);
        line.resize(std::max<std::size_t>(line.size() + 1, 12), ' ');
        line += action(first(s));
        line.resize(std::max<std::size_t>(line.size() + 1, 26), ' ');
        line += written(e);
        while (line.back() == ' ') {
          line.pop_back();
        }
        out += line + "\n";
      }
      out += "Relations\n";
      for (const char* kind : {"rf", "co", "fr", "sync", "barrier", "fence-sc"}) {
        std::string line;
        for (const step& edge : edges_) {
          if (edge.relation == kind) {
            line += " " + letter(edge.from) + "->" + letter(edge.to);
          }
        }
        out += line.empty() ? "" : "  " + std::string(kind) + ":" + line + "\n";
      }
    }
    if (!found_.circle.empty()) {
      out += "Circle\n  " + letter(found_.circle.front().from) + " " + action(found_.circle.front().from);
      for (const step& s : found_.circle) {
        out += " --" + s.relation + "--> " + letter(s.to) + " " + action(s.to);
      }
      out += "\n";
    }
    out += "Checked " + std::to_string(found_.counts.candidates) + " candidate executions.\n";
    if (found_.counts.cut) {
      out += "A thread jumps backwards at most once here; longer runs were left out.\n";
    }
    return out;
  }

  [[nodiscard]] std::string json() const {
    std::string out = "{\"test\": " + quoted(test_.name) + ", \"verdict\": " + quoted(verdict_word()) +
                      ", \"condition\": " + quoted(question());
    out += ", \"rules\": [";
    for (std::size_t i = 0; i < found_.broken.size(); ++i) {
      out += (i == 0 ? "" : ", ") + quoted(name(found_.broken[i]));
    }
    out += "], \"events\": [";
    bool first_one = true;
    for (event_set s = used_; found_.shown && s != 0; s = rest(s)) {
      const event& e = found_.shown->events[static_cast<std::size_t>(first(s))];
      out += (first_one ? "" : ", ") + ("{\"id\": " + quoted(letter(first(s)))) + ", \"thread\": " + quoted(thread_name(e)) +
             ", \"action\": " + quoted(action(first(s))) + ", \"instruction\": " + quoted(written(e)) + "}";
      first_one = false;
    }
    out += "], \"relations\": " + steps(edges_) + ", \"circle\": " + steps(found_.circle);
    out += ", \"candidates\": " + std::to_string(found_.counts.candidates) +
           ", \"cut\": " + (found_.counts.cut ? "true" : "false") + "}\n";
    return out;
  }

  [[nodiscard]] std::string steps(const std::vector<step>& list) const {
    std::string out = "[";
    for (std::size_t i = 0; i < list.size(); ++i) {
      out += (i == 0 ? "" : ", ") + ("{\"from\": " + quoted(letter(list[i].from))) +
             ", \"relation\": " + quoted(list[i].relation) + ", \"to\": " + quoted(letter(list[i].to)) + "}";
    }
    return out + "]";
  }

  [[nodiscard]] std::string dot() const {
    std::string out = "digraph " + quoted(test_.name) + " {\n  label=" + quoted(test_.name + ": " + verdict_word()) +
                      ";\n  node [shape=plaintext, fontname=monospace];\n  edge [fontname=monospace, fontsize=10];\n";
    if (found_.shown) {
      const witness& w = *found_.shown;
      const auto in_circle = [&](int from, int to, const std::string& relation_name) {
        return std::any_of(found_.circle.begin(), found_.circle.end(),
                           [&](const step& s) { return s.from == from && s.to == to && s.relation == relation_name; });
      };
      for (int t = -1; t < static_cast<int>(test_.threads.size()); ++t) {
        out += "  subgraph cluster_" + std::to_string(t + 1) + " {\n    style=dotted;\n    label=" +
               quoted(t < 0 ? "init" : "P" + std::to_string(test_.threads[static_cast<std::size_t>(t)].number)) + ";\n";
        int previous = -1;
        for (event_set s = used_; s != 0; s = rest(s)) {
          const int i = first(s);
          if (w.events[static_cast<std::size_t>(i)].thread != t) {
            continue;
          }
          const std::string instruction = written(w.events[static_cast<std::size_t>(i)]);
          out += "    " + letter(i) +
                 "_ [label=" + quoted(letter(i) + ": " + action(i) + (instruction.empty() ? "" : "   " + instruction)) + "];\n";
          if (previous >= 0 && t >= 0) {
            out += "    " + letter(previous) + "_ -> " + letter(i) +
                   "_ [label=\"po\", color=" + (in_circle(previous, i, "po") ? "red, penwidth=2" : "gray") + "];\n";
          }
          previous = i;
        }
        out += "  }\n";
      }
      for (const step& edge : edges_) {
        out += "  " + letter(edge.from) + "_ -> " + letter(edge.to) + "_ [label=" + quoted(edge.relation) +
               (in_circle(edge.from, edge.to, edge.relation) ? ", color=red, penwidth=2"
                : edge.relation == "rf"                      ? ", color=darkgreen"
                : edge.relation == "co"                      ? ", color=blue"
                                                             : "") +
               ", weight=0];\n";
      }
    }
    return out + "}\n";
  }

  const litmus_test& test_;
  const explanation& found_;
  event_set used_ = 0;
  std::vector<step> edges_;
};

/// Explains the verdict of a test. Throws `error` if the test exceeds a limit or has no defined behaviour.
[[nodiscard]] inline std::string explain(const litmus_test& test, explanation_format format = explanation_format::text) {
  const explanation found = explainer(test).run();
  return explanation_printer(test, found).print(format);
}

}  // namespace membar::model
