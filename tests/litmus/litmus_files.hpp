// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads litmus files from disk, for tests that iterate over the catalogue.
#pragma once

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <string>

namespace membar_test {

[[nodiscard]] inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

/// Returns every litmus file in a folder and its subfolders, sorted by name.
[[nodiscard]] inline std::set<std::filesystem::path> litmus_files(const std::filesystem::path& folder) {
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".litmus") {
      files.insert(entry.path());
    }
  }
  return files;
}

}  // namespace membar_test
