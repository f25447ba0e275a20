// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A program that runs with a library preloaded.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace membar::intercept {

struct outcome {
  int status = 0;  ///< the exit status, 128 + the signal, 126 or 127
  int signal = 0;  ///< that ended it, or 0
  bool started = true;
  bool timed_out = false;
  int interrupted = 0;  ///< the signal to the command for which the program's group was ended, or 0
};

struct run_options {
  std::function<void()> meanwhile{};  ///< called 20 times a second, if any
  std::string output{};               ///< a file for standard output and standard error; standard input is then empty
  /// The program and the processes that it starts are a group of their own. What is left of the group is ended when the program ends, and all of it
  /// when its time is over or a signal would end the command.
  bool own_group = false;
  double seconds = 0;  ///< the time that the program has; 0: no limit
};

/// Runs the program with these variables set, and waits.
[[nodiscard]] outcome run(const std::vector<std::string>& program,
                          const std::vector<std::pair<std::string, std::string>>& environment, const run_options& how = {});

/// The preloaded library of this file name, in the command's folder or in ../lib/membar relative to it (`installed`: the folder relative to the
/// command's parent). Throws `std::runtime_error` if it is not there, or cannot be preloaded from there.
[[nodiscard]] std::string library_path(const std::string& file, const std::string& installed);

/// The value of LD_PRELOAD that loads the library before what the variable names already.
[[nodiscard]] std::string preload_value(const std::string& library);

}  // namespace membar::intercept
