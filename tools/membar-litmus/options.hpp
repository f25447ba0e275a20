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

/// How far a search goes unless the command line says otherwise.
[[nodiscard]] inline model::search_options default_search() {
  model::search_options search = 300'000'000;
  search.memory = std::uint64_t{256} << 20U;
  return search;
}

/// What a command line asks for.
struct request {
  litmus_files::command command = command::verdict;
  std::vector<std::string> paths;
  unsigned jobs = std::max(1U, std::thread::hardware_concurrency());
  bool strict = false;
  explanation_format format = explanation_format::text;  ///< `dot` for `explain` only
  model::search_options search = default_search();
  double seconds = 30;  ///< for the searches of one test; 0: any time
  chosen_readings readings;
  run_request run;
};

/// Reads a command line without the program's name. Returns an exit status instead of a request for one that has nothing left to do, as
/// --help, or that is wrong, which the error stream then says.
[[nodiscard]] std::variant<request, int> read_command_line(std::vector<std::string> words);

}  // namespace membar::litmus_files
