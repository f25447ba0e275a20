// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Writes the output of membar-check as text, as JSON or as SARIF.
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

/// Returns a status as one word, for example "out-of-bounds".
[[nodiscard]] std::string status_word(check::check_status status);

/// A file that was explored.
struct checked_file {
  std::string path{};
  check::prepared_scenario prepared{};
  check::check_result result{};
  std::vector<std::string>
      warnings{};  ///< for a verified file: what was not checked, which races are not reported, and which readings were
                   ///< selected
  double seconds = 0;
};

/// Writes results as they become available.
class report {
 public:
  report() = default;
  virtual ~report() = default;
  report(const report&) = delete;
  report& operator=(const report&) = delete;

  /// Reports the status of a file and its findings.
  virtual void result(const checked_file& file) = 0;
  /// Reports a set of changes with which the file is verified.
  virtual void repairs(const checked_file& file, const check::repair_result& found, const check::order_costs& costs) = 0;
  /// Reports the memory orders of a verified file that are stronger than necessary.
  virtual void excess_orders(const checked_file& file, const check::excess_result& found, const check::order_costs& costs) = 0;
  /// Reports that a file cannot be read, or that something cannot be written after the file's result.
  virtual void error(const std::string& path, const std::string& message, bool has_result) = 0;
  /// Ends the output.
  virtual void end() = 0;
};

/// Writes one line per file, followed by its findings.
[[nodiscard]] std::unique_ptr<report> text_report(std::ostream& out, const request& how);

/// Writes one JSON document at the end. docs/membar_check.md describes it.
[[nodiscard]] std::unique_ptr<report> json_report(std::ostream& out);

/// Writes one document in SARIF 2.1.0 at the end. Source: OASIS, "Static Analysis Results Interchange Format (SARIF) Version
/// 2.1.0".
[[nodiscard]] std::unique_ptr<report> sarif_report(std::ostream& out);

}  // namespace membar_check
