// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Formats input text for messages: in quotation marks, shortened, and without characters that a terminal would interpret.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace membar_tools {

/// The maximum number of characters of a message, so that a line that contains it has at most 300.
inline constexpr std::size_t most_of_a_message = 290;

/// Returns one character, or `\xNN` for a character that is not printable ASCII.
[[nodiscard]] inline std::string escaped(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f ? std::string(1, c) : std::string("\\x") + digits[byte / 16U] + digits[byte % 16U];
}

/// Returns `text` with nonprintable characters as `\xNN`; text beyond `most` characters becomes "...".
[[nodiscard]] inline std::string shortened(std::string_view text, std::size_t most) {
  std::string result;
  for (const char c : text) {
    const std::string one = escaped(c);
    if (result.size() + one.size() > most) {
      return result + "...";
    }
    result += one;
  }
  return result;
}

/// Returns 'text', with at most 40 characters.
[[nodiscard]] inline std::string quote(std::string_view text) {
  constexpr std::size_t most_of_a_quotation = 40;
  return "'" + shortened(text, most_of_a_quotation) + "'";
}

}  // namespace membar_tools
