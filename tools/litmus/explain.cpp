// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/explain.hpp>

#include <litmus/explanation.hpp>
#include <litmus/json_document.hpp>
#include <litmus/missing_instruction.hpp>
#include <membar/model/array.hpp>
#include <membar/model/causality.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

namespace membar::litmus_files {

using namespace model;

namespace {

/// Returns the text in quotation marks, with special characters escaped.
[[nodiscard]] std::string quoted(const std::string& text) { return text_of(text); }

/// Prints explanations.
class explanation_printer {
 public:
  explanation_printer(const litmus_test& test, const explanation& found, const other_readings& rules)
      : test_(test), found_(found), rules_(rules) {
    if (found.shown) {
      const witness& w = *found.shown;
      const int count = count_of(w.events);
      for (int i = 0; i < count; ++i) {
        used_ |= contains(w.facts.initial, i) ? 0 : only(i);
      }
      for (event_set s = w.facts.reads; s != 0; s = rest(s)) {
        used_ |= only(at(w.choice.source, first(s)));
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
    const event_structure& f = w.facts;
    for (event_set s = f.reads; s != 0; s = rest(s)) {
      const int read = first(s);
      const int source = at(w.choice.source, read);
      edges_.push_back({source, read, "rf"});
    }
    for (event_set s = f.shuffle_reads; s != 0; s = rest(s)) {
      edges_.push_back({at(w.choice.source, first(s)), first(s), "shuffle"});
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
      for (event_set t = w.choice.coherence[at(w.choice.source, read)] & used_; t != 0; t = rest(t)) {
        if (first(t) != at(w.events, read).partner) {
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
    return e.thread < 0 ? "init" : "P" + std::to_string(at(test_.threads, e.thread).number);
  }

  [[nodiscard]] std::string written(const event& e) const {
    return e.thread < 0 ? std::string() : at(at(test_.threads, e.thread).text, e.instruction);
  }

  [[nodiscard]] std::string action(int index) const {
    const event& e = at(found_.shown->events, index);
    switch (e.kind) {
      case event_kind::read:
      case event_kind::write:
        return (e.kind == event_kind::read ? "R " : "W ") + at(test_.location_names, e.location) + "=" +
               value_text(test_, at(found_.shown->values, index));
      case event_kind::fence:
        return "F";
      case event_kind::proxy_fence:
        return "PF";
      case event_kind::barrier:
        return e.issue >= 0 ? "C" : "B";
      case event_kind::initialization:
        return "initializes";
      case event_kind::issue:
        return "starts";
      case event_kind::commit:
        return "commits";
      case event_kind::group_wait:
      case event_kind::grid_wait:
        return "waits";
      case event_kind::shuffle_write:
      case event_kind::shuffle_read:
        return (e.kind == event_kind::shuffle_write ? "shuffle W " : "shuffle R ") +
               value_text(test_, at(found_.shown->values, index));
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
    if (found_.given_up) {
      return "the search for the rule that forbids it reached its step limit.";
    }
    if (!found_.shown) {
      return "no combination of control flow and reads-from yields these values.";
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
        const event& e = at(found_.shown->events, first(s));
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
      for (const char* kind : {"rf", "co", "fr", "sync", "barrier", "fence-sc", "shuffle"}) {
        std::string line;
        for (const step& edge : edges_) {
          if (edge.relation == kind) {
            line += " " + letter(edge.from) + "->" + letter(edge.to);
          }
        }
        out += line.empty() ? "" : "  " + std::string(kind) + ":" + line + "\n";
      }
    }
    out += early_use();
    if (!found_.cycle.empty()) {
      out += "Cycle\n  " + letter(found_.cycle.front().from) + " " + action(found_.cycle.front().from);
      for (const step& s : found_.cycle) {
        out += " --" + s.relation + "--> " + letter(s.to) + " " + action(s.to);
      }
      out += "\n";
    }
    out += found_.race.found      ? "Data race: " + race_text(test_, found_.race.found) + ".\n"
           : found_.race.searched ? "No execution has a data race.\n"
                                  : "The search for data races did not finish.\n";
    out += "Checked " + std::to_string(found_.counts.candidates) + " candidate executions.\n";
    if (found_.counts.cut.thread >= 0) {
      out += "Only runs in which each thread jumps backwards at most once were checked.\n";
    }
    return out;
  }

  /// Returns a sentence about an mbarrier that is used before its initialization, or an empty string if there is none.
  [[nodiscard]] std::string early_use() const {
    for (event_set s = found_.shown ? found_.shown->choice.uninitialized : 0; s != 0; s = rest(s)) {
      const witness& w = *found_.shown;
      if (!is_initialized_before(w.choice, rules_, w.facts, w.events, first(s))) {
        const event& e = at(w.events, first(s));
        return "Undefined: " + at(test_.location_names, e.location) + " may be used by " + thread_name(e) + " '" + written(e) +
               "' (" + letter(first(s)) + ") before it is initialized. In that case, the mbarrier does not block any thread.\n";
      }
    }
    return "";
  }

  [[nodiscard]] std::string json() const {
    nlohmann::ordered_json out = document("explanation");
    out["test"] = test_.name;
    out["verdict"] = verdict_word();
    out["condition"] = question();
    out["rules"] = nlohmann::ordered_json::array();
    for (const rule one : found_.broken) {
      out["rules"].push_back(name(one));
    }
    out["events"] = nlohmann::ordered_json::array();
    for (event_set s = used_; found_.shown && s != 0; s = rest(s)) {
      const event& e = at(found_.shown->events, first(s));
      out["events"].push_back(
          {{"id", letter(first(s))}, {"thread", thread_name(e)}, {"action", action(first(s))}, {"instruction", written(e)}});
    }
    out["race"] = nullptr;
    if (found_.race.found) {
      out["race"] = race_text(test_, found_.race.found);
    }
    out["relations"] = steps(edges_);
    out["cycle"] = steps(found_.cycle);
    out["candidates"] = found_.counts.candidates;
    out["cut"] = found_.counts.cut.thread >= 0;
    return text_of(out) + "\n";
  }

  [[nodiscard]] nlohmann::ordered_json steps(const std::vector<step>& list) const {
    nlohmann::ordered_json out = nlohmann::ordered_json::array();
    for (const step& s : list) {
      out.push_back({{"from", letter(s.from)}, {"relation", s.relation}, {"to", letter(s.to)}});
    }
    return out;
  }

  [[nodiscard]] std::string dot() const {
    std::string out = "digraph " + quoted(test_.name) + " {\n  label=" + quoted(test_.name + ": " + verdict_word()) +
                      ";\n  node [shape=plaintext, fontname=monospace];\n  edge [fontname=monospace, fontsize=10];\n";
    if (found_.shown) {
      const witness& w = *found_.shown;
      const auto in_cycle = [&](int from, int to, const std::string& relation_name) {
        return std::any_of(found_.cycle.begin(), found_.cycle.end(),
                           [&](const step& s) { return s.from == from && s.to == to && s.relation == relation_name; });
      };
      for (int t = -1; t < count_of(test_.threads); ++t) {
        out += "  subgraph cluster_" + std::to_string(t + 1) + " {\n    style=dotted;\n    label=" +
               quoted(t < 0 ? "init" : "P" + std::to_string(at(test_.threads, t).number)) + ";\n";
        int previous = -1;
        for (event_set s = used_; s != 0; s = rest(s)) {
          const int i = first(s);
          if (at(w.events, i).thread != t) {
            continue;
          }
          const std::string instruction = written(at(w.events, i));
          out += "    " + letter(i) +
                 "_ [label=" + quoted(letter(i) + ": " + action(i) + (instruction.empty() ? "" : "   " + instruction)) + "];\n";
          if (previous >= 0 && t >= 0) {
            out += "    " + letter(previous) + "_ -> " + letter(i) +
                   "_ [label=\"po\", color=" + (in_cycle(previous, i, "po") ? "red, penwidth=2" : "gray") + "];\n";
          }
          previous = i;
        }
        out += "  }\n";
      }
      for (const step& edge : edges_) {
        out += "  " + letter(edge.from) + "_ -> " + letter(edge.to) + "_ [label=" + quoted(edge.relation) +
               (in_cycle(edge.from, edge.to, edge.relation) ? ", color=red, penwidth=2"
                : edge.relation == "rf"                     ? ", color=darkgreen"
                : edge.relation == "co"                     ? ", color=blue"
                                                            : "") +
               ", weight=0];\n";
      }
    }
    return out + "}\n";
  }

  const litmus_test& test_;
  const explanation& found_;
  const other_readings& rules_;
  event_set used_ = 0;
  std::vector<step> edges_;
};

}  // namespace

std::string race_text(const litmus_test& test, const data_race& race) {
  const auto text = [&](const data_race::access& a) {
    const litmus_test::thread& t = at(test.threads, a.thread);
    return "P" + std::to_string(t.number) + " '" + at(t.text, a.instruction) + "'";
  };
  std::string out = text(race.accesses[0]) + " and " + text(race.accesses[1]);
  constexpr std::size_t most = 280;
  for (int r = 0; r < race.read_count; ++r) {
    const data_race::earlier_read& read = at(race.reads, r);
    const std::string more = (r == 0 ? ", where " : " and ") + text(read.at) + " reads " + value_text(test, read.value);
    if (out.size() + more.size() > most) {
      break;
    }
    out += more;
  }
  return out;
}

std::string explain(const litmus_test& test, explanation_format format, const search_options& options,
                    const other_readings& rules) {
  const explanation found = find_explanation(test, options, rules);
  std::string printed = explanation_printer(test, found, rules).print(format);
  if (format == explanation_format::text) {
    printed += missing_instruction(test, options, rules);
  }
  return printed;
}

}  // namespace membar::litmus_files
