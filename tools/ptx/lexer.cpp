// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <membar/model/error.hpp>
#include <ptx/lexer.hpp>

#include <algorithm>
#include <bit>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::ptx {

using membar_tools::quote;

std::vector<ptx_token> ptx_tokens(std::string_view text) {
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
        throw model::error(line, column(), "a string is not closed on its line");
      }
      token.kind = ptx_token::kind_t::string;
      token.text = text.substr(begin + 1, end - begin - 1);
      at = end + 1;
    } else if (begins_word(c)) {
      for (++at; at < text.size(); ++at) {
        if (text.substr(at, 2) == "::" && at + 2 < text.size() && in_word(text[at + 2])) {
          ++at;
        } else if (!in_word(text[at])) {
          break;
        }
      }
      token.kind = ptx_token::kind_t::word;
      token.text = text.substr(begin, at - begin);
    } else if (std::isdigit(static_cast<unsigned char>(c)) != 0) {
      const bool radix = c == '0' && at + 1 < text.size() && std::isalpha(static_cast<unsigned char>(text[at + 1])) != 0;
      while (at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) != 0 || text[at] == '.' ||
                                  (!radix && (text[at] == '+' || text[at] == '-') && (text[at - 1] | 32) == 'e'))) {
        ++at;
      }
      token.kind = ptx_token::kind_t::number;
      token.text = text.substr(begin, at - begin);
    } else if (std::string_view("@!{}[]()<>;,:+-=|*~").find(c) != std::string_view::npos) {
      token.text = text.substr(at++, 1);
    } else {
      throw model::error(line, column(), "the character " + quote(text.substr(at, 1)) + " is not valid in PTX");
    }
    result.push_back(token);
  }
  result.push_back({ptx_token::kind_t::end, {}, line, column()});
  return result;
}

ptx_number number_of(const ptx_token& token) {
  std::string_view digits = token.text;
  const bool radix = digits.size() > 1 && digits[0] == '0' && std::isalpha(static_cast<unsigned char>(digits[1])) != 0 &&
                     (digits[1] | 32) != 'e';
  if (!radix && digits.find_first_of(".eE") != std::string_view::npos) {
    const std::string text(digits);
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    if (*end == '\0') {
      return {std::bit_cast<std::uint64_t>(value), true};
    }
  }
  const auto begins = [&](char second) { return digits.size() > 2 && digits[0] == '0' && (digits[1] | 32) == second; };
  const bool floating = begins('f') || begins('d');
  unsigned base = 10;
  if (floating || begins('x')) {
    base = 16;
    digits.remove_prefix(2);
  } else if (begins('b')) {
    base = 2;
    digits.remove_prefix(2);
  } else if (digits.size() > 1 && digits[0] == '0') {
    base = 8;
  }
  if (base != 16 || !floating) {
    while (digits.size() > 1 && (digits.back() | 32) == 'u') {
      digits.remove_suffix(1);
    }
  }
  std::uint64_t value = 0;
  for (const char c : digits) {
    const unsigned digit = c >= '0' && c <= '9'   ? static_cast<unsigned>(c - '0')
                           : c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                           : c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A') + 10
                                                  : 99U;
    if (digit >= base) {
      throw model::error(token.line, token.column, quote(token.text) + " is not a PTX number");
    }
    if (value > (~std::uint64_t{0} - digit) / base) {
      throw model::error(token.line, token.column, "the number " + quote(token.text) + " does not fit in 64 bits");
    }
    value = value * base + digit;
  }
  return {value};
}

}  // namespace membar::ptx
