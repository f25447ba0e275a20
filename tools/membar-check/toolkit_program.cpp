// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <membar-check/toolkit_program.hpp>

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <vector>

namespace membar_check {

std::string toolkit_program(std::string_view name, const char* variable) {
  if (const char* given = std::getenv(variable); given != nullptr && *given != '\0') {
    return given;
  }
  const std::string path = std::string(std::getenv("PATH") != nullptr ? std::getenv("PATH") : "") + ":/usr/local/cuda/bin";
  for (std::size_t begin = 0; begin < path.size();) {
    const std::size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate = path.substr(begin, end - begin) + "/" + std::string(name);
    if (access(candidate.c_str(), X_OK) == 0) {
      return candidate;
    }
    begin = end + 1;
  }
  return {};
}

int run_program(const std::vector<std::string>& words, const std::string& folder, const std::string& output,
                const std::string& messages) {
  constexpr int cannot_start = 127;
  std::vector<std::string> copies = words;
  std::vector<char*> arguments;
  for (std::string& w : copies) {
    arguments.push_back(w.data());
  }
  arguments.push_back(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    const int to = open(output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    const int said = messages == output ? to : open(messages.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (to < 0 || said < 0 || dup2(to, 1) < 0 || dup2(said, 2) < 0 || (!folder.empty() && chdir(folder.c_str()) != 0)) {
      _exit(cannot_start);
    }
    execv(arguments[0], arguments.data());
    _exit(cannot_start);
  }
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) != child) {
    return cannot_start;
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

}  // namespace membar_check
