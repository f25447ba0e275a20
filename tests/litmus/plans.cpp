// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plans.hpp"

#include <litmus/reader.hpp>
#include <membar/model/outcomes.hpp>

#include <exception>
#include <sstream>

namespace membar_test {

namespace model = membar::model;

plan_or_reason plan_of(const std::string& text) {
  plan_or_reason made;
  try {
    made.plan = std::make_unique<membar::litmus_files::run_plan>(test_of(text));
  } catch (const std::exception& e) {
    made.reason = e.what();
  }
  return made;
}

std::vector<std::string> expanded(const std::string& pattern) {
  const std::size_t open = pattern.find('(');
  if (open == std::string::npos) {
    return {pattern};
  }
  const std::size_t close = pattern.find(')');
  std::istringstream alternatives(pattern.substr(open + 1, close - open - 1));
  std::vector<std::string> all;
  for (std::string one; std::getline(alternatives, one, '|');) {
    for (const std::string& rest : expanded(pattern.substr(close + 1))) {
      all.push_back(pattern.substr(0, open) + one + rest);
    }
  }
  return all;
}

model::litmus_test test_of(const std::string& text) { return membar::litmus_files::read_litmus(text); }

std::vector<std::string> outcomes_of(const model::litmus_test& test) { return model::outcomes(test); }

std::set<std::vector<std::int64_t>> allowed_values(const model::litmus_test& test) {
  model::outcome_collector visitor(test);
  const model::test_view view = test.view();
  model::enumerator(view.program, visitor).run();
  return visitor.found();
}

}  // namespace membar_test
