// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The files of a command line, and their texts.
#pragma once

#include <string>
#include <vector>

namespace membar_litmus {

/// The litmus files that the paths name, in their order. A folder stands for every *.litmus in it and below, sorted by name.
[[nodiscard]] std::vector<std::string> files_of(const std::vector<std::string>& paths);

/// The text of a file. Throws `model::error` if it cannot be read.
[[nodiscard]] std::string read_file(const std::string& path);

}  // namespace membar_litmus
