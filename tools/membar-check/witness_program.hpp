// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Implements `membar-check witness` for programs that cannot be reduced to a scenario. The program runs many times with delays
/// in its kernels, and its exit status decides whether a run failed.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace membar_check {

/// A kernel of the program and the threads to delay in each of its launches.
struct delayed_kernel {
  std::string name{};  ///< the mangled name
  /// for each actor: the block in the upper half and the thread in the lower half, both as linear indices
  std::vector<std::uint64_t> actors{};
  /// the lines whose statements are preferred as sites of delays, counted from the beginning of the kernel
  std::vector<int> preferred{};
  bool split_warp = false;
};

struct delayed_program {
  std::vector<std::string> words{};  ///< the words of the program's command line
  std::vector<delayed_kernel> kernels{};
  std::string file{};     ///< the scenario's file
  std::string finding{};  ///< the status and the message of the finding
  std::uint64_t runs = 20;
  double seconds = 600;
  double patience = 60;
  std::uint64_t seed = 1;
  std::uint64_t limit = 1'000'000;
  bool json = false;
};

/// Runs the program with and without delays, prints a report, and returns the command's exit status. Throws
/// `membar::model::error` if the program cannot be started or does not load any of the kernels.
[[nodiscard]] int witness_program(const delayed_program& p);

}  // namespace membar_check
