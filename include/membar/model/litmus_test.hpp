// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A litmus test with its names, as read from a file.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/decide.hpp>
#include <membar/model/error.hpp>
#include <membar/model/program.hpp>
#include <membar/model/rules.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace model {

/// A register or a location that a test names, as a column of its table of outcomes.
struct observable {
  std::string name;  ///< "P0:r0" or "x"
  term what{};
};

/// A warning about a suspicious part of a test's text, with its position. The test still has a verdict.
struct remark {
  int line = 0;
  int column = 0;
  std::string text;
};

/// A litmus test with its names, as read from a file.
struct litmus_test {
  struct thread {
    int number = 0;  ///< the number n in Pn
    place where{};
    std::vector<instruction> code;
    std::vector<std::string> text;  ///< per instruction: its text as written
    std::vector<std::string> register_names;
    std::vector<std::int64_t> registers;
    std::vector<std::pair<std::string, int>> labels;  ///< each label's name, and the instruction that it precedes
  };

  std::string name;
  std::vector<std::string> location_names;  ///< for shared memory that exists in several blocks, "P0:x" is the location in P0's
                                            ///< block
  std::vector<location> locations;
  std::vector<thread> threads;
  std::vector<api_edge> api;
  std::vector<api_edge> launches;  ///< programmatic dependent launches
  int version = 0;                 ///< the PTX version, for example 92 for 9.2; 0 for the newest version
  std::vector<condition_node> condition;
  std::vector<condition_node> filter;
  quantifier quantified = quantifier::exists;
  bool has_condition = false;
  std::string condition_text;  ///< the condition as written, without the quantifier
  std::string filter_text;     ///< the filter as written
  /// the values that the condition names, in order; without a condition, the values that `locations` names
  std::vector<observable> observed;
  std::vector<remark> remarks;  ///< locations that are accessed but not declared

  /// Returns a view of the test, which `decide` accepts. The view is valid as long as the test exists and does not change.
  /// Views are independent of each other. Throws `error` for a test with more than 16 threads.
  [[nodiscard]] test_view view() const& {
    test_view result;
    result.program.locations = locations;
    for (const thread& t : threads) {
      result.program.add({t.where, t.code, t.registers});
    }
    result.program.api = api;
    result.program.launches = launches;
    result.program.version = version;
    result.condition = condition;
    result.quantified = quantified;
    result.filter = filter;
    return result;
  }
  test_view view() const&& = delete;  // the view would refer to a destroyed test
};

/// Returns a value as text: the name of a location for its address, and a number for anything else.
[[nodiscard]] inline std::string value_text(const litmus_test& test, std::int64_t value) {
  for (int i = 0; i < count_of(test.locations); ++i) {
    if (value == address_value(i)) {
      return "&" + at(test.location_names, i);
    }
  }
  return std::to_string(value);
}

/// Decides a test that was read from a file. Throws `error` if the test has no condition, and for the same reasons as `decide`
/// for the test's view.
template <class Rules = every_rule>
[[nodiscard]] decision decide(const litmus_test& test, const search_options& options = {}, Rules rules = {}) {
  if (!test.has_condition) {
    throw error("the test has no condition: expected exists, ~exists or forall");
  }
  return decide(test.view(), rules, options);
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
