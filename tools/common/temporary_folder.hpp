// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A folder for the files of one run.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace membar_tools {

/// A new folder in the system's folder for temporary files. It is removed with its contents at the end. Its path is absolute,
/// because another process, such as a program that is run, may have another working directory.
/// run, may be in another folder.
class temporary_folder {
 public:
  /// `name` is the beginning of its name. Throws `std::runtime_error` if it cannot be created.
  explicit temporary_folder(const std::string& name) {
    const std::filesystem::path in = std::filesystem::absolute(std::filesystem::temp_directory_path());
    std::string pattern = (in / (name + "-XXXXXX")).string();
    if (mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot create a folder in " + in.string() + ": set TMPDIR to a writable folder");
    }
    path_ = pattern;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const noexcept { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace membar_tools
