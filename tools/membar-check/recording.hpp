// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Converts recordings to scenarios: turns the records of the preloaded library into files that membar-check can read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace membar_check {

/// The scenarios that were written, and messages for the user.
struct recording {
  std::vector<std::string> scenarios{};  ///< the paths of the scenario files
  std::vector<std::string> sentences{};
  int kernels = 0;
  int launches = 0;
  bool has_contents = false;
  bool used_cuda = false;  ///< whether a process has called cuInit
};

struct recording_options {
  bool unknown_floats = false;  ///< whether possible floats in memory contents become unknown values
  bool shrink = false;          ///< whether launches that are too large to explore get smaller grids if possible
};

/// Reads the records of all processes in a folder and writes scenarios, PTX and memory contents to another folder. Only the
/// owner can read the files. Throws `model::error`.
[[nodiscard]] recording write_recording(const std::filesystem::path& records, const std::filesystem::path& output,
                                        const recording_options& how);

/// Adds the PTX text `ptx` to a scenario that was recorded without PTX. Writes the PTX to a file next to the scenario, and
/// makes the scenario refer to this file. Returns the path of the PTX. Throws `model::error` if a kernel is missing.
[[nodiscard]] std::string attach_ptx(const std::filesystem::path& scenario, const std::string& ptx);

}  // namespace membar_check
