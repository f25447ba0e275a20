// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// `membar-check witness`: launches the kernels of a scenario with a finding. The launches run on a GPU, with delays that make
/// the error likely. See docs/witness.md.
#pragma once

#include <string>
#include <vector>

namespace membar_check {

/// Runs the command with the words after `witness` and returns the exit status.
[[nodiscard]] int witness_command(const std::vector<std::string>& words);

}  // namespace membar_check
