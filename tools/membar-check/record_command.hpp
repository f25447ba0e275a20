// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// `membar-check record` and `membar-check attach`: create scenarios from a program's launches.
#pragma once

#include <string>
#include <vector>

namespace membar_check {

/// Runs a program and records its launches. `words` are the words after `record`. Returns the program's exit status, or 125 if
/// nothing was started.
[[nodiscard]] int record_command(const std::vector<std::string>& words);

/// Adds the PTX of a source to recorded scenarios. `words` are the words after `attach`. Returns the exit status: 0, or 2 if
/// something could not be read.
[[nodiscard]] int attach_command(const std::vector<std::string>& words);

}  // namespace membar_check
