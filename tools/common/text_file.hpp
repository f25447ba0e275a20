// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The text of a file, for every command.
#pragma once

#include <membar/model/error.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <system_error>

namespace membar_tools {

/// The text of a file. Throws `model::error` if it cannot be read.
[[nodiscard]] inline std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw membar::model::error("cannot open the file: it is a directory: give a file");
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    throw membar::model::error("cannot open the file: check that it exists and can be read");
  }
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (file.bad()) {
    throw membar::model::error("cannot read the file");
  }
  return text;
}

}  // namespace membar_tools
