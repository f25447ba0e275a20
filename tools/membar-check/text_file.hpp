// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The text of a file.
#pragma once

#include <membar/model/error.hpp>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace membar_check {

/// The text of a file. Throws `model::error` if it cannot be read.
[[nodiscard]] inline std::string read_file(const std::string& path) {
  std::error_code ignored;
  const std::ifstream file(path, std::ios::binary);
  if (!file || std::filesystem::is_directory(path, ignored)) {
    throw membar::model::error("cannot open the file");
  }
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace membar_check
