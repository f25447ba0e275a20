// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Paths relative to the working directory.
#pragma once

#include <filesystem>
#include <string>

namespace membar_tools {

/// Returns the path relative to the working directory, or an empty string if the path is not inside that folder.
[[nodiscard]] inline std::string path_in_working_folder(const std::string& path) {
  const std::filesystem::path whole = std::filesystem::absolute(path).lexically_normal();
  const std::filesystem::path relative = whole.lexically_relative(std::filesystem::current_path());
  return relative.empty() || *relative.begin() == ".." ? std::string() : relative.string();
}

/// Returns the path as messages show it: relative to the working directory if the path is inside that folder, and unchanged
/// otherwise.
[[nodiscard]] inline std::string short_path(const std::string& path) {
  const std::string inside = path.starts_with('/') ? path_in_working_folder(path) : std::string();
  return inside.empty() ? path : inside;
}

}  // namespace membar_tools
