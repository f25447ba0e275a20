// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The report of a run: the outcomes by name, whether the model allows each of them, and what the counts imply for further
/// runs.
#pragma once

#include <membar/litmus/engine.hpp>
#include <membar/litmus/parameters.hpp>
#include <membar/litmus/runnable_test.hpp>
#include <membar/model/decide.hpp>
#include <membar/model/enumerate.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/outcomes.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace litmus {

/// @name Statistics of a run
/// @{ Returns the rule-of-three upper bound (95 % confidence) on the rate of an outcome that did not occur; 1 for fewer than
/// three instances. The bound assumes independence, but instances in one step share the stress and are not fully independent.
[[nodiscard]] inline double rate_bound(std::uint64_t instances) noexcept {
  return instances < 3 ? 1.0 : 3.0 / static_cast<double>(instances);
}
/// Returns the probability that an equally long run never shows an outcome that this run showed `seen` times. The formula
/// assumes that instances are independent (a Poisson process). Counting slices instead of instances requires only a weaker
/// assumption.
[[nodiscard]] inline double chance_of_missing(std::uint64_t seen) noexcept { return std::exp(-static_cast<double>(seen)); }
/// @}

/// Returns the model test of `test`, with the observations of `test` in the same order.
[[nodiscard]] inline model::litmus_test model_question(const runnable_test& test) {
  model::litmus_test asked = test.model_test;
  asked.observed.clear();
  for (const observed_value& o : test.observed) {
    asked.observed.push_back(o.what);
  }
  return asked;
}

/// Returns the outcomes that the model allows, as values in the order of the test's observations. `limit` is the maximum number
/// of steps of the model's search; 0 means no limit. Throws `model::error` if the model cannot decide the test.
[[nodiscard]] inline std::set<std::vector<std::int64_t>> allowed_outcomes(const runnable_test& test,
                                                                          std::uint64_t limit = 300'000'000) {
  model::litmus_test asked = model_question(test);
  // an outcome that the filter excludes is not forbidden
  asked.filter.clear();
  model::outcome_collector visitor(asked);
  const model::test_view view = asked.view();
  model::require_defined(view.program, model::every_rule{}, limit);
  model::require_whole(model::enumerator(view.program, visitor, model::every_rule{}, limit).run(), limit);
  return visitor.found();
}

/// An outcome that was observed, or one that the model allows but the run did not show.
struct outcome {
  std::vector<std::int64_t> values;  ///< per observation; 0 if the value is unexpected
  std::vector<bool> unexpected;      ///< per observation: whether it is a value that no thread writes
  std::uint64_t count = 0;
  std::uint64_t slices = 0;  ///< a lower bound on the number of slices that showed the outcome
  bool allowed = false;      ///< whether the model allows the outcome
  bool satisfies = false;    ///< whether the outcome satisfies the test's condition
  bool filtered = false;     ///< whether the test's filter excludes the outcome
  std::string text;          ///< such as "P1:r0=1; P1:r1=0;"

  /// Returns whether memory held an unexpected value or a thread did not report, which means that the machine or the engine
  /// failed.
  [[nodiscard]] bool corrupt() const noexcept {
    return std::find(unexpected.begin(), unexpected.end(), true) != unexpected.end();
  }
};

namespace detail {

/// An outcome in the form that the model uses to evaluate conditions.
struct outcome_state {
  const runnable_test* test;
  const outcome* seen;

  [[nodiscard]] bool known(const model::term& t) const noexcept {
    const std::size_t o = find(t);
    return t.kind == model::term::kind_t::constant || (o < test->observed.size() && !seen->unexpected[o]);
  }
  [[nodiscard]] std::int64_t value(const model::term& t) const noexcept {
    return t.kind == model::term::kind_t::constant ? t.value : seen->values[find(t)];
  }

