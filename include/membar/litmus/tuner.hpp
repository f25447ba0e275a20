// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Searches the parameters under which a test shows the most of what it asks for, within a time.
#pragma once

#include <membar/litmus/parameters.hpp>
#include <membar/litmus/runner.hpp>
#include <membar/litmus/test.hpp>

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace membar::litmus {

struct tune_options {
  double seconds = 10.0;
  double trial_seconds = 0.1;
  std::uint64_t seed = 1;
};

/// One set of parameters that was tried, and how many of the wanted outcomes a second showed.
struct trial {
  parameters tried{};
  double wanted_per_second = 0;
  double instances_per_second = 0;
  std::string failure;  ///< a sentence, if it did not run
};

struct tune_result {
  parameters best{};
  std::vector<trial> log;  ///< in the order of trying
};

/// Which outcomes of a test the search wants: per outcome, whether it counts.
[[nodiscard]] std::vector<bool> wanted_outcomes(const runnable_test& test);

/// Tries parameters by `run`, which returns a trial's figures: random ones for the first half of the time, then neighbours of
/// the best. The same seed and the same figures give the same log.
[[nodiscard]] tune_result tune(const std::function<trial(const parameters&)>& run, const tune_options& options = {});
/// The same on an engine.
[[nodiscard]] tune_result tune(engine& on, const runnable_test& test, const tune_options& options = {});

}  // namespace membar::litmus
