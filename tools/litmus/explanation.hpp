// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds the basis of a test's verdict: an execution that shows the outcome, or the rule that forbids the outcome and the cycle
/// that violates that rule.
#pragma once

#include <membar/model/decide.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>
#include <membar/model/races.hpp>
#include <membar/model/rules.hpp>
#include <membar/model/search_options.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace membar::litmus_files {

/// One step of a cycle or a path: the relation `name` relates `from` to `to`.
struct step {
  int from = 0;
  int to = 0;
  std::string relation;
};

/// An execution, with all of the data that an explanation prints.
struct witness {
  std::vector<model::event> events;
  std::vector<std::int64_t> values;  ///< per event: the value that it reads or writes
  model::event_structure facts{};
  model::candidate choice{};
  std::array<int, model::max_events>
      last{};  ///< per physical location: the write of its final value, or -1 if that value is not needed
};

/// The basis of a test's verdict.
struct explanation {
  bool reachable = false;        ///< whether some execution satisfies the condition (for `forall`: violates it)
  std::optional<witness> shown;  ///< an execution that satisfies the condition, or one that only the rules in `broken` forbid
  std::vector<model::rule> broken;  ///< the rules that this execution violates; empty if `reachable`
  std::vector<step> cycle;          ///< the cycle of relations that the first broken rule forbids
  model::race_answer race;
  model::statistics counts{};
  bool given_up = false;  ///< whether the search for the rule was stopped because it reached its limit of steps
};

/// Finds the basis of a test's verdict. The limit applies to the total number of steps in all searches. Throws `model::error`
/// if the limit is too low for a verdict.
[[nodiscard]] explanation find_explanation(const model::litmus_test& test, const model::search_options& options = {},
                                           const model::other_readings& rules = {});

}  // namespace membar::litmus_files
