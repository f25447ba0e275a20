// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <litmus/lexer.hpp>

#include <membar/model/error.hpp>

#include <cctype>

namespace membar::litmus_files::detail {

using membar_tools::quote;

namespace {

[[nodiscard]] bool letter(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
}

}  // namespace

void fail(const token& t, const std::string& message) { throw model::error(t.line, t.column, message); }

std::string shown(const token& t) { return t.what == token_kind::end ? std::string("the end of the file") : quote(t.text); }

std::string lower(std::string_view word) {
  std::string result(word);
  for (char& c : result) {
    c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

std::string one_line(std::string_view text) {
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

std::string lexer::read_title() {
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

void lexer::skip_to_initial_state() {
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

token lexer::expect(std::string_view symbol, const char* where) {
  if (!at_symbol(symbol)) {
    fail(peek(), "expected " + quote(symbol) + " " + where + ", found " + shown(peek()));
  }
  return take();
}

token lexer::expect_word(const char* what) {
  if (peek().what != token_kind::word) {
    fail(peek(), std::string("expected ") + what + ", found " + shown(peek()));
  }
  return take();
}

std::int64_t lexer::expect_number(const char* what) {
  if (peek().what != token_kind::number) {
    fail(peek(), std::string("expected ") + what + ", found " + shown(peek()));
  }
  return take().value;
}

int lexer::expect_small(const char* what) {
  const token t = peek();
  const std::int64_t value = expect_number(what);
  if (value < 0 || value > 1000000) {
    fail(t, std::string(what) + " must be from 0 to 1000000");
  }
  return static_cast<int>(value);
}

std::string lexer::location_name(const token& word) {
  std::string name(word.text);
  if (name.find('.') != std::string::npos || name.find(':') != std::string::npos) {
    fail(word, quote(name) + " is not a valid location name");
  }
  if (at_symbol("[")) {
    take();
    const int element = expect_small("an element's number");
    expect("]", "after an element's number");
    if (element != 0) {
      name += "[" + std::to_string(element) + "]";
    }
  }
  return name;
}

void lexer::advance() {
  if (text_[here_.at] == '\n') {
    ++here_.line;
    here_.column = 1;
  } else {
    ++here_.column;
  }
  ++here_.at;
}

void lexer::skip_blanks() {
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
        fail(open, "unterminated comment");
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

token lexer::scan() {
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
      fail(t, "unterminated string");
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

void lexer::scan_number(token& t) {
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
    fail(t, "a number cannot end in a letter");
  }
  t.value = static_cast<std::int64_t>(negative ? std::uint64_t{0} - value : value);
}

}  // namespace membar::litmus_files::detail
