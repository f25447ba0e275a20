// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The catalogue on disk, for the tests that walk through it.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <vector>

namespace membar::tests {

[[nodiscard]] inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Every litmus file below a folder, in the order of the names.
[[nodiscard]] inline std::vector<std::filesystem::path> litmus_files(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".litmus") {
      files.insert(entry.path());
    }
  }
  return {files.begin(), files.end()};
}

}  // namespace membar::tests
