// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Implements membar-check witness for a program that cannot be reduced to a scenario: it runs many times with delays in its
/// kernels, and its exit status decides.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace membar_check {

/// A kernel of the program, and the threads that are delayed in each launch.
struct delayed_kernel {
  std::string name{};                   ///< mangled
  std::vector<std::uint64_t> actors{};  ///< block in the upper half, thread in the lower half, both linear
  /// lines, counted from the beginning of the kernel, whose statements become sites first
  std::vector<int> preferred{};
  bool split_warp = false;
};

struct delayed_program {
  std::vector<std::string> words{};  ///< the words of its command line
  std::vector<delayed_kernel> kernels{};
  std::string file{};     ///< the file of the scenario
  std::string finding{};  ///< its status and message
  std::uint64_t runs = 20;
  double seconds = 600;
  double patience = 60;
  std::uint64_t seed = 1;
  std::uint64_t limit = 1'000'000;
  bool json = false;
};

/// Runs the program with and without delays, prints a report, and returns the exit status of the command. Throws
/// `membar::model::error` if the program cannot be started or loads none of the kernels.
[[nodiscard]] int witness_program(const delayed_program& p);

}  // namespace membar_check
