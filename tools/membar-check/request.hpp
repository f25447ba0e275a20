// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Parses the command line of membar-check.
#pragma once

#include <check/program.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

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

}  // namespace membar_check
