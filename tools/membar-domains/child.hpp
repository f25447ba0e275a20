// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A program that runs with the library preloaded.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace membar_domains {

struct outcome {
  int status = 0;  ///< the exit status, 128 + the signal, 126 or 127
  int signal = 0;  ///< that ended it, or 0
  bool started = true;
};

/// Runs the program with these variables set, and waits. Meanwhile it calls `meanwhile`, if any, 20 times a second.
[[nodiscard]] outcome run(const std::vector<std::string>& program,
                          const std::vector<std::pair<std::string, std::string>>& environment,
                          const std::function<void()>& meanwhile = {});

/// The path of the preloaded library, in the command's folder or in ../lib relative to it. Throws `error` if it is not there, or cannot be preloaded from there.
[[nodiscard]] std::string library_path();

}  // namespace membar_domains
