// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Splits PTX text into tokens.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::ptx {

/// A token, which refers to the PTX text.
struct ptx_token {
  enum class kind_t : unsigned char { word, number, string, symbol, end };
  kind_t kind = kind_t::end;
  std::string_view text{};
  int line = 0;
  int column = 0;

  [[nodiscard]] bool is(std::string_view what) const noexcept { return text == what && kind != kind_t::string; }
};

/// Splits PTX text into tokens. Words keep their dots, `%`, `$` and `::`, so "ld.acquire.gpu.b64", "%rd1" and "$L__BB0_1" are
/// one token each. Comments are skipped. Throws `model::error` for a character that PTX does not allow.
[[nodiscard]] std::vector<ptx_token> ptx_tokens(std::string_view text);

/// A number, as written in the text.
struct ptx_number {
  std::uint64_t value = 0;
  bool decimal = false;  ///< whether it has a decimal point or an exponent; `value` then contains its bits as a double
};

/// Converts a decimal number, given as the bits of a double, to the bits of a float of `bytes` bytes.
[[nodiscard]] inline std::uint64_t float_bits(std::uint64_t decimal, int bytes) noexcept {
  const double value = std::bit_cast<double>(decimal);
  return bytes == 4 ? std::bit_cast<std::uint32_t>(static_cast<float>(value)) : decimal;
}

/// Returns the value of a number. Throws `model::error` if the token is not a PTX number.
[[nodiscard]] ptx_number number_of(const ptx_token& token);

}  // namespace membar::ptx
