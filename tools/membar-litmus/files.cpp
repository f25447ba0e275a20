// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar-litmus/files.hpp>

#include <membar/model/error.hpp>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>

namespace membar_litmus {

namespace {

[[nodiscard]] std::vector<std::string> files_below(const std::string& path) {
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

}  // namespace

std::vector<std::string> files_of(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const std::vector<std::string> below = files_below(path);
    files.insert(files.end(), below.begin(), below.end());
  }
  return files;
}

std::string read_file(const std::string& path) {
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

}  // namespace membar_litmus
