// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The error that the model throws if a test cannot be read or has no verdict.
#pragma once

#if !defined(__cpp_exceptions)
#error "membar: the model throws membar::model::error: compile without -fno-exceptions"
#include "the_error_above_ends_the_compilation"
#endif

#include <exception>
#include <string>
#include <utility>

namespace membar {
inline namespace v0_3 {
namespace model {

/// The reason why a test has no verdict, and the position in its text. `what()` is "line:column: message", or only the message
/// if the test has no text.
class error : public std::exception {
 public:
  explicit error(std::string message) : message_(std::move(message)), text_(message_) {}

  error(int line, int column, std::string message)
      : line_(line),
        column_(column),
        message_(std::move(message)),
        text_(std::to_string(line) + ":" + std::to_string(column) + ": " + message_) {}

  /// Returns the line, counted from 1, or 0 if the error has no position in a text.
  [[nodiscard]] int line() const noexcept { return line_; }
  /// Returns the column, counted from 1, or 0 if the error has no position in a text.
  [[nodiscard]] int column() const noexcept { return column_; }
  /// Returns the message without the position.
  [[nodiscard]] const std::string& message() const noexcept { return message_; }

  [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

 private:
  int line_ = 0;
  int column_ = 0;
  std::string message_;
  std::string text_;
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
