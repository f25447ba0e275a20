// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A folder for the temporary files of one run.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>

namespace membar_tools {

/// A new folder in the system's folder for temporary files. The destructor removes it with its contents. The folder's path is
/// absolute, because another process that uses the folder, such as a program that is being checked, may have a different
/// working directory.
class temporary_folder {
 public:
  /// Creates a folder whose name begins with `name`. Throws `std::runtime_error` if this fails.
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