 private:
  [[nodiscard]] std::size_t find(const model::term& t) const noexcept {
    std::size_t o = 0;
    for (; o < test->observed.size(); ++o) {
      const model::term& what = test->observed[o].what.what;
      if (what.kind == t.kind && what.index == t.index &&
          (t.kind == model::term::kind_t::memory_value || what.thread == t.thread)) {
        break;
      }
    }
    return o;
  }
};

/// Fills in the members that follow from the values of outcome `o`.
inline void describe(const runnable_test& test, const std::set<std::vector<std::int64_t>>& allowed, outcome& o) {
  const outcome_state state{&test, &o};
  o.allowed = !o.corrupt() && allowed.count(o.values) != 0;
  o.filtered = !o.corrupt() && model::evaluate(test.model_test.filter, state) == model::truth::no;
  o.satisfies =
      test.model_test.has_condition && !o.filtered && model::evaluate(test.model_test.condition, state) == model::truth::yes;
  for (std::size_t i = 0; i < test.observed.size(); ++i) {
    o.text += (i == 0 ? "" : " ") + test.observed[i].what.name + "=" +
              (o.unexpected[i] ? "other" : model::value_text(test.model_test, o.values[i])) + ";";
  }
}

/// Returns the outcome that the engine counts as `key`.
[[nodiscard]] inline outcome outcome_of(const runnable_test& test, const std::set<std::vector<std::int64_t>>& allowed,
                                        std::uint64_t key) {
  outcome o;
  for (const observed_value& observed : test.observed) {
    const std::size_t digit = static_cast<std::size_t>(key % observed.radix());
    key /= observed.radix();
    const bool expected = digit < observed.values.size();
    o.values.push_back(expected ? observed.values[digit] : 0);
    o.unexpected.push_back(!expected);
  }
  describe(test, allowed, o);
  return o;
}

}  // namespace detail

/// The result of a run, compared with the model.
struct report {
  std::string name;
  std::string condition;  ///< as written in the test; empty if it has none
  model::quantifier quantified = model::quantifier::exists;
  /// the observed outcomes, ordered by values, followed by those that are allowed but were not observed
  std::vector<outcome> outcomes;
  run_result run{};
  std::uint64_t positive = 0;         ///< instances that satisfy the condition
  std::uint64_t negative = 0;         ///< instances that do not satisfy it; an instance that the filter excludes counts as
                                      ///< neither
  std::uint64_t positive_slices = 0;  ///< a lower bound on the number of slices with an instance that satisfies it
  bool condition_allowed = false;     ///< whether the model allows an outcome that satisfies it
  bool tuned = false;                 ///< whether the parameters are the best that a search found

  /// Returns whether the model allows every observed outcome.
  [[nodiscard]] bool sound() const noexcept {
    return std::all_of(outcomes.begin(), outcomes.end(), [](const outcome& o) { return o.count == 0 || o.allowed; });
  }
  /// Returns the number of instances whose outcome the filter does not exclude. Only these count toward the condition.
  [[nodiscard]] std::uint64_t relevant_instances() const noexcept { return positive + negative; }
  /// Returns how often the condition was satisfied, in herd's terms.
  [[nodiscard]] const char* frequency() const noexcept {
    return positive == 0 ? "Never" : negative == 0 ? "Always" : "Sometimes";
  }
};

/// Returns the report of a run; `allowed` contains the outcomes that the model allows.
[[nodiscard]] inline report make_report(const runnable_test& test, const run_result& run,
                                        const std::set<std::vector<std::int64_t>>& allowed) {
  report r;
  r.name = test.model_test.name;
  r.condition = test.model_test.has_condition ? test.model_test.condition_text : "";
  r.quantified = test.model_test.quantified;
  r.run = run;
  for (std::size_t key = 0; key < run.counts.size(); ++key) {
    if (run.counts[key] != 0) {
      outcome o = detail::outcome_of(test, allowed, key);
      o.count = run.counts[key];
      o.slices = key < run.slices_with.size() ? run.slices_with[key] : 0;
      if (!o.filtered) {
        (o.satisfies ? r.positive : r.negative) += o.count;
        r.positive_slices = std::max(r.positive_slices, o.satisfies ? o.slices : 0);
      }
      r.outcomes.push_back(std::move(o));
    }
  }
  std::sort(r.outcomes.begin(), r.outcomes.end(), [](const outcome& a, const outcome& b) {
    return std::tie(a.unexpected, a.values) < std::tie(b.unexpected, b.values);
  });
  const std::size_t seen = r.outcomes.size();
  for (const std::vector<std::int64_t>& values : allowed) {
    outcome o;
    o.values = values;
    o.unexpected.assign(values.size(), false);
    detail::describe(test, allowed, o);
    r.condition_allowed = r.condition_allowed || o.satisfies;
    const bool known = std::any_of(r.outcomes.begin(), r.outcomes.begin() + static_cast<std::ptrdiff_t>(seen),
                                   [&](const outcome& one) { return !one.corrupt() && one.values == values; });
    if (!known) {
      r.outcomes.push_back(std::move(o));
    }
  }
  return r;
}

