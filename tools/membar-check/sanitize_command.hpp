// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// `membar-check sanitize`: executes scenarios at full size and looks for data races.
#pragma once

#include <string>
#include <vector>

namespace membar_check {

/// Runs the command with the words after `sanitize`. The exit status is 0 if nothing is found, 1 if something is, 2 for an error, and 3 where
/// something was cut or is not supported.
[[nodiscard]] int sanitize_command(const std::vector<std::string>& words);

}  // namespace membar_check
