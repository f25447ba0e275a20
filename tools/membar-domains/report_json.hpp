// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The reports as JSON, for other programs. Each document has its "format" and "version"; times have their unit in their name.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "membar-domains/check.hpp"
#include "membar-domains/gain.hpp"
#include "membar-domains/overlap.hpp"

namespace membar_domains {

using json = nlohmann::ordered_json;

/// A document that begins with its format, membar-domains.<action>, and version.
[[nodiscard]] json document(const std::string& action);

/// `into` gets the members.
void add(json& into, const overlap_report& report);
void add(json& into, const check_report& report);
void add(json& into, const gain_report& report, bool whole_runs = false);

/// A number with this many digits after the point.
[[nodiscard]] double rounded(double value, int digits = 3);

/// The document as a file has it, which a person reads, or in one line.
[[nodiscard]] std::string file_text(const json& document);
[[nodiscard]] std::string line_text(const json& document);

}  // namespace membar_domains
