// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// `membar-check lint`: looks for wrong patterns in kernels without running them.
#pragma once

#include <string>
#include <vector>

namespace membar_check {

/// Runs the command with the words after `lint`. The exit status is 0, or 1 if there is a warning with at least the confidence
/// of `--fail-on`, or 2 if something could not be read.
[[nodiscard]] int lint_command(const std::vector<std::string>& words);

}  // namespace membar_check
