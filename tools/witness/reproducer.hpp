// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A program that shows a finding on a GPU, in one file.
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

/// What a reproducer consists of.
struct reproducer_request {
  std::string title;         ///< of the finding, in one line or more
  check::scenario scenario;  ///< whose final conditions decide
  watched_read watched{};    ///< decides where there is no final condition
  bool outside = false;      ///< a write outside of all memory is wrong
  const membar_witness::program* wrong = nullptr;
  const membar_witness::program* fixed = nullptr;  ///< null: there is none
  membar_witness::delays chosen{};                 ///< that were seen to show it; empty: random ones are tried
  bool early = false;
};

/// The source of a program in C++17: it runs without delays, with delays and, if there is a fixed form, that with delays, and prints how often
/// each went wrong.
[[nodiscard]] std::string reproducer_of(const reproducer_request& request);

/// A final condition as an expression in C++ on `end`, an image.
[[nodiscard]] std::string expression_of(const std::string& condition, const check::scenario& s,
                                        const membar_witness::program& p);

}  // namespace membar::witness
