// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Compares the explorer with the model's enumerator. The two share only the definition of scopes.
#pragma once

#include <check/explore.hpp>
#include <check/graph.hpp>
#include <check/litmus_program.hpp>
#include <litmus/reader.hpp>
#include <membar/model/outcomes.hpp>
#include <membar/model/races.hpp>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

namespace membar_test {

namespace check = membar::check;
namespace model = membar::model;

/// Returns the final states of a test according to the model.
template <class Rules = model::every_rule>
[[nodiscard]] std::set<std::vector<std::int64_t>> states_of_model(const model::litmus_test& test, const Rules& rules = {}) {
  model::outcome_collector visitor(test);
  const model::test_view view = test.view();
  const model::search_options options(20'000'000);
  const model::statistics counts = model::enumerator(view.program, visitor, rules, options).run();
  model::require_whole(counts, options);
  return visitor.found();
}

/// The explorer's result for a test.
struct explored {
  check::program checked;
  check::check_result result;
  std::set<std::vector<std::int64_t>> states;
  std::uint64_t repeated = 0;  ///< The number of executions with the same reads-from and coherence as an earlier one.
};

/// Formats reads-from and coherence as text.
[[nodiscard]] inline std::string identity(const check::graph& g) {
  const auto name = [](const check::graph_event* e) {
    return e == nullptr ? std::string("i") : std::to_string(e->thread) + "." + std::to_string(e->number);
  };
  std::string text;
  for (const auto& line : g.threads) {
    for (const check::graph_event* e : line.events) {
      text += e->kind == model::event_kind::read ? name(e) + "<" + name(e->source) + " " : "";
    }
    text += std::to_string(line.events.size()) + ";";
  }
  std::vector<std::string> orders;
  for (const auto& order : g.order) {
    std::string one;
    for (const check::graph_event* e : order) {
      one += name(e) + " ";
    }
    if (order.size() > 1) {
      orders.push_back(one);
    }
  }
  std::sort(orders.begin(), orders.end());
  for (const std::string& one : orders) {
    text += "|" + one;
  }
  return text;
}

[[nodiscard]] inline explored explore_test(const model::litmus_test& test, bool load_buffering = true,
                                           const model::other_readings& readings = {}) {
  explored found;
  found.checked = check::program_of(test);
  std::set<std::string> seen;
  check::check_options options;
  options.most_events = 5'000'000;
  options.load_buffering = load_buffering;
  options.readings = readings;
  options.name_readings = false;  // each execution is found once
  found.result = check::explore(
      found.checked,
      [&](const check::final_memory& end) {
        found.repeated += seen.insert(identity(end.execution())).second ? 0 : 1;
        std::vector<std::int64_t> state;
        for (const model::observable& o : test.observed) {
          state.push_back(o.what.kind == model::term::kind_t::register_value
                              ? check::register_value(end, o.what.thread, o.what.index)
                              : check::memory_value(test, end, o.what.index));
        }
        found.states.insert(std::move(state));
        return std::string();
      },
      options);
  return found;
}

[[nodiscard]] inline std::string text_of(const std::set<std::vector<std::int64_t>>& states) {
  std::string text;
  for (const auto& state : states) {
    for (const std::int64_t v : state) {
      text += std::to_string(v) + " ";
    }
    text += "; ";
  }
  return text;
}

}  // namespace membar_test
