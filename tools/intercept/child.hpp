// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Runs a program with a preloaded library.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace membar::intercept {

struct outcome {
  int status = 0;  ///< the exit status; 128 + the signal if a signal ended the program; 126 or 127 if it could not be started
  int signal = 0;  ///< the signal that ended the program, or 0
  bool started = true;
  bool timed_out = false;
  int interrupted = 0;  ///< the signal that the command received and that ended the program's group, or 0
};

struct run_options {
  std::function<void()> meanwhile{};  ///< called 20 times per second, if set
  /// the file that receives standard output and standard error; standard input is then empty. Without a file, the program
  /// inherits all three streams
  std::string output{};
  /// Whether the program and the processes that it starts form their own process group. When the program ends, the remaining
  /// processes in the group are killed. The whole group is killed if the time limit is reached or if the command receives a
  /// signal that would end it.
  bool own_group = false;
  double seconds = 0;  ///< the time limit for the program; 0 if there is none
};

/// Runs the program with these additional environment variables and waits for it.
[[nodiscard]] outcome run(const std::vector<std::string>& program,
                          const std::vector<std::pair<std::string, std::string>>& environment, const run_options& how = {});

/// Returns the path of a library to preload. The function searches the command's folder, lib/membar and lib64/membar in its
/// parent folder, and `installed`, which is also relative to the parent folder. Throws `std::runtime_error` if the library does
/// not exist or cannot be preloaded from its folder.
[[nodiscard]] std::string library_path(const std::string& file, const std::string& installed);

/// Returns a value for LD_PRELOAD that loads the library before the libraries that are already listed.
[[nodiscard]] std::string preload_value(const std::string& library);

}  // namespace membar::intercept
