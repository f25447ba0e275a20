// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The files of a command line, and their texts.
#pragma once

#include <membar/model/litmus_test.hpp>

#include <string>
#include <vector>

namespace membar::litmus_files {

/// The files that the paths of a command line name.
struct file_list {
  std::vector<std::string> files;          ///< in the order of the paths
  std::vector<std::string> empty_folders;  ///< folders that contain no *.litmus
};

/// Returns the litmus files that the paths name. A folder stands for every *.litmus in it and its subfolders, sorted by name.
[[nodiscard]] file_list files_of(const std::vector<std::string>& paths);

/// Reads the test in a file. Throws `model::error` if that fails and, if `strict`, for the first remark about its text.
[[nodiscard]] model::litmus_test read_test(const std::string& path, bool strict);

/// Returns the remarks about a test's text, one per line, as "FILE: LINE:COLUMN: warning: TEXT".
[[nodiscard]] std::string warnings_of(const std::string& path, const model::litmus_test& test);

}  // namespace membar::litmus_files
