// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// `membar-check lint`: searches kernels for error patterns without running them.
#pragma once

#include <string>
#include <vector>

namespace membar_check {

/// Runs the command with the words after `lint`. Returns the exit status: 1 if a warning has at least the confidence that
/// `--fail-on` specifies, 2 if something could not be read, and otherwise 0.
[[nodiscard]] int lint_command(const std::vector<std::string>& words);

}  // namespace membar_check
