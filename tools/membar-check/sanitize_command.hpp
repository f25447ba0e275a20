// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// `membar-check sanitize`: executes scenarios at full size and detects data races.
#pragma once

#include <string>
#include <vector>

namespace membar_check {

/// Runs the command with the words after `sanitize`. Returns the exit status: 0 if there are no findings, 1 if there are
/// findings, 2 for an error, and 3 if a schedule was cut short or something is not supported.
[[nodiscard]] int sanitize_command(const std::vector<std::string>& words);

}  // namespace membar_check
