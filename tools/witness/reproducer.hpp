// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Writes a single-file program that demonstrates a finding on a GPU.
#pragma once

#include <check/scenario.hpp>
#include <witness/launcher.hpp>
#include <witness/plan.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace membar::witness {

/// Returns the text of launcher.hpp.
[[nodiscard]] std::string_view launcher_text() noexcept;

/// The contents of a reproducer.
struct reproducer_request {
  std::string title;         ///< the finding's title, which may have several lines
  check::scenario scenario;  ///< its final conditions decide whether a run failed
  watched_read watched{};    ///< decides whether a run failed if there is no final condition
  bool outside = false;      ///< whether a write outside all memory objects counts as an error
  const membar_witness::program* wrong = nullptr;
  const membar_witness::program* fixed = nullptr;  ///< the fixed form of the program; null if there is none
  membar_witness::delays chosen{};  ///< delays that have shown the error; if empty, the program tries random delays
  bool early = false;
};

/// Returns the source of a C++17 program. The program runs without delays, with delays and, if there is a fixed form, the fixed
/// form with delays. It prints how often each of them failed.
[[nodiscard]] std::string reproducer_of(const reproducer_request& request);

/// Returns a final condition as a C++ expression that refers to the image `end`.
[[nodiscard]] std::string expression_of(const std::string& condition, const check::scenario& s,
                                        const membar_witness::program& p);

}  // namespace membar::witness
