// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads the files that a command line names.
#pragma once

#include <membar/model/litmus_test.hpp>

#include <string>
#include <vector>

namespace membar::litmus_files {

/// The files that the paths on a command line refer to.
struct file_list {
  std::vector<std::string> files;          ///< in the order of the paths
  std::vector<std::string> empty_folders;  ///< the folders that contain no *.litmus file
};

/// Returns the litmus files that the paths refer to. A path to a folder refers to all *.litmus files in it and in its
/// subfolders, sorted by name.
[[nodiscard]] file_list files_of(const std::vector<std::string>& paths);

/// Reads the test in a file. Throws `model::error` if this fails or, with `strict`, if there is a remark about the test's text.
[[nodiscard]] model::litmus_test read_test(const std::string& path, bool strict);

/// Returns the remarks about a test's text, one per line, in the form "FILE: LINE:COLUMN: warning: TEXT".
[[nodiscard]] std::string warnings_of(const std::string& path, const model::litmus_test& test);

}  // namespace membar::litmus_files