/// Returns the report of a run. The model determines which outcomes are allowed.
[[nodiscard]] inline report make_report(const runnable_test& test, const run_result& run) {
  return make_report(test, run, allowed_outcomes(test));
}

namespace detail {

[[nodiscard]] inline std::string number_text(double value, const char* format = "%.3g") {
  char text[64] = {};
  std::snprintf(text, sizeof text, format, value);
  return text;
}

/// Returns a probability as text. A probability too small for a `double` is not printed as 0.
[[nodiscard]] inline std::string chance_text(double chance) { return chance > 0 ? number_text(chance) : "below 1e-300"; }

/// Returns `text` as a JSON string: in quotation marks, with escapes.
[[nodiscard]] inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (code < 0x20) {
      char escape[8] = {};
      std::snprintf(escape, sizeof escape, "\\u%04x", static_cast<unsigned>(code));
      out += escape;
    } else {
      out += (c == '"' || c == '\\' ? "\\" : "") + std::string(1, c);
    }
  }
  return out + "\"";
}

/// Returns the word that the report's column shows for an outcome.
[[nodiscard]] inline const char* mark_of(const outcome& o) noexcept {
  return o.corrupt() ? "corrupt" : o.allowed ? "allowed" : "forbidden";
}

[[nodiscard]] inline std::string padded(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

}  // namespace detail

/// Returns the report in herd's format, with a column for the model's verdict, and statistics at the end.
[[nodiscard]] inline std::string text_of(const report& r) {
  const char* const kind = r.quantified == model::quantifier::exists   ? "Allowed"
                           : r.quantified == model::quantifier::forall ? "Required"
                                                                       : "Forbidden";
  const char* const quantifier = r.quantified == model::quantifier::exists   ? "exists"
                                 : r.quantified == model::quantifier::forall ? "forall"
                                                                             : "~exists";
  std::size_t seen = 0;
  std::size_t count_width = 0;
  std::size_t text_width = 0;
  for (const outcome& o : r.outcomes) {
    seen += o.count != 0 ? 1 : 0;
    count_width = std::max(count_width, std::to_string(o.count).size());
    text_width = std::max(text_width, o.text.size());
  }
  std::string out =
      "Test " + r.name + " " + kind + "\nHistogram (" + std::to_string(seen) + " state" + (seen == 1 ? "" : "s") + ")\n";
  for (const outcome& o : r.outcomes) {
    if (o.count != 0) {
      out += detail::padded(std::to_string(o.count), count_width) + (o.satisfies ? " *> " : " :> ") +
             detail::padded(o.text, text_width) + "  " + detail::mark_of(o) + (o.filtered ? ", left out by the filter" : "") +
             "\n";
    }
  }
  for (const outcome& o : r.outcomes) {
    if (o.count == 0) {
      out += detail::padded("0", count_width) + (o.satisfies ? " *> " : " :> ") + detail::padded(o.text, text_width) +
             "  allowed, not observed\n";
    }
  }
  if (!r.condition.empty()) {
    const bool holds = r.quantified == model::quantifier::exists   ? r.positive != 0
                       : r.quantified == model::quantifier::forall ? r.negative == 0
                                                                   : r.positive == 0;
    out += std::string(holds ? "Ok" : "No") + "\nWitnesses\nPositive: " + std::to_string(r.positive) +
           " Negative: " + std::to_string(r.negative) + "\nCondition " + quantifier + " " + r.condition + "\nObservation " +
           r.name + " " + r.frequency() + " " + std::to_string(r.positive) + " " + std::to_string(r.negative) + "\n";
  }
  out += "Rate " + detail::number_text(r.run.rate()) + " instances/s in " + detail::number_text(r.run.seconds) + " s on " +
         r.run.device + ", " + (r.tuned ? "best parameters: " : "parameters: ") + text_of(r.run.used) + "\n";
  if (!r.condition.empty()) {
    const std::string model_says = r.condition_allowed ? "which the model allows" : "which the model forbids";
    if (r.positive != 0) {
      out += "Statistics: the condition, " + model_says + ", held " + std::to_string(r.positive) +
             " times: if instances were independent, an equally long run would miss it with probability " +
             detail::chance_text(chance_of_missing(r.positive)) + "\n";
      if (r.run.slices != 0) {
        out += "Statistics: it held in at least " + std::to_string(r.positive_slices) + " of " + std::to_string(r.run.slices) +
               " slices of the run: if only slices were independent, an equally long run would miss it with probability " +
               detail::chance_text(chance_of_missing(r.positive_slices)) + "\n";
      }
    } else {
      out += "Statistics: the condition, " + model_says + ", held in none of " + std::to_string(r.relevant_instances()) +
             " instances: if instances were independent, its rate would be below " +
             detail::number_text(rate_bound(r.relevant_instances())) +
             " with 95 % confidence, under these parameters on this machine\n";
    }
  }
  for (const outcome& o : r.outcomes) {
    if (o.count != 0 && !o.allowed) {
      out += std::string(o.corrupt() ? "Corrupt: " : "Forbidden: ") + o.text + " was observed " + std::to_string(o.count) +
             " times, and " + (o.corrupt() ? "no thread of the test writes such a value" : "the model does not allow it") +
             "\n";
    }
  }
  return out;
}

