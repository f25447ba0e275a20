// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Text as a JSON string.
#pragma once

#include <string>

namespace membar {
inline namespace v0_2 {
namespace model {

/// `text` as a JSON string: in quotation marks, with escapes.
[[nodiscard]] inline std::string quoted(const std::string& text) {
  std::string out = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20) {
      static constexpr char digits[] = "0123456789abcdef";
      out += "\\u00";
      out += digits[code >> 4];
      out += digits[code & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

}  // namespace model
}  // namespace v0_2
}  // namespace membar
