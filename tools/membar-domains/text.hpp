// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Formats the numbers and columns of the reports.
#pragma once

#include <cstdio>
#include <string>

namespace membar_domains {

[[nodiscard]] inline std::string fixed(double value, int digits) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", digits, value);
  return text;
}

/// Returns the number of columns that a UTF-8 string occupies.
[[nodiscard]] inline std::size_t columns(const std::string& text) {
  std::size_t count = 0;
  for (const char c : text) {
    count += (static_cast<unsigned char>(c) & 0xC0U) != 0x80U ? 1U : 0U;
  }
  return count;
}

[[nodiscard]] inline std::string left(std::string text, std::size_t width) {
  if (columns(text) >= width) {  // the middle is shortened, because names often differ at both ends
    const std::size_t end = (width - 3) / 3;
    text = text.substr(0, width - 3 - end) + ".." + text.substr(text.size() - end) + " ";
  }
  return text + std::string(width - columns(text), ' ');
}

[[nodiscard]] inline std::string right(const std::string& text, std::size_t width) {
  return columns(text) >= width ? " " + text : std::string(width - columns(text), ' ') + text;
}

}  // namespace membar_domains
