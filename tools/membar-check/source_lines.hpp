// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Shows instructions as the source lines that they were compiled from.
#pragma once

#include <check/program.hpp>

#include <map>
#include <string>
#include <vector>

namespace membar_check {

/// Provides the lines of source files. Each file is read only once.
class source_lines {
 public:
  /// Returns the source line of an instruction, for example "a.cu:3: *flag = 1;". Shows the PTX instead of the text of the line
  /// if the source file cannot be read, and only the PTX if `ptx` is set or the line is unknown. For inlined code, returns the
  /// line of the call, followed by the position in the called function.
  [[nodiscard]] std::string shown(const membar::check::program& p, int thread, const membar::check::instruction& i,
                                  bool ptx = false);

 private:
  /// Returns a line without leading and trailing blanks, or an empty string if there is no such line.
  [[nodiscard]] std::string line(const std::string& path, int number);

  std::map<std::string, std::vector<std::string>> files_{};
};

/// Returns a line of a report, followed by a comment. A comment that does not fit is put on a separate line.
[[nodiscard]] std::string with_comment(const std::string& line, const std::string& comment);

}  // namespace membar_check
