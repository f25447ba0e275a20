// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds and runs CUDA toolkit programs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace membar_check {

/// Returns the path of a program: the value of the environment variable, or the program on the PATH, or the program in
/// /usr/local/cuda. Returns an empty string if there is none.
[[nodiscard]] std::string toolkit_program(std::string_view name, const char* variable);

/// Runs a program in `folder`, or in the current folder if `folder` is empty. Its standard output and standard error are
/// written to two files, which may be the same. Returns its exit status, or 127 if it cannot be started.
[[nodiscard]] int run_program(const std::vector<std::string>& words, const std::string& folder, const std::string& output,
                              const std::string& messages);

}  // namespace membar_check
