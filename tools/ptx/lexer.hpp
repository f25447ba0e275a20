// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// PTX text as tokens.
#pragma once

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

/// The value of a number. The second is true for one written as a float's bits. Throws `model::error` for one that PTX does not have.
[[nodiscard]] std::pair<std::uint64_t, bool> number_of(const ptx_token& token);

}  // namespace membar::ptx
