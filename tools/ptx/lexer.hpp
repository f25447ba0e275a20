// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// PTX text as tokens.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::ptx {

/// One token of PTX text, which it looks into.
struct ptx_token {
  enum class kind_t : unsigned char { word, number, string, symbol, end };
  kind_t kind = kind_t::end;
  std::string_view text{};
  int line = 0;
  int column = 0;

  [[nodiscard]] bool is(std::string_view what) const noexcept { return text == what && kind != kind_t::string; }
};

/// Divides PTX text into tokens. Words keep their dots, `%`, `$` and `::`, so that "ld.acquire.gpu.b64", "%rd1" and "$L__BB0_1"
/// are one token each. Comments are left out. Throws `model::error` for a character that PTX does not have.
[[nodiscard]] std::vector<ptx_token> ptx_tokens(std::string_view text);

/// A number as it is written.
struct ptx_number {
  std::uint64_t value = 0;
  bool decimal = false;  ///< a decimal fraction or a number with an exponent: `value` has its bits as a double
};

/// A decimal number, given as the bits of a double, in the bits of a float of `bytes` bytes.
[[nodiscard]] inline std::uint64_t float_bits(std::uint64_t decimal, int bytes) noexcept {
  const double value = std::bit_cast<double>(decimal);
  return bytes == 4 ? std::bit_cast<std::uint32_t>(static_cast<float>(value)) : decimal;
}

/// The value of a number. The second is true for one written as a float's bits. Throws `model::error` for one that PTX does not have.
[[nodiscard]] ptx_number number_of(const ptx_token& token);

}  // namespace membar::ptx
