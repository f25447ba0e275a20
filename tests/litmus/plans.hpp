// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Code shared by the tests of runnable litmus files: the catalogue, run plans, and the model's answers. The model's search is
/// compiled only once, in plans.cpp.
#pragma once

#include "litmus_files.hpp"

#include <litmus/run_plan.hpp>
#include <membar/model/litmus_test.hpp>

#include <cstdint>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <vector>

namespace membar_test {

inline const std::filesystem::path catalogue = MEMBAR_LITMUS_CATALOGUE;

/// The plan of a test, or the reason why the test does not run.
struct plan_or_reason {
  std::unique_ptr<membar::litmus_files::run_plan> plan;
  std::string reason;
};
[[nodiscard]] plan_or_reason plan_of(const std::string& text);

/// Returns the texts that a pattern matches: "(ld|st) y" matches "ld y" and "st y".
[[nodiscard]] std::vector<std::string> expanded(const std::string& pattern);

/// Returns the test in a file.
[[nodiscard]] membar::model::litmus_test test_of(const std::string& text);

/// Returns the outcomes that the model allows, as `membar-litmus outcomes` prints them.
[[nodiscard]] std::vector<std::string> outcomes_of(const membar::model::litmus_test& test);

/// Returns the outcomes that the model allows, as the values of the test's observations.
[[nodiscard]] std::set<std::vector<std::int64_t>> allowed_values(const membar::model::litmus_test& test);

}  // namespace membar_test
