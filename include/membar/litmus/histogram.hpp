// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a run saw, in words: outcomes by name, each allowed or forbidden by the model, and what the numbers say about more runs.
#pragma once

#include <membar/litmus/runner.hpp>
#include <membar/litmus/test.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace membar::litmus {

/// One outcome that was seen, or that the model allows.
struct outcome {
  std::vector<std::int64_t> values;  ///< per observation
  std::vector<bool> unexpected;      ///< per observation: a value that the test cannot produce
  std::uint64_t count = 0;
  bool allowed = false;    ///< by the model
  bool satisfies = false;  ///< the test's condition
  std::string text;        ///< "P1:r0=1; P1:r1=0;"

  [[nodiscard]] bool corrupt() const noexcept;
};

/// A run and what it means.
struct report {
  std::string name;
  std::vector<outcome> outcomes;  ///< those seen, and those allowed and not seen; by their values
  run_result run{};
  std::string condition;  ///< as it was written
  model::quantifier quantified = model::quantifier::exists;
  std::uint64_t positive = 0;  ///< instances that satisfy the condition
  std::uint64_t negative = 0;
  bool condition_allowed = false;  ///< by the model

  /// Whether every outcome that was seen is allowed.
  [[nodiscard]] bool sound() const noexcept;
};

/// Names the outcomes of a run and asks the model about each. Throws `model::error` if the model cannot decide the test.
[[nodiscard]] report make_report(const runnable_test& test, const run_result& run);

/// The report in herd's words.
[[nodiscard]] std::string text_of(const report& r);
/// The report as one JSON object on one line.
[[nodiscard]] std::string json_of(const report& r);

/// With `seen` of `trials`, the largest rate that fits, with 95 % confidence: 3 / trials if none was seen.
[[nodiscard]] double rate_bound(std::uint64_t trials) noexcept;
/// The probability that a run as long sees none, where one saw `seen`.
[[nodiscard]] double chance_of_missing(std::uint64_t seen) noexcept;

}  // namespace membar::litmus
