// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The duration of a stress test: the usual duration, or the duration that the environment specifies.
#pragma once

#include <charconv>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

namespace membar_test {

/// Returns the number in the environment variable, or `usual` if the variable is not set. Throws if it is not a number, because
/// a short run must not be mistaken for the requested long one.
[[nodiscard]] inline unsigned long long stress_count(const char* variable, unsigned long long usual) {
  const char* const given = std::getenv(variable);
  if (given == nullptr) {
    return usual;
  }
  const std::string_view text(given);
  unsigned long long count = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (failure != std::errc() || end != text.data() + text.size() || count == 0) {
    throw std::runtime_error(std::string(variable) + " is '" + given +
                             "': give a positive number in plain digits, such as 100000000");
  }
  return count;
}

}  // namespace membar_test