/// Returns the report as one JSON object on one line.
[[nodiscard]] inline std::string json_of(const report& r) {
  const auto word = [](bool b) { return std::string(b ? "true" : "false"); };
  const auto exact = [](double value) { return detail::number_text(value, "%.17g"); };
  std::string out =
      "{\"test\": " + detail::quoted(r.name) + ", \"quantifier\": " +
      detail::quoted(r.quantified == model::quantifier::exists   ? "exists"
                     : r.quantified == model::quantifier::forall ? "forall"
                                                                 : "~exists") +
      ", \"condition\": " + detail::quoted(r.condition) + ", \"condition_allowed\": " + word(r.condition_allowed) +
      ", \"sound\": " + word(r.sound()) + ", \"observation\": " + detail::quoted(r.frequency()) +
      ", \"positive\": " + std::to_string(r.positive) + ", \"negative\": " + std::to_string(r.negative) +
      ", \"instances\": " + std::to_string(r.run.instances) + ", \"steps\": " + std::to_string(r.run.steps) +
      ", \"seconds\": " + exact(r.run.seconds) + ", \"instances_per_second\": " + exact(r.run.rate()) +
      ", \"chance_of_missing\": " + exact(chance_of_missing(r.positive)) +
      ", \"rate_bound\": " + exact(rate_bound(r.relevant_instances())) + ", \"slices\": " + std::to_string(r.run.slices) +
      ", \"positive_slices\": " + std::to_string(r.positive_slices) + ", \"device\": " + detail::quoted(r.run.device) +
      ", \"seed\": " + std::to_string(r.run.layout.seed) + ", \"tuned\": " + word(r.tuned) +
      ", \"parameters\": " + detail::quoted(text_of(r.run.used)) + ", \"blocks\": " + std::to_string(r.run.layout.blocks) +
      ", \"stress_blocks\": " + std::to_string(r.run.stress_blocks) + ", \"outcomes\": [";
  for (std::size_t i = 0; i < r.outcomes.size(); ++i) {
    const outcome& o = r.outcomes[i];
    out += (i == 0 ? "" : ", ") + ("{\"state\": " + detail::quoted(o.text)) + ", \"count\": " + std::to_string(o.count) +
           ", \"slices\": " + std::to_string(o.slices) + ", \"model\": " + detail::quoted(detail::mark_of(o)) +
           ", \"satisfies\": " + word(o.satisfies) + ", \"filtered\": " + word(o.filtered) + "}";
  }
  return out + "]}";
}

}  // namespace litmus
}  // namespace v0_3
}  // namespace membar
