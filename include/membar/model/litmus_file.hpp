// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads and writes litmus tests in the text format that public PTX tests use. docs/litmus_files.md describes it.
#pragma once

#include <membar/model/decide.hpp>
#include <membar/model/error.hpp>
#include <membar/model/program.hpp>

#include <cctype>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::model {

/// A register or a location that a test names, as a column of its table of outcomes.
struct observable {
  std::string name;  ///< "P0:r0" or "x"
  term what{};
};

/// A litmus test with its names, as read from a file.
class litmus_test {
 public:
  struct thread {
    int number = 0;  ///< the n of Pn
    place where{};
    std::vector<instruction> code;
    std::vector<std::string> text;  ///< per instruction: as it was written
    std::vector<std::string> register_names;
    std::vector<std::int64_t> registers;
    std::vector<std::pair<std::string, int>> labels;  ///< name, and the instruction it stands before
  };

  std::string name;
  std::vector<std::string> location_names;
  std::vector<location> locations;
  std::vector<thread> threads;
  std::vector<api_edge> api;
  std::vector<condition_node> condition;
  std::vector<condition_node> filter;
  quantifier quantified = quantifier::exists;
  bool has_condition = false;
  std::string condition_text;        ///< as it was written, without the quantifier
  std::string filter_text;           ///< as it was written
  std::vector<observable> observed;  ///< what condition and `locations` name, in their order

  /// A view to decide, valid as long as the test lives and is not changed.
  [[nodiscard]] test_view view() const {
    views_.clear();
    for (const thread& t : threads) {
      views_.push_back({t.where, t.code, t.registers});
    }
    return {{locations, views_, api}, condition, quantified, filter};
  }

 private:
  mutable std::vector<thread_view> views_;
};

/// Reads one litmus test. Constructed for a text, used once.
class litmus_reader {
 public:
  explicit litmus_reader(std::string_view text) : text_(text) {}

  /// The test. Throws `error` with line and column for text that is no litmus test.
  [[nodiscard]] litmus_test read() {
    read_header();
    read_initial_state();
    read_places();
    read_rows();
    resolve_labels();
    read_ending();
    check_places();
    check_extents();
    return std::move(test_);
  }

 private:
  enum class kind { end, word, number, string, symbol };

  struct token {
    kind what = kind::end;
    std::string_view text;
    std::int64_t value = 0;
    int line = 1;
    int column = 1;
  };

  struct position {
    std::size_t at = 0;
    int line = 1;
    int column = 1;
  };

  // ---- characters and tokens

  [[noreturn]] static void fail(const token& t, const std::string& message) { throw error(t.line, t.column, message); }

  [[nodiscard]] static std::string shown(const token& t) {
    return t.what == kind::end ? std::string("the end of the file") : "'" + std::string(t.text) + "'";
  }

