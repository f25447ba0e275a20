// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Converts recordings to scenarios: the records of the preloaded library become files that membar-check reads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace membar_check {

/// The scenarios that were written, and messages for the user.
struct recording {
  std::vector<std::string> scenarios{};  ///< the paths
  std::vector<std::string> sentences{};
  int kernels = 0;
  int launches = 0;
  bool has_contents = false;
};

struct recording_options {
  bool unknown_floats = false;  ///< possible floats in memory contents become unknown values
  bool shrink = false;          ///< launches that are too large to explore get smaller grids, if possible
};

/// Reads the records of all processes in a folder, and writes scenarios, PTX and memory contents into another one, readable
/// only by their owner. Throws `model::error`.
[[nodiscard]] recording write_recording(const std::filesystem::path& records, const std::filesystem::path& output,
                                        const recording_options& how);

/// Adds the PTX of the kernels, given by its text `ptx`, to a scenario that was recorded without it: writes the PTX next to the
/// scenario and refers to it there. Returns its path. Throws `model::error` if a kernel is missing.
[[nodiscard]] std::string attach_ptx(const std::filesystem::path& scenario, const std::string& ptx);

}  // namespace membar_check
