// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "plans.hpp"

#include <membar/model/litmus_file.hpp>
#include <membar/model/outcomes.hpp>

#include <exception>

namespace membar_test {

namespace model = membar::model;

plan_or_reason plan_of(const std::string& text) {
  plan_or_reason made;
  try {
    made.plan = std::make_unique<membar_litmus::run_plan>(test_of(text));
  } catch (const std::exception& e) {
    made.reason = e.what();
  }
  return made;
}

model::litmus_test test_of(const std::string& text) { return model::read_litmus(text); }

std::vector<std::string> outcomes_of(const model::litmus_test& test) { return model::outcomes(test); }

std::set<std::vector<std::int64_t>> allowed_values(const model::litmus_test& test) {
  model::outcome_collector visitor(test);
  const model::test_view view = test.view();
  model::enumerator(view.program, visitor).run();
  return visitor.found();
}

}  // namespace membar_test
