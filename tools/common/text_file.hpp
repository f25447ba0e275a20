// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads and writes whole files.
#pragma once

#include <membar/model/error.hpp>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>

namespace membar_tools {

/// Returns the contents of a file. Throws `model::error` if the file cannot be read.
[[nodiscard]] inline std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    throw membar::model::error("cannot open the file: this is a directory; give a file instead");
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

/// Writes a file, replacing an existing one. Throws `model::error` if the file cannot be written.
inline void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) {
    throw membar::model::error("cannot write '" + path +
                               "': check that its folder exists, that you may write there, and that it has free space");
  }
}

}  // namespace membar_tools
