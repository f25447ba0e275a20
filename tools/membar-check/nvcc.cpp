// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <common/text_file.hpp>
#include <membar-check/nvcc.hpp>

#include <membar/model/error.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace membar_check {

namespace {

/// A folder that is removed at the end.
class temporary_folder {
 public:
  temporary_folder() {
    std::string name = (std::filesystem::temp_directory_path() / "membar-check-XXXXXX").string();
    if (mkdtemp(name.data()) == nullptr) {
      throw membar::model::error("cannot make a folder for the compiler's output in " +
                                 std::filesystem::temp_directory_path().string());
    }
    path_ = name;
  }
  ~temporary_folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  temporary_folder(const temporary_folder&) = delete;
  temporary_folder& operator=(const temporary_folder&) = delete;
  [[nodiscard]] std::string file(const char* name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

[[nodiscard]] std::string nvcc_path() {
  if (const char* given = std::getenv("CUDACXX"); given != nullptr && *given != '\0') {
    return given;
  }
  const std::string path = std::getenv("PATH") != nullptr ? std::getenv("PATH") : "";
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate = path.substr(begin, end - begin) + "/nvcc";
    if (access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    begin = end + 1;
  }
  return "/usr/local/cuda/bin/nvcc";
}

}  // namespace

std::string compiled(const std::string& folder, const std::string& source, const std::vector<std::string>& options) {
  const temporary_folder output;
  const std::string ptx = output.file("kernel.ptx");
  const std::string log = output.file("log");
  std::vector<std::string> words = {nvcc_path(), "-std=c++20", "-ptx", "-arch=sm_90", "-lineinfo", "-o", ptx, source};
  words.insert(words.end(), options.begin(), options.end());
  std::vector<char*> arguments;
  for (std::string& w : words) {
    arguments.push_back(w.data());
  }
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (file < 0 || dup2(file, 1) < 0 || dup2(file, 2) < 0 || (!folder.empty() && chdir(folder.c_str()) != 0)) {
      _exit(127);
    }
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    throw membar::model::error("cannot start " + words[0]);
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 127) {
    throw membar::model::error("cannot start " + words[0] + " to compile " + membar_tools::shortened(source, 160) +
                               ": put nvcc on the PATH, name it in CUDACXX, or give the PTX as the source");
  }
  if (status != 0) {
    std::string lines;
    for (const char c : membar_tools::read_file(log)) {
      lines += c == '\n' || c == '\t' ? std::string(1, c) : membar_tools::escaped(c);
    }
    throw membar::model::error("nvcc does not compile " + membar_tools::shortened(source, 160) + ":\n" + lines);
  }
  return membar_tools::read_file(ptx);
}

}  // namespace membar_check
