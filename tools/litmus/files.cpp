// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <litmus/files.hpp>

#include <litmus/reader.hpp>
#include <membar/model/error.hpp>

#include <common/text_file.hpp>

#include <algorithm>
#include <filesystem>
#include <system_error>

namespace membar::litmus_files {

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

file_list files_of(const std::vector<std::string>& paths) {
  file_list result;
  for (const std::string& path : paths) {
    const std::vector<std::string> below = files_below(path);
    result.files.insert(result.files.end(), below.begin(), below.end());
    if (below.empty()) {
      result.empty_folders.push_back(path);
    }
  }
  return result;
}

model::litmus_test read_test(const std::string& path, bool strict) {
  model::litmus_test test = read_litmus(membar_tools::read_file(path));
  if (strict && !test.remarks.empty()) {
    const model::remark& first = test.remarks.front();
    throw model::error(first.line, first.column, first.text);
  }
  return test;
}

std::string warnings_of(const std::string& path, const model::litmus_test& test) {
  std::string lines;
  for (const model::remark& r : test.remarks) {
    lines += path + ": " + std::to_string(r.line) + ":" + std::to_string(r.column) + ": warning: " + r.text + "\n";
  }
  return lines;
}

}  // namespace membar::litmus_files
