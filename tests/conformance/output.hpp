// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The output of a campaign: lines for people, JSON for scripts.
#pragma once

#include "campaign.hpp"

#include <cstdio>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace conformance {

/// `std::snprintf` that returns a string of up to 255 characters.
[[nodiscard]] inline std::string printed(const char* format, auto... values) {
  char text[256];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

/// Keys and values that describe the machine.
using machine_description = std::vector<std::pair<std::string, std::string>>;

/// Formats one test as a line: its name, how often it ran, and the conclusion.
[[nodiscard]] std::string line_of(const test_result& t);

/// Formats the lines at the end of a campaign.
void write_summary(std::ostream& out, const suite& all, const campaign& done);

/// Formats the suite as JSON before any test runs: its tests, the types of their kernels, the model's verdict on each test at
/// its place, and the guarantees.
void write_list_json(std::ostream& out, const suite& all);

/// The results as JSON.
void write_json(std::ostream& out, const suite& all, const campaign& done, const machine_description& context);

/// Writes the results to a file as JSON. The file is replaced atomically, so it is complete at all times.
void write_json_file(const std::string& path, const suite& all, const campaign& done, const machine_description& context);

}  // namespace conformance
