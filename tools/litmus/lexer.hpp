// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The words, numbers and symbols of a litmus file, with their positions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace membar::litmus_files::detail {

enum class token_kind { end, word, number, string, symbol };

struct token {
  token_kind what = token_kind::end;
  std::string_view text;
  std::int64_t value = 0;
  int line = 1;
  int column = 1;
};

/// Throws an `error` at the position of a token.
[[noreturn]] void fail(const token& t, const std::string& message);

/// Returns a token's text for use in messages.
[[nodiscard]] std::string shown(const token& t);

[[nodiscard]] std::string lower(std::string_view word);

/// Returns `text` on a single line, with each run of whitespace replaced by one space.
[[nodiscard]] std::string one_line(std::string_view text);

[[nodiscard]] inline bool digit(char c) noexcept { return c >= '0' && c <= '9'; }

/// Splits the text of a litmus test into tokens. Comments and whitespace are skipped.
class lexer {
 public:
  explicit lexer(std::string_view text) : text_(text) {}

  // ---- the title, which is not a sequence of tokens

  /// Returns the rest of the first line, up to a description or to the initial state.
  [[nodiscard]] std::string read_title();

  /// Skips everything before the initial state, such as descriptions.
  void skip_to_initial_state();

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

  token expect(std::string_view symbol, const char* where);
  token expect_word(const char* what);
  std::int64_t expect_number(const char* what);
  int expect_small(const char* what);

  /// Returns the name of the location that begins with `word`. An element of an array has its index in the name, except that
  /// `x[0]` is `x`.
  [[nodiscard]] std::string location_name(const token& word);

  [[nodiscard]] bool at_word(std::string_view word) { return peek().what == token_kind::word && lower(peek().text) == word; }

  // ---- the text of several tokens

  /// Returns the position of the next token in the text.
  [[nodiscard]] std::size_t offset() { return peek().what == token_kind::end ? text_.size() : offset_of(peek()); }
  [[nodiscard]] std::size_t offset_of(const token& t) const { return static_cast<std::size_t>(t.text.data() - text_.data()); }
  /// Returns the text from position `begin` to the end of the last consumed token, on a single line.
  [[nodiscard]] std::string written_since(std::size_t begin) const { return one_line(text_.substr(begin, taken_ - begin)); }

 private:
  struct position {
    std::size_t at = 0;
    int line = 1;
    int column = 1;
  };

  void advance();

  [[nodiscard]] char look(std::size_t ahead = 0) const {
    return here_.at + ahead < text_.size() ? text_[here_.at + ahead] : '\0';
  }

  void skip_blanks();

  [[nodiscard]] token scan();

  void scan_number(token& t);

  std::string_view text_;
  position here_{};
  std::optional<token> ahead_;
  std::size_t taken_ = 0;  ///< the end of the last consumed token
};

}  // namespace membar::litmus_files::detail
