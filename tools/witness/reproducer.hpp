// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Writes a program in a single file that shows a finding on a GPU.
#pragma once

#include <check/scenario.hpp>
#include <witness/launcher.hpp>
#include <witness/plan.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace membar::witness {

/// The text of launcher.hpp.
[[nodiscard]] std::string_view launcher_text() noexcept;

/// The contents of a reproducer.
struct reproducer_request {
  std::string title;         ///< the title of the finding, in one or more lines
  check::scenario scenario;  ///< its final conditions decide
  watched_read watched{};    ///< it decides if there is no final condition
  bool outside = false;      ///< a write outside of all memory counts as an error
  const membar_witness::program* wrong = nullptr;
  const membar_witness::program* fixed = nullptr;  ///< null: there is none
  membar_witness::delays chosen{};                 ///< delays that have shown the error; empty: random ones are tried
  bool early = false;
};

/// Returns the source of a program in C++17. It runs without delays, with delays and, if there is a fixed form, the fixed form
/// with delays, and prints how often each failed.
[[nodiscard]] std::string reproducer_of(const reproducer_request& request);

/// Returns a final condition as a C++ expression on `end`, an image.
[[nodiscard]] std::string expression_of(const std::string& condition, const check::scenario& s,
                                        const membar_witness::program& p);

}  // namespace membar::witness
