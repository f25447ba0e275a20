// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The command line of `membar-litmus`.
#pragma once

#include <litmus/explain.hpp>
#include <litmus/readings.hpp>
#include <membar-litmus/run.hpp>

#include <membar/model/search_options.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <thread>
#include <variant>
#include <vector>

namespace membar::litmus_files {

/// The subcommands.
enum class command { verdict, outcomes, explain, run };

/// Returns the default limits of a search.
[[nodiscard]] inline model::search_options default_search() {
  model::search_options search = 300'000'000;
  search.memory = std::uint64_t{256} << 20U;
  return search;
}

/// The settings that a command line specifies.
struct request {
  litmus_files::command command = command::verdict;
  std::vector<std::string> paths;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  bool strict = false;
  explanation_format format = explanation_format::text;  ///< `dot` is possible only with `explain`
  model::search_options search = default_search();
  double seconds = 30;  ///< the time limit for all searches of one test; 0 means no limit
  chosen_readings readings;
  run_request run;
};

/// Parses a command line, without the program's name. Returns an exit status instead of a request if nothing is left to do, for
/// example after --help, or if the command line is invalid. An invalid command line is reported on standard error.
[[nodiscard]] std::variant<request, int> read_command_line(std::vector<std::string> words);

}  // namespace membar::litmus_files
