// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The words, numbers and symbols of a litmus file, with their places.
#pragma once

#include <membar/model/error.hpp>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace membar::litmus_files::detail {

using namespace model;
using model::error;

enum class token_kind { end, word, number, string, symbol };

struct token {
  token_kind what = token_kind::end;
  std::string_view text;
  std::int64_t value = 0;
  int line = 1;
  int column = 1;
};

/// Throws the `error` that points at a token.
[[noreturn]] inline void fail(const token& t, const std::string& message) { throw error(t.line, t.column, message); }

/// A token as messages show it.
[[nodiscard]] inline std::string shown(const token& t) {
  return t.what == token_kind::end ? std::string("the end of the file") : "'" + std::string(t.text) + "'";
}

[[nodiscard]] inline std::string lower(std::string_view word) {
  std::string result(word);
  for (char& c : result) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

/// `text` without line ends and repeated blanks.
[[nodiscard]] inline std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = std::isspace(static_cast<unsigned char>(c)) != 0;
    if (!blank) {
      line += c;
    } else if (!line.empty() && line.back() != ' ') {
      line += ' ';
    }
  }
  while (!line.empty() && line.back() == ' ') {
    line.pop_back();
  }
  return line;
}

[[nodiscard]] inline bool digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Splits the text of a litmus test into tokens; comments and blanks are skipped.
class litmus_tokens {
 public:
  explicit litmus_tokens(std::string_view text) : text_(text) {}

  // ---- the title, which is no sequence of tokens

  /// The rest of the first line, up to a description or the initial state.
  [[nodiscard]] std::string read_title() {
    while (look() == ' ' || look() == '\t') {
      advance();
    }
    const std::size_t begin = here_.at;
    const auto opens_description = [&] { return look() == '"' && here_.at > begin && text_[here_.at - 1] == ' '; };
    while (here_.at < text_.size() && look() != '\n' && look() != '{' && !opens_description()) {
      advance();
    }
    std::string_view title = text_.substr(begin, here_.at - begin);
    while (!title.empty() && std::isspace(static_cast<unsigned char>(title.back())) != 0) {
      title.remove_suffix(1);
    }
    return std::string(title);
  }

  /// Skips descriptions, and whatever else stands before the initial state.
  void skip_to_initial_state() {
    for (;;) {
      skip_blanks();
      if (here_.at >= text_.size()) {
        const token end{token_kind::symbol, "", 0, here_.line, here_.column};
        fail(end, "expected '{' before the initial state, found the end of the file");
      }
      if (look() == '{') {
        return;
      }
      if (look() == '"') {
        (void)scan();
      } else {
        advance();
      }
    }
  }

  // ---- tokens

  [[nodiscard]] const token& peek() {
    if (!ahead_) {
      ahead_ = scan();
    }
    return *ahead_;
  }

  token take() {
    token t = peek();
    ahead_.reset();
    if (t.what != token_kind::end) {
      taken_ = offset_of(t) + t.text.size();
    }
    return t;
  }

  [[nodiscard]] bool at_symbol(std::string_view symbol) { return peek().what == token_kind::symbol && peek().text == symbol; }

  bool accept(std::string_view symbol) {
    if (at_symbol(symbol)) {
      take();
      return true;
    }
    return false;
  }

  token expect(std::string_view symbol, const char* where) {
    if (!at_symbol(symbol)) {
      fail(peek(), "expected '" + std::string(symbol) + "' " + where + ", found " + shown(peek()));
    }
    return take();
  }

  token expect_word(const char* what) {
    if (peek().what != token_kind::word) {
      fail(peek(), std::string("expected ") + what + ", found " + shown(peek()));
    }
    return take();
  }

  std::int64_t expect_number(const char* what) {
    if (peek().what != token_kind::number) {
      fail(peek(), std::string("expected ") + what + ", found " + shown(peek()));
    }
    return take().value;
  }

  int expect_small(const char* what) {
    const token t = peek();
    const std::int64_t value = expect_number(what);
    if (value < 0 || value > 1000000) {
      fail(t, std::string(what) + " is out of range");
    }
    return static_cast<int>(value);
  }

  [[nodiscard]] bool at_word(std::string_view word) { return peek().what == token_kind::word && lower(peek().text) == word; }

  // ---- the text of several tokens

