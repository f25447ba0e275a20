// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds and runs the programs of the CUDA toolkit.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace membar_check {

/// The path of a program: what the environment's `variable` says, or the one on the PATH, or that in /usr/local/cuda. Empty if there is none.
[[nodiscard]] std::string toolkit_program(std::string_view name, const char* variable);

/// Runs a program in `folder` (empty: here), with its output and its messages in two files, which may be the same. Returns its exit status; 127 if
/// it cannot be started.
[[nodiscard]] int run_program(const std::vector<std::string>& words, const std::string& folder, const std::string& output,
                              const std::string& messages);

}  // namespace membar_check
