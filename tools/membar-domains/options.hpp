// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The command line of membar-domains.
#pragma once

#include <string>
#include <vector>

namespace membar_domains {

struct options {
  enum class action { watch, try_, apply, run, help, version };
  action what = action::watch;
  std::string list;                 ///< --list
  std::vector<std::string> remote;  ///< --remote
  std::string output = "membar-domains";
  std::string cupti;
  bool check = true;        ///< --no-check: watch does not look for kernels that synchronize with each other
  bool force = false;       ///< --force: try and apply accept a list that was not checked or that has warnings
  bool whole_runs = false;  ///< --whole-runs: try does not take turns within a run
  int turn = 16;            ///< --turn: the number of launches of listed kernels in a turn of try
  int runs = 3;             ///< --runs: the number of whole runs in each mode, if turns within a run yield no result
  double seconds = 10;      ///< --seconds: how long `run` watches the program
  bool json = false;        ///< --format=json
  std::vector<std::string> program;
};

/// Parses the command line. `words` does not include the command's name. Throws an `error` that names the wrong word and says
/// what is allowed and what to write instead.
[[nodiscard]] options parse_options(const std::vector<std::string>& words);

[[nodiscard]] std::string usage();

}  // namespace membar_domains
