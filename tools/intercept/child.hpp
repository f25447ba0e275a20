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
  int status = 0;  ///< the exit status, or 128 + the signal, or 126 or 127 if the program could not be started
  int signal = 0;  ///< the signal that ended it, or 0
  bool started = true;
  bool timed_out = false;
  int interrupted = 0;  ///< the signal to the command that caused the program's group to be ended, or 0
};

struct run_options {
  std::function<void()> meanwhile{};  ///< called 20 times per second, if set
  /// the file for standard output and standard error, in which case standard input is empty; empty: inherited
  std::string output{};
  /// Whether the program and the processes that it starts form their own process group. When the program ends, the remaining
  /// processes of the group are killed. The whole group is killed if the time limit is reached or the command receives a signal
  /// that would end it.
  bool own_group = false;
  double seconds = 0;  ///< the time limit of the program; 0: none
};

/// Runs the program with these additional environment variables and waits for it.
[[nodiscard]] outcome run(const std::vector<std::string>& program,
                          const std::vector<std::pair<std::string, std::string>>& environment, const run_options& how = {});

/// Returns the preloaded library with this file name, in the command's folder or in ../lib/membar relative to it (`installed`
/// is the folder relative to the command's parent). Throws `std::runtime_error` if it does not exist, or cannot be preloaded
/// from there.
[[nodiscard]] std::string library_path(const std::string& file, const std::string& installed);

/// Returns a value of LD_PRELOAD that loads the library before the libraries that are already listed.
[[nodiscard]] std::string preload_value(const std::string& library);

}  // namespace membar::intercept
