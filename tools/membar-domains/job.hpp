// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Runs the program once with the preloaded library and collects the files of its processes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "intercept/child.hpp"
#include "membar-domains/options.hpp"
#include "membar-domains/records.hpp"

namespace membar_domains {

using membar::intercept::outcome;

/// The data of one process.
struct process {
  std::uint32_t pid = 0;
  std::string program, complaint;
  int cu_init = -1;
  std::uint64_t launches = 0, listed = 0, moved = 0, refused = 0, nodes = 0, nodes_moved = 0, graphs_alone = 0, untimed = 0,
                lost = 0, rules_met = 0;
  records recorded;
};

struct job_result {
  outcome ended;
  std::vector<process> processes;  ///< the processes that called CUDA
};

/// Prints a line to standard error.
void say(const std::string& text);

/// Writes a file and creates its folders. Throws an `error` that contains the remedy.
void write(const std::filesystem::path& path, const std::string& text,
           const char* remedy = "name another folder with --output");

/// Reads what the process with this state file has written so far.
[[nodiscard]] process process_of(const std::filesystem::path& state);

/// Runs the program once. `list` is the text of the list, if any. `how` is a mode of `try` or the number of launches in a turn.
/// Prints a sentence for each problem. Calls `look` with the processes while their files exist, and `meanwhile` while the
/// program runs.
[[nodiscard]] job_result run_job(const options& asked, const char* job, const std::string& list, const std::string& how,
                                 const std::function<void(const std::filesystem::path&, std::vector<process>&)>& look = {},
                                 const std::function<void(const std::filesystem::path&)>& meanwhile = {});

[[nodiscard]] std::string with_status(const outcome& ended);

}  // namespace membar_domains
