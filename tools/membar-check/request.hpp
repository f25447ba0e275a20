// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Parses the command line of membar-check.
#pragma once

#include <check/program.hpp>

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace membar_check {

enum class report_format : std::uint8_t { text, json, sarif };

struct request {
  membar::check::check_options options{};
  std::vector<std::string> files{};
  std::string litmus{};  ///< the file for findings in the form of litmus tests; empty if there is none
  std::string dot{};
  std::string costs{};          ///< a file with costs; if empty, the built-in table is used
  std::uint64_t seconds = 600;  ///< the maximum processor time for each file
  std::uint64_t repair = 0;     ///< the maximum number of changes in a repair; 0 if repairs are not searched for
  std::uint64_t events = 10;    ///< the maximum number of events to show per finding
  bool fill_events = false;     ///< whether to show this number of events even if some of them are less informative
  bool all_events = false;
  bool ptx = false;
  bool quiet = false;
  report_format format = report_format::text;
  std::vector<std::string> nvcc_options{};  ///< with `read`: the options for compiling sources
  bool read = false;  ///< whether the files are sources, for which the command reports only whether they can be read
};

/// Parses the command line. If it contains `--help` or `--version`, or is invalid, returns nothing and sets `status` to the
/// exit status. An invalid command line is reported on standard error.
[[nodiscard]] std::optional<request> read_request(int count, char** arguments, int& status);

/// Thrown if a command line requests something impossible.
struct wrong_usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Adds `--readings` and `--reading`, which select the readings that the checker and the sanitizer use.
void add_reading_options(CLI::App& app, membar::model::other_readings& readings);

}  // namespace membar_check
