// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The files that the paths on a command line stand for.
#pragma once

#include <membar/model/error.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>
#include <vector>

namespace litmus_command {

/// The files a path stands for: itself, or the tests below a folder in the order of their names.
[[nodiscard]] inline std::vector<std::string> files_of(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) {
    return {path};
  }
  std::vector<std::string> files;
  for (std::filesystem::recursive_directory_iterator
           entry(path, std::filesystem::directory_options::skip_permission_denied, ignored),
       end;
       entry != end; entry.increment(ignored)) {
    if (entry->path().extension() == ".litmus" && !entry->is_directory(ignored)) {
      files.push_back(entry->path().string());
    }
  }
  std::sort(files.begin(), files.end());
  return files;
}

/// The files that all paths stand for.
[[nodiscard]] inline std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const std::vector<std::string> below = files_of(path);
    files.insert(files.end(), below.begin(), below.end());
  }
  return files;
}

[[nodiscard]] inline std::string text_of(const std::string& path) {
  std::error_code ignored;
  std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    throw membar::model::error("cannot open the file");
  }
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) {
    throw membar::model::error("cannot read the file");
  }
  return text;
}

}  // namespace litmus_command