  /// Where the next token begins.
  [[nodiscard]] std::size_t offset() { return peek().what == token_kind::end ? text_.size() : offset_of(peek()); }
  [[nodiscard]] std::size_t offset_of(const token& t) const { return static_cast<std::size_t>(t.text.data() - text_.data()); }
  /// What was written from `begin` to the end of the last token that was taken, on one line.
  [[nodiscard]] std::string written_since(std::size_t begin) const { return one_line(text_.substr(begin, taken_ - begin)); }

 private:
  struct position {
    std::size_t at = 0;
    int line = 1;
    int column = 1;
  };

  [[nodiscard]] static bool letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
  }

  void advance() {
    if (text_[here_.at] == '\n') {
      ++here_.line;
      here_.column = 1;
    } else {
      ++here_.column;
    }
    ++here_.at;
  }

  [[nodiscard]] char look(std::size_t ahead = 0) const {
    return here_.at + ahead < text_.size() ? text_[here_.at + ahead] : '\0';
  }

  void skip_blanks() {
    for (;;) {
      if (here_.at >= text_.size()) {
        return;
      }
      const char c = look();
      if (c == '(' && look(1) == '*') {
        const token open{token_kind::symbol, "(*", 0, here_.line, here_.column};
        while (here_.at < text_.size() && !(look() == '*' && look(1) == ')')) {
          advance();
        }
        if (here_.at >= text_.size()) {
          fail(open, "this comment does not end");
        }
        advance();
        advance();
      } else if (c == '/' && look(1) == '/') {
        while (here_.at < text_.size() && look() != '\n') {
          advance();
        }
      } else if (c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == '\f' || c == '\v') {
        advance();
      } else if (here_.at == 0 && text_.substr(0, 3) == "\xEF\xBB\xBF") {
        here_.at = 3;
      } else {
        return;
      }
    }
  }

  [[nodiscard]] token scan() {
    skip_blanks();
    token t;
    t.line = here_.line;
    t.column = here_.column;
    const std::size_t begin = here_.at;
    if (begin >= text_.size()) {
      return t;
    }
    const char c = look();
    if (letter(c)) {
      t.what = token_kind::word;
      while (letter(look()) || digit(look()) || (look() == '.' && (letter(look(1)) || digit(look(1)))) ||
             (look() == ':' && look(1) == ':' && letter(look(2)))) {
        if (look() == ':') {
          advance();
        }
        advance();
      }
    } else if (digit(c) || (c == '-' && digit(look(1)))) {
      t.what = token_kind::number;
      scan_number(t);
    } else if (c == '"') {
      t.what = token_kind::string;
      advance();
      while (here_.at < text_.size() && look() != '"') {
        advance();
      }
      if (here_.at >= text_.size()) {
        fail(t, "this string does not end");
      }
      advance();
    } else {
      t.what = token_kind::symbol;
      static constexpr std::string_view pairs[] = {"/\\", "\\/", "==", "!=", "<=", ">=", "&&", "||", "->"};
      std::size_t length = 1;
      for (const std::string_view pair : pairs) {
        length = text_.substr(begin, 2) == pair ? 2 : length;
      }
      for (std::size_t i = 0; i < length; ++i) {
        advance();
      }
    }
    t.text = text_.substr(begin, here_.at - begin);
    return t;
  }

  void scan_number(token& t) {
    const bool negative = look() == '-';
    if (negative) {
      advance();
    }
    std::uint64_t base = 10;
    if (look() == '0' && (look(1) == 'x' || look(1) == 'X') && std::isxdigit(static_cast<unsigned char>(look(2))) != 0) {
      base = 16;
      advance();
      advance();
    }
    const std::uint64_t limit = base == 16 ? ~std::uint64_t{0} : (std::uint64_t{1} << 63) - (negative ? 0 : 1);
    std::uint64_t value = 0;
    for (; std::isxdigit(static_cast<unsigned char>(look())) != 0 && (base == 16 || digit(look())); advance()) {
      const char c = look();
      const auto d = static_cast<std::uint64_t>(digit(c) ? c - '0' : std::tolower(static_cast<unsigned char>(c)) - 'a' + 10);
      if (value > (limit - d) / base) {
        fail(t, "this number does not fit in 64 bits");
      }
      value = value * base + d;
    }
    if (letter(look())) {
      fail(t, "a number ends in a letter");
    }
    t.value = static_cast<std::int64_t>(negative ? std::uint64_t{0} - value : value);
  }

  std::string_view text_;
  position here_{};
  std::optional<token> ahead_;
  std::size_t taken_ = 0;  ///< where the last token that was taken ends
};

}  // namespace membar::litmus_files::detail
