// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Formats input text for messages: quoted, shortened, and without characters that a terminal would interpret.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace membar_tools {

/// The maximum number of characters in a message. A line that contains the message then has at most 300 characters.
inline constexpr std::size_t most_of_a_message = 290;

/// Returns the character, or `\xNN` if it is not printable ASCII.
[[nodiscard]] inline std::string escaped(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f ? std::string(1, c) : std::string("\\x") + digits[byte / 16U] + digits[byte % 16U];
}

/// Returns `text` with characters that are not printable ASCII written as `\xNN`. If the result has more than `most`
/// characters, the rest is replaced by "...".
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

/// Returns `text` in single quotation marks, shortened to 40 characters.
[[nodiscard]] inline std::string quote(std::string_view text) {
  constexpr std::size_t most_of_a_quotation = 40;
  return "'" + shortened(text, most_of_a_quotation) + "'";
}

}  // namespace membar_tools
