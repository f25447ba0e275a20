// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Scenarios of what a program launched: the records of the preloaded library become files that membar-check reads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace membar_check {

/// The scenarios that were written, and the sentences for the user.
struct recording {
  std::vector<std::string> scenarios{};  ///< paths
  std::vector<std::string> sentences{};
  int kernels = 0;
  int launches = 0;
  bool has_contents = false;
};

struct recording_options {
  bool unknown_floats = false;  ///< what may be floats in contents of memory becomes unknown values
  bool shrink = false;          ///< launches that are too large to explore get smaller grids, where that works
};

/// Reads the records of all processes in a folder, and writes scenarios, PTX and contents of memory into another one, readable by their owner only.
/// Throws `model::error`.
[[nodiscard]] recording write_recording(const std::filesystem::path& records, const std::filesystem::path& output,
                                        const recording_options& how);

/// Gives a recorded scenario without PTX the PTX of its kernels, of which `ptx` is the text: writes it beside the scenario, and names it there.
/// Returns its path. Throws `model::error` where a kernel is missing.
[[nodiscard]] std::string attach_ptx(const std::filesystem::path& scenario, const std::string& ptx);

}  // namespace membar_check
