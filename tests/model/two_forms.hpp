// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Verdict tests for a program in two forms that differ in one place, which is written [[one=>other]]: the model allows the
/// final state in the first form and forbids it in the second. Each test names the section of the PTX ISA that determines this,
/// and a rule of the model without which one of the two verdicts would be different.
#pragma once

#include <litmus/reader.hpp>
#include <membar/model/decide.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <ostream>
#include <string>
#include <vector>

namespace membar_test {

/// A program in two forms, and the reason for their difference.
struct verdict {
  std::string name;
  std::string section;         ///< the section of the PTX ISA
  membar::model::rule needed;  ///< Without this rule, one of the two verdicts changes.
  std::string state;
  std::string places;           ///< the places of the threads
  std::vector<std::string> of;  ///< The instructions of each thread.
  std::string end;              ///< The final state that is allowed in one form and forbidden in the other.
};

inline std::ostream& operator<<(std::ostream& to, const verdict& v) { return to << v.name << " (" << v.section << ")"; }

/// Returns one form of a text: `[[one=>other]]` becomes `one` or `other`.
inline std::string form(std::string text, bool other) {
  for (std::size_t open = text.find("[["); open != std::string::npos; open = text.find("[[")) {
    const std::size_t arrow = text.find("=>", open);
    const std::size_t close = text.find("]]", open);
    const std::string kept = other ? text.substr(arrow + 2, close - arrow - 2) : text.substr(open + 2, arrow - open - 2);
    text.replace(open, close + 2 - open, kept);
  }
  return text;
}

/// Returns the first form of a test, or the other form.
inline membar::model::litmus_test program(const verdict& v, bool other) {
  std::vector<std::vector<std::string>> columns;
  std::size_t rows = 0;
  for (const std::string& thread : v.of) {
    const std::string code = form(thread, other);
    std::vector<std::string> column;
    for (std::size_t at = 0; at < code.size();) {
      const std::size_t end = code.find(';', at) == std::string::npos ? code.size() : code.find(';', at);
      if (code.find_first_not_of(' ', at) < end) {
        column.push_back(code.substr(at, end - at));
      }
      at = end + 1;
    }
    rows = column.size() > rows ? column.size() : rows;
    columns.push_back(column);
  }
  std::string text = "PTX " + v.name + "\n{ " + form(v.state, other) + " }\n" + form(v.places, other) + ";\n";
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t t = 0; t < columns.size(); ++t) {
      text += (t == 0 ? "" : " | ") + (row < columns[t].size() ? columns[t][row] : "");
    }
    text += ";\n";
  }
  return membar::litmus_files::read_litmus(text + "exists (" + form(v.end, other) + ")");
}

/// Expects the model to allow the first form's final state and to forbid the second form's, and expects one of the two verdicts
/// to change if the rule is switched off.
inline void expect_two_verdicts(const verdict& v) {
  const membar::model::litmus_test allowed = program(v, false);
  const membar::model::litmus_test forbidden = program(v, true);
  EXPECT_TRUE(decide(allowed).reachable) << "the first form is forbidden";
  EXPECT_FALSE(decide(forbidden).reachable) << "the second form is allowed";
  const membar::model::every_rule_but mutant(v.needed);
  EXPECT_TRUE(!decide(allowed.view(), mutant).reachable || decide(forbidden.view(), mutant).reachable)
      << "both verdicts also hold without the rule '" << name(v.needed) << "'";
}

inline std::string name_of(const testing::TestParamInfo<verdict>& one_of) { return one_of.param.name; }

/// Returns the error message that a program causes.
inline std::string error_of(const std::string& state, const std::string& places, const std::vector<std::string>& of) {
  try {
    (void)decide(program({"error", "", membar::model::rule::count, state, places, of, "true"}, false));
  } catch (const membar::model::error& e) {
    return e.what();
  }
  return "";
}

}  // namespace membar_test
