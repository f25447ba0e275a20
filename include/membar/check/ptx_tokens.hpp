// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// PTX text as tokens.
#pragma once

#include <membar/model/error.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace membar::inline v0_2::checker {

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
[[nodiscard]] inline std::vector<ptx_token> ptx_tokens(std::string_view text) {
  const auto begins_word = [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%' || c == '.';
  };
  const auto in_word = [&](char c) { return begins_word(c) || std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::vector<ptx_token> result;
  int line = 1;
  std::size_t line_begin = 0;
  std::size_t at = 0;
  const auto column = [&] { return static_cast<int>(at - line_begin) + 1; };
  while (at < text.size()) {
    const char c = text[at];
    if (c == '\n') {
      ++line;
      line_begin = ++at;
      continue;
    }
    if (std::isspace(static_cast<unsigned char>(c)) != 0) {
      ++at;
      continue;
    }
    if (text.substr(at, 2) == "//") {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (text.substr(at, 2) == "/*") {
      const std::size_t end = text.find("*/", at + 2);
      if (end == std::string_view::npos) {
        throw model::error(line, column(), "a comment has no end: '*/' is missing");
      }
      for (; at != end; ++at) {
        if (text[at] == '\n') {
          ++line;
          line_begin = at + 1;
        }
      }
      at += 2;
      continue;
    }
    ptx_token token{ptx_token::kind_t::symbol, {}, line, column()};
    const std::size_t begin = at;
    if (c == '"') {
      const std::size_t end = text.find_first_of("\"\n", at + 1);
      if (end == std::string_view::npos || text[end] == '\n') {
        throw model::error(line, column(), "a string has no end on its line");
      }
      token.kind = ptx_token::kind_t::string;
      token.text = text.substr(begin + 1, end - begin - 1);
      at = end + 1;
    } else if (begins_word(c)) {
      for (++at; at < text.size(); ++at) {
        if (text.substr(at, 2) == "::" && at + 2 < text.size() && begins_word(text[at + 2])) {
          ++at;
        } else if (!in_word(text[at])) {
          break;
        }
      }
      token.kind = ptx_token::kind_t::word;
      token.text = text.substr(begin, at - begin);
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '.')) {
        ++at;
      }
      token.kind = ptx_token::kind_t::number;
      token.text = text.substr(begin, at - begin);
    } else if (std::string_view("@!{}[]()<>;,:+-=|*~").find(c) != std::string_view::npos) {
      token.text = text.substr(at++, 1);
    } else {
      throw model::error(line, column(), std::string("the character '") + c + "' is none of PTX");
    }
    result.push_back(token);
  }
  result.push_back({ptx_token::kind_t::end, {}, line, column()});
  return result;
}

}  // namespace membar::inline v0_2::checker
