// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Files that list findings to suppress.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace membar_check {

/// A file of findings to suppress. Each line contains a kind of finding and one or more parts of places, messages or kernel
/// names; `#` begins a comment.
class suppression_file {
 public:
  struct line {
    int number;
    std::string kind;
    std::vector<std::string> parts;
    bool is_used = false;
  };

  /// Reads `path`, or nothing if `path` is empty. Throws if a line does not contain a kind and a part.
  explicit suppression_file(const std::string& path);

  [[nodiscard]] const std::vector<line>& lines() const noexcept { return lines_; }

  /// Returns the position of a line, for example "known.txt:3".
  [[nodiscard]] std::string place_of(const line& of) const { return path_ + ":" + std::to_string(of.number); }

  /// Returns whether a line has this kind, and all of its parts occur in `text`. Marks each such line as used. A part that
  /// ends with a digit does not match the beginning of a longer number.
  [[nodiscard]] bool suppresses(std::string_view kind, std::string_view text);

  /// Names the lines that have not been used on standard error.
  void report_unused() const;

 private:
  std::string path_;
  std::vector<line> lines_{};
};

}  // namespace membar_check
