// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// How messages show what was read: in quotation marks, short, and without characters that a terminal would act on.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace membar_tools {

/// The most characters of a message, so that a line with it has at most 300.
inline constexpr std::size_t most_of_a_message = 290;

/// One character, or `\xNN` for one that is not printable ASCII.
[[nodiscard]] inline std::string escaped(char c) {
  constexpr std::string_view digits = "0123456789abcdef";
  const auto byte = static_cast<unsigned char>(c);
  return byte >= 0x20 && byte < 0x7f ? std::string(1, c) : std::string("\\x") + digits[byte / 16U] + digits[byte % 16U];
}

/// `text` with what is not printable as `\xNN`; what does not fit in `most` characters is "...".
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

/// 'text', of which at most 40 characters are shown.
[[nodiscard]] inline std::string quote(std::string_view text) {
  constexpr std::size_t most_of_a_quotation = 40;
  return "'" + shortened(text, most_of_a_quotation) + "'";
}

}  // namespace membar_tools
