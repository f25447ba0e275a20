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
  std::string litmus{};  ///< the file to which findings are written; empty: none
  std::string dot{};
  std::string costs{};        ///< a file; empty: the built-in table
  std::uint64_t repair = 0;   ///< the maximum number of changes; 0: no repair is searched for
  std::uint64_t events = 10;  ///< the maximum number of events shown per finding
  bool fill_events = false;   ///< show as many events as requested, rather than only the most informative ones
  bool all_events = false;
  bool ptx = false;
  bool quiet = false;
  report_format format = report_format::text;
  bool read = false;  ///< the files are sources: report only whether they can be read
};

/// Parses a command line. For `--help` and `--version`, and for an invalid command line, which is reported on standard error,
/// it returns nothing and sets `status` to the exit status.
[[nodiscard]] std::optional<request> read_request(int count, char** arguments, int& status);

/// A command line that asks for something impossible.
struct wrong_usage : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Adds `--readings` and `--reading`, which choose the sides of the readings that the checker and the sanitizer have.
void add_reading_options(CLI::App& app, membar::model::other_readings& readings);

}  // namespace membar_check
