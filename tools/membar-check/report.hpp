// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a run of membar-check writes, as text, as JSON or as SARIF.
#pragma once

#include <check/order_costs.hpp>
#include <check/program.hpp>
#include <check/repair.hpp>
#include <check/scenario.hpp>
#include <membar-check/request.hpp>

#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace membar_check {

namespace check = membar::check;

/// "out-of-bounds": a status as one word.
[[nodiscard]] std::string status_word(check::check_status status);

/// A file that was explored.
struct checked_file {
  std::string path{};
  check::prepared_scenario prepared{};
  check::check_result result{};
  std::vector<std::string>
      warnings{};  ///< of a verified file: what it leaves out, races that are not reported, and chosen readings
  double seconds = 0;
};

/// Writes results as they come.
class report {
 public:
  report() = default;
  virtual ~report() = default;
  report(const report&) = delete;
  report& operator=(const report&) = delete;

  /// The status of a file, and what was found.
  virtual void result(const checked_file& file) = 0;
  /// What makes the file verified.
  virtual void repairs(const checked_file& file, const check::repair_result& found, const check::order_costs& costs) = 0;
  /// The orders of a verified file that are stronger than it needs.
  virtual void excess_orders(const checked_file& file, const check::excess_result& found, const check::order_costs& costs) = 0;
  /// A file that cannot be read or, after its result, what cannot be written of it.
  virtual void error(const std::string& path, const std::string& message, bool has_result) = 0;
  /// Nothing more comes.
  virtual void end() = 0;
};

/// One line per file, and what was found below it.
[[nodiscard]] std::unique_ptr<report> text_report(std::ostream& out, const request& how);

/// One document, which is written in the end: docs/membar_check.md describes it.
[[nodiscard]] std::unique_ptr<report> json_report(std::ostream& out);

/// One document in SARIF 2.1.0, which is written in the end. Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version 2.1.0".
[[nodiscard]] std::unique_ptr<report> sarif_report(std::ostream& out);

}  // namespace membar_check