  [[nodiscard]] static bool letter(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '%';
  }
  [[nodiscard]] static bool digit(char c) { return c >= '0' && c <= '9'; }

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
        const token open{kind::symbol, "(*", 0, here_.line, here_.column};
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
      t.what = kind::word;
      while (letter(look()) || digit(look()) || (look() == '.' && (letter(look(1)) || digit(look(1)))) ||
             (look() == ':' && look(1) == ':' && letter(look(2)))) {
        if (look() == ':') {
          advance();
        }
        advance();
      }
    } else if (digit(c) || (c == '-' && digit(look(1)))) {
      t.what = kind::number;
      scan_number(t);
    } else if (c == '"') {
      t.what = kind::string;
      advance();
      while (here_.at < text_.size() && look() != '"') {
        advance();
      }
      if (here_.at >= text_.size()) {
        fail(t, "this string does not end");
      }
      advance();
    } else {
      t.what = kind::symbol;
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

  [[nodiscard]] const token& peek() {
    if (!ahead_) {
      ahead_ = scan();
    }
    return *ahead_;
  }

  token take() {
    token t = peek();
    ahead_.reset();
    if (t.what != kind::end) {
      taken_ = static_cast<std::size_t>(t.text.data() - text_.data()) + t.text.size();
    }
    return t;
  }

  [[nodiscard]] bool at_symbol(std::string_view symbol) { return peek().what == kind::symbol && peek().text == symbol; }

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
    if (peek().what != kind::word) {
      fail(peek(), std::string("expected ") + what + ", found " + shown(peek()));
    }
    return take();
  }

  std::int64_t expect_number(const char* what) {
    if (peek().what != kind::number) {
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

  [[nodiscard]] static std::string lower(std::string_view word) {
    std::string result(word);
    for (char& c : result) {
      c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return result;
  }

  /// Where the next token begins.
  [[nodiscard]] std::size_t offset() {
    return peek().what == kind::end ? text_.size() : static_cast<std::size_t>(peek().text.data() - text_.data());
  }

  [[nodiscard]] bool at_word(std::string_view word) { return peek().what == kind::word && lower(peek().text) == word; }

  // ---- header

  void read_header() {
    const token t = take();
    if (t.what != kind::word || lower(t.text) != "ptx") {
      fail(t, "a litmus test starts with 'PTX', found " + shown(t));
    }
    while (look() == ' ' || look() == '\t') {
      advance();
    }
    const std::size_t begin = here_.at;
    while (here_.at < text_.size() && look() != '\n' && look() != '{') {
      advance();
    }
    std::string_view rest_of_line = text_.substr(begin, here_.at - begin);
    while (!rest_of_line.empty() && std::isspace(static_cast<unsigned char>(rest_of_line.back())) != 0) {
      rest_of_line.remove_suffix(1);
    }
    test_.name = std::string(rest_of_line);
    // descriptions, and whatever else stands before the initial state
    for (;;) {
      skip_blanks();
      const token place{kind::symbol, "", 0, here_.line, here_.column};
      if (here_.at >= text_.size()) {
        fail(place, "expected '{' before the initial state, found the end of the file");
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

  // ---- initial state

  [[nodiscard]] static bool register_shape(std::string_view word) {
    if (!word.empty() && word.front() == '%') {
      word.remove_prefix(1);
      return !word.empty();
    }
    if (word.size() < 2 || word.front() != 'r') {
      return false;
    }
    for (const char c : word.substr(1)) {
      if (!digit(c)) {
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] int find_location(std::string_view name) const {
    for (std::size_t i = 0; i < test_.location_names.size(); ++i) {
      if (test_.location_names[i] == name) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  int declare(const token& at, const std::string& name) {
    if (static_cast<int>(test_.locations.size()) == max_events) {
      fail(at, "more than 64 locations");
    }
    const int index = static_cast<int>(test_.locations.size());
    location l;
    l.address = index;
    l.physical = index;
    test_.location_names.push_back(name);
    test_.locations.push_back(l);
    return index;
  }

  int location_for(const token& at, const std::string& name) {
    const int known = find_location(name);
    return known >= 0 ? known : declare(at, name);
  }

  /// A location's name; an element of an array keeps its index in the name, and `x[0]` is `x`.
  std::string location_name(const token& word) {
    std::string name(word.text);
    if (name.find('.') != std::string::npos || name.find(':') != std::string::npos) {
      fail(word, "'" + name + "' is no name of a location");
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

  struct pending_register {
    token at;
    int thread = 0;
    std::string name;
    std::int64_t value = 0;
    std::string address_of;
  };

  void read_initial_state() {
    expect("{", "before the initial state");
    std::set<std::string> given;
    while (!at_symbol("}")) {
      if (accept(";")) {
        continue;
      }
      read_initial_entry(given);
      if (!at_symbol("}")) {
        expect(";", "between entries of the initial state");
      }
    }
    take();
    accept(";");
    for (const auto& [index, name, at] : initial_addresses_) {
      const int target = find_location(name);
      if (target < 0) {
        fail(at, "'" + name + "' is no location");
      }
      test_.locations[static_cast<std::size_t>(index)].initial = address_value(target);
    }
  }

  void read_initial_entry(std::set<std::string>& given) {
    token word = peek();
    if (word.what == kind::number) {
      take();
      expect(":", "after a thread's number");
      read_initial_register(word, static_cast<int>(word.value));
      return;
    }
    if (word.what == kind::symbol && word.text == "[") {  // [x] = 1
      take();
      word = expect_word("a location");
      expect("]", "after a location");
    } else {
      word = expect_word("a location or a register");
    }
    static const std::set<std::string> types = {"int", "unsigned", "long", "uint32_t", "int32_t", "uint64_t", "int64_t"};
    if (types.count(std::string(word.text)) != 0 && peek().what == kind::word) {
      word = take();
    }
    if (const std::optional<int> thread = thread_number(word.text); thread && at_symbol(":")) {
      take();
      read_initial_register(word, *thread);
      return;
    }
    if (const std::optional<int> thread = thread_number(word.text); thread && at_word("precedes")) {
      take();
      const token other = expect_word("a thread");
      const std::optional<int> after = thread_number(other.text);
      if (!after) {
        fail(other, "expected a thread, found " + shown(other));
      }
      precedes_.push_back({word, *thread, *after});
      return;
    }
    const std::string name = location_name(word);
    if (!given.insert(name).second) {
      fail(word, "'" + name + "' has an initial value already");
    }
    if (at_symbol("@")) {
      take();
      read_view(word, name);
      return;
    }
    const int index = location_for(word, name);
    if (!accept("=")) {
      return;
    }
    accept("&");
    if (peek().what == kind::word) {
      const token target = take();
      initial_addresses_.push_back({index, location_name(target), target});
    } else {
      test_.locations[static_cast<std::size_t>(index)].initial = expect_number("an initial value");
    }
  }

  // s @ surface aliases x;   b @ mbarrier 2;
  void read_view(const token& at, const std::string& name) {
    const token how = expect_word("a proxy or 'mbarrier'");
    const std::string kind_name = lower(how.text);
    if (kind_name == "mbarrier") {
      const token count = peek();
      const int arrivals = expect_small("an expected count");
      if (arrivals < 1) {
        fail(count, "an mbarrier expects at least one arrival");
      }
      test_.locations[static_cast<std::size_t>(location_for(at, name))].arrivals = arrivals;
      return;
    }
    if (kind_name != "generic" && kind_name != "surface" && kind_name != "texture" && kind_name != "constant") {
      fail(how, "expected generic, surface, texture, constant or mbarrier, found " + shown(how));
    }
    const token aliases = expect_word("'aliases'");
    if (lower(aliases.text) != "aliases") {
      fail(aliases, "expected 'aliases', found " + shown(aliases));
    }
    const token target = expect_word("a location");
    const std::string target_name = location_name(target);
    const int of = find_location(target_name);
    if (of < 0) {
      fail(target, "'" + target_name + "' is not declared before its alias");
    }
    if (find_location(name) >= 0) {
      fail(at, "'" + name + "' is declared already");
    }
    const int index = declare(at, name);
    const location base = test_.locations[static_cast<std::size_t>(of)];
    location& l = test_.locations[static_cast<std::size_t>(index)];
    l.physical = base.physical;
    // a generic alias is a virtual address of its own; a surface, texture or constant is a view of the address it names
    l.address = kind_name == "generic" ? index : base.address;
    l.initial = base.initial;
  }

  void read_initial_register(const token& at, int thread) {
    const token reg = expect_word("a register");
    pending_register p{at, thread, std::string(reg.text), 0, {}};
    if (accept("=")) {
      accept("&");
      if (peek().what == kind::word) {
        const token target = take();
        p.address_of = location_name(target);
      } else {
        p.value = expect_number("an initial value");
      }
    }
    pending_.push_back(p);
  }

  [[nodiscard]] static std::optional<int> thread_number(std::string_view word) {
    if (word.size() < 2 || word.size() > 7 || (word.front() != 'P' && word.front() != 'p')) {
      return std::nullopt;
    }
    int value = 0;
    for (const char c : word.substr(1)) {
      if (!digit(c)) {
        return std::nullopt;
      }
      value = value * 10 + (c - '0');
    }
    return value;
  }

  // ---- places

  [[nodiscard]] int thread_index(int number) const {
    for (std::size_t i = 0; i < test_.threads.size(); ++i) {
      if (test_.threads[i].number == number) {
        return static_cast<int>(i);
      }
    }
    return -1;
  }

  void read_places() {
    do {
      const token word = expect_word("a thread, as in 'P0@cta 0,gpu 0'");
      const std::optional<int> number = thread_number(word.text);
      if (!number) {
        fail(word, "expected a thread, as in 'P0@cta 0,gpu 0', found " + shown(word));
      }
      if (thread_index(*number) >= 0) {
        fail(word, "'" + std::string(word.text) + "' is declared already");
      }
      if (static_cast<int>(test_.threads.size()) == max_threads) {
        fail(word, "more than 16 threads");
      }
      expect("@", "before a thread's place");
      litmus_test::thread t;
      t.number = *number;
      t.where = read_place(word);
      test_.threads.push_back(std::move(t));
      thread_tokens_.push_back(word);
    } while (accept("|"));
    expect(";", "after the threads' places");
    labels_.resize(test_.threads.size());
    jumps_.resize(test_.threads.size());
    for (const pending_register& p : pending_) {
      const int thread = thread_index(p.thread);
      if (thread < 0) {
        fail(p.at, "there is no thread P" + std::to_string(p.thread));
      }
      const int reg = register_for(p.at, thread, p.name);
      std::int64_t value = p.value;
      if (!p.address_of.empty()) {
        const int target = find_location(p.address_of);
        if (target < 0) {
          fail(p.at, "'" + p.address_of + "' is no location");
        }
        value = address_value(target);
      }
      test_.threads[static_cast<std::size_t>(thread)].registers[static_cast<std::size_t>(reg)] = value;
    }
    for (const auto& [at, before, after] : precedes_) {
      if (thread_index(before) < 0 || thread_index(after) < 0) {
        fail(at, "there is no thread P" + std::to_string(thread_index(before) < 0 ? before : after));
      }
      test_.api.push_back({thread_index(before), thread_index(after)});
    }
  }

  place read_place(const token& at) {
    place where;
    std::set<std::string> given;
    do {
      const token word = expect_word("cta, cluster, domain, gpu or host");
      const std::string what = lower(word.text);
      if (!given.insert(what).second) {
        fail(word, "'" + what + "' is given twice");
      }
      if (what == "host") {
        where.host = true;
        continue;
      }
      int* const member = what == "cta"       ? &where.block
                          : what == "cluster" ? &where.cluster
                          : what == "domain"  ? &where.domain
                          : what == "gpu"     ? &where.gpu
                          : what == "warp"    ? &where.warp
                                              : nullptr;
      if (member == nullptr) {
        fail(word, "expected cta, cluster, domain, gpu or host, found " + shown(word));
      }
      *member = expect_small("a number");
    } while (accept(","));
    if (where.host) {
      if (given.size() != 1) {
        fail(at, "a host thread has no other place");
      }
    } else if (given.count("cta") == 0 || given.count("gpu") == 0) {
      fail(at, "a place needs both cta and gpu");
    }
    return where;
  }

  void check_places() const {
    for (std::size_t i = 0; i < test_.threads.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const place& x = test_.threads[j].where;
        const place& y = test_.threads[i].where;
        if (x.host || y.host || x.gpu != y.gpu) {
          continue;
        }
        if (x.block == y.block && x.cluster != y.cluster) {
          fail(thread_tokens_[i], "cta " + std::to_string(y.block) + " is in two clusters");
        }
        if (x.block == y.block && x.domain != y.domain) {
          fail(thread_tokens_[i], "cta " + std::to_string(y.block) + " is in two domains");
        }
        if (x.cluster >= 0 && x.cluster == y.cluster && x.domain != y.domain) {
          fail(thread_tokens_[i], "cluster " + std::to_string(y.cluster) + " is in two domains");
        }
      }
    }
  }

  // ---- instructions

  int register_for(const token& at, int thread, const std::string& name) {
    litmus_test::thread& t = test_.threads[static_cast<std::size_t>(thread)];
    for (std::size_t i = 0; i < t.register_names.size(); ++i) {
      if (t.register_names[i] == name) {
        return static_cast<int>(i);
      }
    }
    if (static_cast<int>(t.registers.size()) == max_registers) {
      fail(at, "a thread uses more than 32 registers");
    }
    t.register_names.push_back(name);
    t.registers.push_back(0);
    return static_cast<int>(t.registers.size()) - 1;
  }

  [[nodiscard]] bool known_register(int thread, std::string_view name) const {
    for (const std::string& other : test_.threads[static_cast<std::size_t>(thread)].register_names) {
      if (other == name) {
        return true;
      }
    }
    return false;
  }

  [[nodiscard]] bool names_register(int thread, std::string_view name) const {
    return known_register(thread, name) || (register_shape(name) && find_location(name) < 0);
  }

  [[nodiscard]] bool at_ending() {
    return peek().what == kind::end || at_symbol("~") || at_symbol("!") || at_word("exists") || at_word("forall") ||
           at_word("not") || at_word("filter") || at_word("locations");
  }

  void read_rows() {
    if (at_ending()) {
      return;
    }
    while (!at_ending()) {
      std::size_t column = 0;
      for (;;) {
        if (!at_symbol("|") && !at_symbol(";")) {
          if (column >= test_.threads.size()) {
            fail(peek(), "this row has more columns than there are threads");
          }
          read_cell(static_cast<int>(column));
        }
        if (accept(";")) {
          break;
        }
        if (!at_symbol("|")) {
          fail(peek(), "expected '|' or ';' after an instruction, found " + shown(peek()));
        }
        take();
        ++column;
      }
    }
  }

  void read_cell(int thread) {
    while (!at_symbol("|") && !at_symbol(";")) {
      const token word = expect_word("an instruction");
      if (at_symbol(":")) {
        take();
        if (!labels_[static_cast<std::size_t>(thread)]
                 .emplace(std::string(word.text), static_cast<int>(test_.threads[static_cast<std::size_t>(thread)].code.size()))
                 .second) {
          fail(word, "the label '" + std::string(word.text) + "' is there twice");
        }
        test_.threads[static_cast<std::size_t>(thread)].labels.emplace_back(
            std::string(word.text), static_cast<int>(test_.threads[static_cast<std::size_t>(thread)].code.size()));
        continue;
      }
      read_instruction(word, thread);
      return;
    }
  }

  /// The parts of a mnemonic, and what they were found to mean.
  struct mnemonic {
    std::vector<std::string> parts;
    std::optional<memory_order> order;
    bool weak = false;
    bool is_volatile = false;
    bool mmio = false;
    std::optional<thread_scope> scope;
    std::optional<operation> what;
    int bytes = 0;
    int elements = 1;
    std::vector<std::string> others;
  };

  [[nodiscard]] static std::vector<std::string> split(const std::string& word) {
    std::vector<std::string> parts(1);
    for (const char c : word) {
      if (c == '.') {
        parts.emplace_back();
      } else {
        parts.back() += c;
      }
    }
    return parts;
  }

  [[nodiscard]] static int type_bytes(const std::string& part) {
    if (part.size() < 2 || std::string_view("busf").find(part.front()) == std::string_view::npos) {
      return 0;
    }
    static const std::map<std::string, int> sizes = {{"8", 1}, {"16", 2}, {"32", 4}, {"64", 8}, {"128", 16}};
    const auto found = sizes.find(part.substr(1));
    return found == sizes.end() ? 0 : found->second;
  }

  [[nodiscard]] mnemonic analyse(const token& word) const {
    static const std::map<std::string, memory_order> orders = {{"relaxed", memory_order::relaxed},
                                                               {"acquire", memory_order::acquire},
                                                               {"release", memory_order::release},
                                                               {"acq_rel", memory_order::acq_rel},
                                                               {"sc", memory_order::seq_cst}};
    static const std::map<std::string, thread_scope> scopes = {{"cta", thread_scope::block},
                                                               {"cluster", thread_scope::cluster},
                                                               {"gpu", thread_scope::device},
                                                               {"sys", thread_scope::system}};
    static const std::map<std::string, operation> operations = {
        {"add", operation::add},        {"plus", operation::add},     {"sub", operation::subtract},
        {"minus", operation::subtract}, {"mul", operation::multiply}, {"div", operation::divide},
        {"and", operation::bit_and},    {"or", operation::bit_or},    {"xor", operation::bit_xor},
        {"min", operation::minimum},    {"max", operation::maximum},  {"inc", operation::increment},
        {"dec", operation::decrement},  {"exch", operation::move},    {"cas", operation::compare_exchange}};
    static const std::set<std::string> spaces = {"global", "shared", "shared::cta", "shared::cluster", "generic"};
    mnemonic m;
    m.parts = split(lower(word.text));
    for (std::size_t i = 1; i < m.parts.size(); ++i) {
      const std::string& part = m.parts[i];
      const auto once = [&](bool fresh) {
        if (!fresh) {
          fail(word, "'" + std::string(word.text) + "' says '" + part + "' on top of another word of its kind");
        }
      };
      if (const auto order = orders.find(part); order != orders.end()) {
        once(!m.order && !m.weak);
        m.order = order->second;
      } else if (part == "weak") {
        once(!m.order && !m.weak);
        m.weak = true;
      } else if (part == "volatile") {
        m.is_volatile = true;
      } else if (part == "mmio") {
        m.mmio = true;
      } else if (const auto scope = scopes.find(part); scope != scopes.end()) {
        once(!m.scope);
        m.scope = scope->second;
      } else if (const auto what = operations.find(part); what != operations.end()) {
        once(!m.what);
        m.what = what->second;
      } else if (type_bytes(part) != 0) {
        once(m.bytes == 0);
        m.bytes = type_bytes(part);
      } else if (part == "v2" || part == "v4" || part == "v8") {
        once(m.elements == 1);
        m.elements = part.back() - '0';
      } else if (spaces.count(part) == 0) {
        m.others.push_back(part);
      }
    }
    return m;
  }

  static void no_others(const token& word, const mnemonic& m) {
    if (!m.others.empty()) {
      fail(word, "'" + std::string(word.text) + "': '" + m.others.front() + "' is not known here");
    }
  }

  [[nodiscard]] static bool starts(const std::string& text, std::string_view with) { return text.rfind(with, 0) == 0; }

  void read_instruction(const token& word, int thread) {
    const std::size_t begin = static_cast<std::size_t>(word.text.data() - text_.data());
    instruction i;
    i.line = word.line;
    const std::string head = split(lower(word.text)).front();
    if (test_.threads[static_cast<std::size_t>(thread)].where.host &&
        (head == "bar" || head == "barrier" || head == "mbarrier")) {
      fail(word, "a host thread takes part in no barrier");
    }
    std::vector<instruction> more;
    if (head == "ld" || head == "tld" || head == "suld" || head == "cold") {
      read_load(word, thread, head, i, more);
    } else if (head == "st" || head == "sust") {
      read_store(word, thread, head, i, more);
    } else if (head == "atom" || head == "suatom" || head == "red" || head == "sured") {
      read_atomic(word, thread, head, i);
    } else if (head == "fence" || head == "membar") {
      read_fence(word, head, i);
    } else if (head == "bar" || head == "barrier") {
      read_barrier(word, thread, i);
    } else if (head == "mbarrier") {
      read_mbarrier(word, thread, i);
    } else if (head == "goto" || head == "bra" || (head.size() == 3 && head.front() == 'b' && is_branch(head))) {
      read_jump(word, thread, head, i);
    } else {
      read_compute(word, thread, head, i);
    }
    litmus_test::thread& t = test_.threads[static_cast<std::size_t>(thread)];
    const std::string written = one_line(text_.substr(begin, taken_ - begin));
    t.code.push_back(i);
    t.text.push_back(written);
    for (const instruction& element : more) {
      t.code.push_back(element);
      t.text.push_back(written);
    }
    if (t.code.size() > 1000) {
      fail(word, "a thread has more than 1000 instructions");
    }
  }

  [[nodiscard]] static bool is_branch(const std::string& head) {
    return head == "beq" || head == "bne" || head == "blt" || head == "ble" || head == "bgt" || head == "bge";
  }

  void need_comma() { expect(",", "between operands"); }

  int read_destination(int thread) {
    const token word = expect_word("a register");
    if (word.text == "_") {
      return -1;
    }
    if (find_location(word.text) >= 0 && !known_register(thread, word.text)) {
      fail(word, "'" + std::string(word.text) + "' is a location; a register is wanted");
    }
    if (word.text.find('.') != std::string_view::npos) {
      fail(word, "expected a register, found " + shown(word));
    }
    return register_for(word, thread, std::string(word.text));
  }

  operand read_operand(int thread) {
    if (peek().what == kind::number) {
      return {false, 0, take().value};
    }
    const token word = expect_word("a register or a number");
    if (names_register(thread, word.text)) {
      return {true, register_for(word, thread, std::string(word.text)), 0};
    }
    if (find_location(word.text) >= 0) {
      fail(word, "'" + std::string(word.text) + "' is a location; a register or a number is wanted");
    }
    fail(word, "'" + std::string(word.text) + "' is no register of this thread");
  }

  void read_address(int thread, instruction& i) {
    const bool bracketed = accept("[");
    const token word = expect_word("a location");
    if (names_register(thread, word.text)) {
      i.indirect = true;
      i.target = register_for(word, thread, std::string(word.text));
    } else {
      i.target = location_for(word, bracketed ? std::string(word.text) : location_name(word));
      if (test_.locations[static_cast<std::size_t>(i.target)].arrivals != 0) {
        fail(word, "'" + std::string(word.text) + "' is an mbarrier");
      }
    }
    if (bracketed) {
      expect("]", "after an address");
    }
  }

  static void set_bytes(instruction& i, const mnemonic& m) { i.bytes = static_cast<std::uint8_t>(m.bytes == 0 ? 4 : m.bytes); }

  /// Strength, order and scope of a load or a store.
  static void set_order(const token& word, const mnemonic& m, bool is_store, instruction& i) {
    no_others(word, m);
    const std::string name(word.text);
    if (m.is_volatile) {
      if (m.order || m.scope || m.weak) {
        fail(word, "'" + name + "': volatile takes no order and no scope");
      }
      i.strong = true;
      i.scope = thread_scope::system;
      return;
    }
    if (m.mmio) {
      if ((m.order && *m.order != memory_order::relaxed) || (m.scope && *m.scope != thread_scope::system) || m.weak) {
        fail(word, "'" + name + "': mmio is relaxed and of system scope");
      }
      i.strong = true;
      i.scope = thread_scope::system;
      return;
    }
    if (!m.order) {
      return;
    }
    const memory_order wrong = is_store ? memory_order::acquire : memory_order::release;
    if (*m.order == wrong || *m.order == memory_order::acq_rel || *m.order == memory_order::seq_cst) {
      fail(word, std::string(is_store ? "a store" : "a load") + " is weak, relaxed or " + (is_store ? "release" : "acquire") +
                     ", not '" + name + "'");
    }
    if (!m.scope) {
      fail(word, "'" + name + "' needs a scope: cta, cluster, gpu or sys");
    }
    i.strong = true;
    i.order = *m.order;
    i.scope = *m.scope;
  }

  [[nodiscard]] static proxy proxy_of(const std::string& head) {
    return starts(head, "su") ? proxy::surface
           : head == "tld"    ? proxy::texture
           : head == "cold"   ? proxy::constant
                              : proxy::generic;
  }

  void read_load(const token& word, int thread, const std::string& head, instruction& i, std::vector<instruction>& more) {
    const mnemonic m = analyse(word);
    i.code = opcode::load;
    i.via = proxy_of(head);
    set_bytes(i, m);
    if (m.what) {
      fail(word, "'" + std::string(word.text) + "': a load computes nothing");
    }
    set_order(word, m, false, i);
    if (m.elements > 1) {
      std::vector<int> destinations;
      expect("{", "before a vector's registers");
      do {
        destinations.push_back(read_destination(thread));
      } while (accept(","));
      expect("}", "after a vector's registers");
      need_comma();
      read_vector(word, thread, m, i, more, destinations.size());
      i.destination = destinations.front();
      for (std::size_t k = 0; k < more.size(); ++k) {
        more[k].destination = destinations[k + 1];
      }
      return;
    }
    i.destination = read_destination(thread);
    need_comma();
    // ld r0, 1 and ld r0, r1 are moves, and so is ld.weak r0, 1; ld.weak r0, r1 loads from the address in r1
    const bool bare = m.parts.size() == 1;
    if (peek().what == kind::number || (bare && peek().what == kind::word && names_register(thread, peek().text))) {
      if (i.strong) {
        fail(peek(), "'" + std::string(word.text) + "' wants a location, found " + shown(peek()));
      }
      i.code = opcode::compute;
      i.via = proxy::generic;
      i.b = read_operand(thread);
      return;
    }
    read_address(thread, i);
  }

  void read_store(const token& word, int thread, const std::string& head, instruction& i, std::vector<instruction>& more) {
    const mnemonic m = analyse(word);
    i.code = opcode::store;
    i.via = proxy_of(head);
    set_bytes(i, m);
    if (m.what) {
      fail(word, "'" + std::string(word.text) + "': a store computes nothing");
    }
    set_order(word, m, true, i);
    if (m.elements > 1) {
      read_vector(word, thread, m, i, more, static_cast<std::size_t>(m.elements));
      need_comma();
      expect("{", "before a vector's values");
      for (std::size_t k = 0; k < static_cast<std::size_t>(m.elements); ++k) {
        if (k > 0) {
          need_comma();
        }
        (k == 0 ? i : more[k - 1]).a = read_operand(thread);
      }
      expect("}", "after a vector's values");
      return;
    }
    read_address(thread, i);
    need_comma();
    i.a = read_operand(thread);
  }

  /// The address of a vector access and its elements after the first.
  void read_vector(const token& word, int thread, const mnemonic& m, instruction& i, std::vector<instruction>& more,
                   std::size_t given) {
    if (given != static_cast<std::size_t>(m.elements)) {
      fail(word, "'" + std::string(word.text) + "' takes " + std::to_string(m.elements) + " registers");
    }
    const token at = peek();
    read_address(thread, i);
    if (i.indirect) {
      fail(at, "the address of a vector access is a location here");
    }
    const std::string base = test_.location_names[static_cast<std::size_t>(i.target)];
    if (base.find('[') != std::string::npos) {
      fail(at, "a vector access starts at element 0 here");
    }
    for (int k = 1; k < m.elements; ++k) {
      instruction element = i;
      element.element = static_cast<std::uint8_t>(k);
      element.target = location_for(at, base + "[" + std::to_string(k) + "]");
      more.push_back(element);
    }
  }

  void read_atomic(const token& word, int thread, const std::string& head, instruction& i) {
    const mnemonic m = analyse(word);
    no_others(word, m);
    const bool reduces = head == "red" || head == "sured";
    i.code = reduces ? opcode::reduction : opcode::atomic;
    i.via = proxy_of(head);
    set_bytes(i, m);
    if (!m.what) {
      fail(word, "'" + std::string(word.text) + "' does not say what it does: add, exch, cas, ...");
    }
    if (m.weak || m.is_volatile || m.mmio || (m.order && *m.order == memory_order::seq_cst) || m.elements > 1) {
      fail(word, "'" + std::string(word.text) + "': an atomic is relaxed, acquire, release or acq_rel");
    }
    i.strong = true;
    i.what = *m.what;
    i.order = m.order.value_or(memory_order::relaxed);
    i.scope = m.scope.value_or(thread_scope::device);  // PTX: .gpu where none is given
    if (!reduces) {
      i.destination = read_destination(thread);
      need_comma();
    }
    read_address(thread, i);
    need_comma();
    i.a = read_operand(thread);
    if (i.what == operation::compare_exchange) {
      need_comma();
      i.b = read_operand(thread);
    }
  }

  void read_fence(const token& word, const std::string& head, instruction& i) {
    const std::vector<std::string> parts = split(lower(word.text));
    if (head == "fence" && parts.size() >= 2 && parts[1] == "proxy") {
      i.code = opcode::proxy_fence;
      if (parts.size() < 3) {
        fail(word, "'fence.proxy' does not say which proxy");
      }
      static const std::map<std::string, proxy> kinds = {{"alias", proxy::alias},
                                                         {"surface", proxy::surface},
                                                         {"texture", proxy::texture},
                                                         {"constant", proxy::constant},
                                                         {"generic", proxy::generic}};
      if (const auto found = kinds.find(parts[2]); found != kinds.end() && parts.size() == 3) {
        i.via = found->second;
      } else if (parts[2] == "async" || starts(parts[2], "async::") || starts(parts[2], "tensormap::")) {
        i.via = proxy::other;  // no instruction of a test goes through these proxies
        if (accept("[")) {
          (void)expect_word("a location");
          expect("]", "after an address");
          need_comma();
          (void)expect_number("a size");
        }
      } else {
        fail(word, "'" + std::string(word.text) + "': this proxy fence is not known");
      }
      return;
    }
    i.code = opcode::fence;
    if (head == "membar") {  // the older spelling: fence.sc
      static const std::map<std::string, thread_scope> levels = {
          {"cta", thread_scope::block}, {"gl", thread_scope::device}, {"sys", thread_scope::system}};
      const auto found = parts.size() == 2 ? levels.find(parts[1]) : levels.end();
      if (found == levels.end()) {
        fail(word, "expected membar.cta, membar.gl or membar.sys, found " + shown(word));
      }
      i.order = memory_order::seq_cst;
      i.scope = found->second;
      return;
    }
    const mnemonic m = analyse(word);
    no_others(word, m);
    if (m.weak || m.is_volatile || m.mmio || m.what || m.bytes != 0 || m.elements > 1 ||
        (m.order && *m.order == memory_order::relaxed)) {
      fail(word, "'" + std::string(word.text) + "': a fence is sc, acq_rel, acquire or release");
    }
    if (!m.scope) {
      fail(word, "'" + std::string(word.text) + "' needs a scope: cta, cluster, gpu or sys");
    }
    i.order = m.order.value_or(memory_order::acq_rel);
    i.scope = *m.scope;
  }

  void read_barrier(const token& word, int thread, instruction& i) {
    std::vector<std::string> parts = split(lower(word.text));
    i.code = opcode::barrier;
    if (!parts.empty() && parts.back() == "aligned") {
      parts.pop_back();
    }
    if (parts.size() >= 3 && parts[1] == "cluster") {
      i.barrier = barrier_kind::cluster;
      const std::string form = parts.size() == 4 ? parts[3] : "";
      if (parts.size() <= 4 && parts[2] == "arrive" && (form.empty() || form == "release" || form == "relaxed")) {
        i.arrives = true;
        i.order = form == "relaxed" ? memory_order::relaxed : memory_order::release;
        return;
      }
      if (parts.size() <= 4 && parts[2] == "wait" && (form.empty() || form == "acquire")) {
        i.waits = true;
        i.order = memory_order::acquire;
        return;
      }
      fail(word, "expected barrier.cluster.arrive{.release,.relaxed} or barrier.cluster.wait{.acquire}, found " + shown(word));
    }
    if (parts.size() == 3 && parts[1] == "warp" && parts[2] == "sync") {
      i.barrier = barrier_kind::warp;
      i.arrives = true;
      i.waits = true;
      i.a = read_operand(thread);
      i.b = {false, 0, -1};
      return;
    }
    if (parts.size() == 3 && parts[1] == "cta") {
      parts.erase(parts.begin() + 1);
    }
    if (parts.size() != 2 || (parts[1] != "sync" && parts[1] != "red" && parts[1] != "arrive")) {
      fail(word, "expected bar.cta.sync, .red or .arrive, bar.warp.sync or barrier.cluster.*, found " + shown(word));
    }
    i.arrives = true;
    i.waits = parts[1] != "arrive";
    i.a = read_operand(thread);
    i.b = {false, 0, -1};
    if (accept(",")) {
      i.b = read_operand(thread);
      if (accept(",")) {
        const token count = peek();
        i.has_quorum = true;
        i.c = read_operand(thread);
        if (!i.c.is_register && i.c.value < 1) {
          fail(count, "a barrier's count is at least 1");
        }
      }
    }
  }

  void read_mbarrier(const token& word, int thread, instruction& i) {
    const mnemonic m = analyse(word);
    const std::string form = m.others.empty() ? "" : m.others.front();
    if (m.others.size() != 1 || (form != "arrive" && form != "test_wait" && form != "try_wait") || m.weak || m.what) {
      fail(word, "expected mbarrier.arrive, mbarrier.test_wait or mbarrier.try_wait, found " + shown(word));
    }
    const bool arrives = form == "arrive";
    const memory_order natural = arrives ? memory_order::release : memory_order::acquire;
    i.code = arrives ? opcode::mbarrier_arrive : opcode::mbarrier_wait;
    i.arrives = arrives;
    i.waits = !arrives;
    i.order = m.order.value_or(natural);
    if (i.order != natural && i.order != memory_order::relaxed) {
      fail(word, "'" + std::string(word.text) + "': an arrival is release or relaxed, a wait acquire or relaxed");
    }
    i.scope = m.scope.value_or(thread_scope::block);
    if (!arrives && peek().what == kind::word && names_register(thread, peek().text)) {
      i.destination = read_destination(thread);
      need_comma();
    }
    const bool bracketed = accept("[");
    const token at = expect_word("an mbarrier");
    i.target = find_location(at.text);
    if (i.target < 0 || test_.locations[static_cast<std::size_t>(i.target)].arrivals == 0) {
      fail(at, "'" + std::string(at.text) + "' is no mbarrier: declare it as '" + std::string(at.text) + " @ mbarrier 2;'");
    }
    if (bracketed) {
      expect("]", "after an address");
    }
    i.b = {false, 0, -1};
    if (!arrives) {
      need_comma();
      i.a = read_operand(thread);
    }
  }

  void read_jump(const token& word, int thread, const std::string& head, instruction& i) {
    if (lower(word.text) != head) {
      fail(word, shown(word) + " is no instruction");
    }
    i.code = opcode::jump;
    if (head != "goto" && head != "bra") {
      static const std::map<std::string, comparison> tests = {{"beq", comparison::equal},   {"bne", comparison::not_equal},
                                                              {"blt", comparison::less},    {"ble", comparison::less_equal},
                                                              {"bgt", comparison::greater}, {"bge", comparison::greater_equal}};
      i.code = opcode::branch;
      i.test = tests.at(head);
      i.a = read_operand(thread);
      need_comma();
      i.b = read_operand(thread);
      need_comma();
    }
    const token label = expect_word("a label");
    jumps_[static_cast<std::size_t>(thread)].push_back(
        {label, static_cast<int>(test_.threads[static_cast<std::size_t>(thread)].code.size())});
  }

  void read_compute(const token& word, int thread, const std::string& head, instruction& i) {
    static const std::map<std::string, operation> operations = {
        {"mov", operation::move},      {"add", operation::add},     {"sub", operation::subtract}, {"mul", operation::multiply},
        {"mult", operation::multiply}, {"div", operation::divide},  {"and", operation::bit_and},  {"or", operation::bit_or},
        {"xor", operation::bit_xor},   {"min", operation::minimum}, {"max", operation::maximum}};
    const auto found = operations.find(head);
    if (found == operations.end()) {
      fail(word, shown(word) + " is no instruction");
    }
    for (const std::string& part : split(lower(word.text))) {
      if (part != head && part != "lo" && type_bytes(part) == 0) {
        fail(word, shown(word) + " is no instruction");
      }
    }
    i.code = opcode::compute;
    i.what = found->second;
    i.destination = read_destination(thread);
    need_comma();
    if (i.what != operation::move) {
      i.a = read_operand(thread);
      need_comma();
    }
    i.b = read_operand(thread);
  }

  void resolve_labels() {
    for (std::size_t t = 0; t < test_.threads.size(); ++t) {
      for (const auto& [label, at] : jumps_[t]) {
        const auto found = labels_[t].find(std::string(label.text));
        if (found == labels_[t].end()) {
          fail(label, "there is no label '" + std::string(label.text) + "' in this thread");
        }
        test_.threads[t].code[static_cast<std::size_t>(at)].target = found->second;
      }
    }
  }

  /// Accesses of different size to one location are for the model to judge; an access that reaches into a neighbour has no
  /// meaning here, as a name stands for one value.
  void check_extents() const {
    for (const litmus_test::thread& t : test_.threads) {
      for (const instruction& i : t.code) {
        const bool access =
            i.code == opcode::load || i.code == opcode::store || i.code == opcode::atomic || i.code == opcode::reduction;
        if (!access || i.indirect || i.target < 0) {
          continue;
        }
        const std::string& name = test_.location_names[static_cast<std::size_t>(i.target)];
        const std::string array = name.substr(0, name.find('['));
        bool is_array = false;
        for (const std::string& other : test_.location_names) {
          is_array = is_array || starts(other, array + "[");
        }
        for (const litmus_test::thread& u : test_.threads) {
          for (const instruction& j : u.code) {
            const bool other =
                j.code == opcode::load || j.code == opcode::store || j.code == opcode::atomic || j.code == opcode::reduction;
            if (is_array && other && !j.indirect && j.target >= 0 && j.bytes != i.bytes) {
              const std::string& there = test_.location_names[static_cast<std::size_t>(j.target)];
              if (there == array || starts(there, array + "[")) {
                throw error(i.line, 1, "mixed-size accesses of the array '" + array + "' are not decided");
              }
            }
          }
        }
      }
    }
  }

  // ---- condition

  void read_ending() {
    bool ended = false;
    while (peek().what != kind::end) {
      if (peek().what == kind::string) {
        take();
        continue;
      }
      if (at_word("locations")) {
        take();
        read_locations();
        continue;
      }
      if (at_word("filter")) {
        take();
        names_count_ = false;
        const std::size_t begin = offset();
        read_disjunction(test_.filter, 0);
        test_.filter_text = one_line(text_.substr(begin, taken_ - begin));
        names_count_ = true;
        accept(";");
        continue;
      }
      if (ended) {
        fail(peek(), "expected the end of the file after the condition, found " + shown(peek()));
      }
      if (at_symbol("~") || at_symbol("!") || at_word("not")) {
        take();
        const token word = expect_word("'exists'");
        if (lower(word.text) != "exists") {
          fail(word, "expected 'exists', found " + shown(word));
        }
        test_.quantified = quantifier::not_exists;
      } else if (at_word("exists")) {
        take();
        test_.quantified = quantifier::exists;
      } else if (at_word("forall")) {
        take();
        test_.quantified = quantifier::forall;
      } else {
        fail(peek(), "expected exists, ~exists or forall, found " + shown(peek()));
      }
      const std::size_t begin = offset();
      read_disjunction(test_.condition, 0);
      test_.condition_text = one_line(text_.substr(begin, taken_ - begin));
      test_.has_condition = true;
      ended = true;
      accept(";");
    }
  }

  [[nodiscard]] static std::string one_line(std::string_view text) {
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

  void read_locations() {
    expect("[", "after 'locations'");
    while (!at_symbol("]")) {
      if (accept(";") || accept(",")) {
        continue;
      }
      const token at = peek();
      const term t = read_term();
      if (t.kind == term::kind_t::constant) {
        fail(at, "expected a location or a register, found " + shown(at));
      }
    }
    take();
    accept(";");
  }

  int read_disjunction(std::vector<condition_node>& nodes, int depth) {
    int left = read_conjunction(nodes, depth);
    while (at_symbol("\\/") || at_symbol("||")) {
      take();
      const int right = read_conjunction(nodes, depth);
      left = join(nodes, condition_node::kind_t::disjunction, left, right);
    }
    return left;
  }

  int read_conjunction(std::vector<condition_node>& nodes, int depth) {
    int left = read_negation(nodes, depth);
    while (at_symbol("/\\") || at_symbol("&&")) {
      take();
      const int right = read_negation(nodes, depth);
      left = join(nodes, condition_node::kind_t::conjunction, left, right);
    }
    return left;
  }

  int read_negation(std::vector<condition_node>& nodes, int depth) {
    if (depth > 200) {
      fail(peek(), "this condition is nested too deeply");
    }
    if (at_symbol("~") || at_symbol("!") || at_word("not")) {
      take();
      const int inner = read_negation(nodes, depth + 1);
      return join(nodes, condition_node::kind_t::negation, inner, inner);
    }
    if (accept("(")) {
      const int inner = read_disjunction(nodes, depth + 1);
      expect(")", "in the condition");
      return inner;
    }
    if (at_word("true")) {
      take();
      nodes.emplace_back();
      return static_cast<int>(nodes.size()) - 1;
    }
    condition_node n;
    n.kind = condition_node::kind_t::compare;
    n.left = read_term();
    static const std::map<std::string_view, comparison> tests = {
        {"=", comparison::equal},       {"==", comparison::equal},  {"!=", comparison::not_equal},    {"<", comparison::less},
        {"<=", comparison::less_equal}, {">", comparison::greater}, {">=", comparison::greater_equal}};
    const token symbol = peek();
    const auto found = symbol.what == kind::symbol ? tests.find(symbol.text) : tests.end();
    if (found == tests.end()) {
      fail(symbol, "expected a comparison, found " + shown(symbol));
    }
    take();
    n.test = found->second;
    n.right = read_term();
    nodes.push_back(n);
    return static_cast<int>(nodes.size()) - 1;
  }

  static int join(std::vector<condition_node>& nodes, condition_node::kind_t what, int left, int right) {
    condition_node n;
    n.kind = what;
    n.first = left;
    n.second = right;
    nodes.push_back(n);
    return static_cast<int>(nodes.size()) - 1;
  }

  term read_term() {
    const token at = peek();
    if (at.what == kind::number) {
      take();
      if (at_symbol(":")) {
        take();
        return register_term(at, static_cast<int>(at.value));
      }
      term t;
      t.value = at.value;
      return t;
    }
    const bool bracketed = accept("[");
    const bool address = accept("&");
    const token word = expect_word("a register, a location or a number");
    if (const std::optional<int> thread = thread_number(word.text); thread && at_symbol(":") && !bracketed) {
      take();
      return register_term(word, *thread);
    }
    const std::string name = bracketed ? std::string(word.text) : location_name(word);
    if (bracketed) {
      expect("]", "after a location");
    }
    term t;
    t.kind = term::kind_t::memory_value;
    t.index = find_location(name);
    if (t.index < 0) {
      fail(word, "'" + name + "' is no location of this test");
    }
    if (test_.locations[static_cast<std::size_t>(t.index)].arrivals != 0) {
      fail(word, "'" + name + "' is an mbarrier and has no value");
    }
    if (address) {
      term constant;
      constant.value = address_value(t.index);
      return constant;
    }
    observe(name, t);
    return t;
  }

  term register_term(const token& at, int number) {
    const int thread = thread_index(number);
    if (thread < 0) {
      fail(at, "there is no thread P" + std::to_string(number));
    }
    const token reg = expect_word("a register");
    term t;
    t.kind = term::kind_t::register_value;
    t.thread = thread;
    t.index = register_for(reg, thread, std::string(reg.text));
    observe("P" + std::to_string(number) + ":" + std::string(reg.text), t);
    return t;
  }

  void observe(const std::string& name, const term& t) {
    if (!names_count_) {
      return;
    }
    for (const observable& o : test_.observed) {
      if (o.name == name) {
        return;
      }
    }
    test_.observed.push_back({name, t});
  }

  struct jump_to {
    token label;
    int at = 0;
  };
  struct initial_address {
    int index = 0;
    std::string name;
    token at;
  };
  struct precedence {
    token at;
    int before = 0;
    int after = 0;
  };

  std::string_view text_;
  position here_{};
  std::optional<token> ahead_;
  std::size_t taken_ = 0;  ///< where the last token that was taken ends
  litmus_test test_;
  std::vector<token> thread_tokens_;
  std::vector<pending_register> pending_;
  std::vector<initial_address> initial_addresses_;
  std::vector<precedence> precedes_;
  std::vector<std::map<std::string, int>> labels_;
  std::vector<std::vector<jump_to>> jumps_;
  bool names_count_ = true;
};

/// Reads one litmus test. Throws `error` with line and column for text that is none.
[[nodiscard]] inline litmus_test read_litmus(std::string_view text) { return litmus_reader(text).read(); }

/// The text of a test: reading it again gives the same test.
[[nodiscard]] inline std::string write_litmus(const litmus_test& test) {
  const auto value = [&](std::int64_t number) {
    for (std::size_t i = 0; i < test.locations.size(); ++i) {
      if (number == address_value(static_cast<int>(i))) {
        return "&" + test.location_names[i];
      }
    }
    return std::to_string(number);
  };
  std::string out = "PTX " + test.name + "\n{\n";
  for (std::size_t i = 0; i < test.locations.size(); ++i) {
    const location& l = test.locations[i];
    const std::string& name = test.location_names[i];
    if (l.arrivals != 0) {
      out += "  " + name + " @ mbarrier " + std::to_string(l.arrivals) + ";\n";
    } else if (l.physical == static_cast<int>(i)) {
      out += "  " + name + " = " + value(l.initial) + ";\n";
    } else if (l.address == static_cast<int>(i)) {
      out += "  " + name + " @ generic aliases " + test.location_names[static_cast<std::size_t>(l.physical)] + ";\n";
    } else {
      // which proxy the view was declared for has no meaning: instructions say which proxy they go through
      out += "  " + name + " @ surface aliases " + test.location_names[static_cast<std::size_t>(l.address)] + ";\n";
    }
  }
  const auto thread_name = [&](std::size_t t) { return "P" + std::to_string(test.threads[t].number); };
  for (std::size_t t = 0; t < test.threads.size(); ++t) {
    for (std::size_t r = 0; r < test.threads[t].registers.size(); ++r) {
      out +=
          "  " + thread_name(t) + ":" + test.threads[t].register_names[r] + " = " + value(test.threads[t].registers[r]) + ";\n";
    }
  }
  for (const api_edge& edge : test.api) {
    out += "  " + thread_name(static_cast<std::size_t>(edge.before)) + " precedes " +
           thread_name(static_cast<std::size_t>(edge.after)) + ";\n";
  }
  out += "}\n";
  std::vector<std::vector<std::string>> columns;
  std::size_t rows = 0;
  for (std::size_t t = 0; t < test.threads.size(); ++t) {
    const litmus_test::thread& thread = test.threads[t];
    const place& where = thread.where;
    std::string head = thread_name(t) + "@";
    if (where.host) {
      head += "host";
    } else {
      head += "cta " + std::to_string(where.block) + (where.cluster >= 0 ? ",cluster " + std::to_string(where.cluster) : "") +
              (where.domain != 0 ? ",domain " + std::to_string(where.domain) : "") + ",gpu " + std::to_string(where.gpu) +
              (where.warp != 0 ? ",warp " + std::to_string(where.warp) : "");
    }
    std::vector<std::string> column = {head};
    for (std::size_t i = 0; i <= thread.code.size(); ++i) {
      for (const auto& [label, at] : thread.labels) {
        if (at == static_cast<int>(i)) {
          column.push_back(label + ":");
        }
      }
      if (i < thread.code.size() && thread.code[i].element == 0) {
        column.push_back(thread.text[i]);
      }
    }
    rows = column.size() > rows ? column.size() : rows;
    columns.push_back(std::move(column));
  }
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t t = 0; t < columns.size(); ++t) {
      std::size_t width = 0;
      for (const std::string& cell : columns[t]) {
        width = cell.size() > width ? cell.size() : width;
      }
      std::string cell = row < columns[t].size() ? columns[t][row] : "";
      cell.resize(width, ' ');
      out += (t == 0 ? " " : " | ") + cell;
    }
    out += " ;\n";
  }
  if (!test.filter.empty()) {
    out += "filter " + test.filter_text + "\n";
  }
  if (test.has_condition) {
    out += (test.quantified == quantifier::exists   ? "exists "
            : test.quantified == quantifier::forall ? "forall "
                                                    : "~exists ") +
           test.condition_text + "\n";
  } else if (!test.observed.empty()) {
    out += "locations [";
    for (const observable& o : test.observed) {
      out += o.name + "; ";
    }
    out += "]\n";
  }
  return out;
}

/// Decides a test read from a file. Throws `error` if it has no condition, exceeds a limit or has no defined behaviour.
[[nodiscard]] inline decision decide(const litmus_test& test) {
  if (!test.has_condition) {
    throw error("the test has no condition: expected exists, ~exists or forall");
  }
  return decide(test.view());
}

}  // namespace membar::model
