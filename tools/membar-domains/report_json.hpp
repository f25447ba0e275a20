// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Writes the reports as JSON for other programs. Each document has a "format" and a "version". The name of a member that
/// contains a time includes the unit.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "membar-domains/check.hpp"
#include "membar-domains/gain.hpp"
#include "membar-domains/overlap.hpp"

namespace membar_domains {

using json = nlohmann::ordered_json;

/// Returns a document with its format, membar-domains.<action>, and its version.
[[nodiscard]] json document(const std::string& action);

/// Adds a report's members to `into`.
void add(json& into, const overlap_report& report);
void add(json& into, const check_report& report);
void add(json& into, const gain_report& report, bool whole_runs = false);

/// Returns a number rounded to this many digits after the decimal point.
[[nodiscard]] double rounded(double value, int digits = 3);

/// Returns the document with line breaks, for files that users read.
[[nodiscard]] std::string file_text(const json& document);
[[nodiscard]] std::string line_text(const json& document);

}  // namespace membar_domains
