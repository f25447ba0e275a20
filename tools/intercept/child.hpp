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
};

/// Runs the program with these variables set, and waits. Meanwhile it calls `meanwhile`, if any, 20 times a second.
[[nodiscard]] outcome run(const std::vector<std::string>& program,
                          const std::vector<std::pair<std::string, std::string>>& environment,
                          const std::function<void()>& meanwhile = {});

/// The preloaded library of this file name, in the command's folder or in ../lib/membar relative to it (`installed`: the folder relative to the
/// command's parent). Throws `std::runtime_error` if it is not there, or cannot be preloaded from there.
[[nodiscard]] std::string library_path(const std::string& file, const std::string& installed);

/// The value of LD_PRELOAD that loads the library before what the variable names already.
[[nodiscard]] std::string preload_value(const std::string& library);

}  // namespace membar::intercept
