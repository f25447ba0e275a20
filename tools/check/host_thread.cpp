// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/host_thread.hpp>
#include <membar/model/error.hpp>
#include <ptx/reader.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::check {

namespace {

using ptx::ptx_type;

struct comparison_word {
  std::string_view sign;
  std::string_view opposite;  ///< of the PTX comparison, which jumps back
};
constexpr comparison_word comparisons[] = {{"==", "ne"}, {"!=", "eq"}, {"<", "ge"}, {"<=", "gt"}, {">", "le"}, {">=", "lt"}};

struct update_word {
  std::string_view word;
  std::string_view ptx;
};
constexpr update_word updates[] = {{"add", "add"}, {"and", "and"}, {"or", "or"},        {"xor", "xor"},
                                   {"min", "min"}, {"max", "max"}, {"exchange", "exch"}};

/// Writes the PTX of one host thread.
class host_writer {
 public:
  explicit host_writer(const std::vector<named_memory>& memory) : memory_(memory) {}

  void add(const host_statement& s) {
    at_ = 0;
    statement_ = &s;
    const std::string kind = word("a statement");
    const auto* const update =
        std::find_if(std::begin(updates), std::end(updates), [&](const update_word& u) { return u.word == kind; });
    if (kind == "wait" || kind == "expect") {
      compare(kind == "wait");
    } else if (kind == "load") {
      place();
      load(order({"", "relaxed", "acquire"}));
    } else if (kind == "store") {
      place();
      accept("=");
      value();
      const std::string how = order({"", "relaxed", "release"});
      emit("st" + (how.empty() ? ".weak" : "." + how + ".sys") + ".global." + type_ + " [%a], %w");
    } else if (update != std::end(updates)) {
      place();
      value();
      const std::string how = order({"relaxed", "acquire", "release", "acq_rel"});
      const bool bits = update->ptx == "and" || update->ptx == "or" || update->ptx == "xor" || update->ptx == "exch";
      emit("atom." + how + ".sys.global." + std::string(update->ptx) + "." + (bits ? "b" + type_.substr(1) : type_) +
           " %v, [%a], %w");
    } else if (kind == "fence") {
      const std::string how = order({"acq_rel", "seq_cst"});
      emit(how == "seq_cst" ? "fence.sc.sys" : "fence.acq_rel.sys");
    } else {
      refuse("'" + kind +
             "' is no statement of a host thread: expected wait, load, expect, store, add, and, or, xor, min, max, exchange or "
             "fence");
    }
    if (at_ != s.words.size()) {
      refuse("'" + s.words[at_] + "' is not expected here");
    }
  }

  [[nodiscard]] std::string text() const {
    return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry host() {\n.reg .u64 %a, %v, %w;\n.reg .pred %p;\n" +
           text_ + "ret;\n}\n";
  }
  /// Per line of the PTX, from 1 on: the statement it is of; null where it is of none.
  [[nodiscard]] const host_statement* statement_at(int line) const {
    const auto at = static_cast<std::size_t>(line - lines_before - 1);
    return line > lines_before && at < statements_.size() ? statements_[at] : nullptr;
  }

 private:
  static constexpr int lines_before = 6;

  [[noreturn]] void refuse(const std::string& what) const { throw model::error(statement_->line, 1, what); }

  std::string word(const std::string& what) {
    if (at_ == statement_->words.size()) {
      refuse("expected " + what + " at the end of '" + statement_->text + "'");
    }
    return statement_->words[at_++];
  }
  void accept(std::string_view w) { at_ += at_ < statement_->words.size() && statement_->words[at_] == w ? 1U : 0U; }

  void emit(const std::string& instruction) {
    text_ += instruction + ";\n";
    statements_.push_back(statement_);
  }

  /// The order at the end of a statement, one of `known`, the first of which is what a statement without one has.
  std::string order(std::initializer_list<std::string_view> known) {
    if (at_ == statement_->words.size()) {
      return std::string(*known.begin());
    }
    const std::string given = word("an order");
    if (given.empty() || std::find(known.begin(), known.end(), given) == known.end()) {
      std::string names;
      for (const std::string_view k : known) {
        names += k.empty() ? "" : (names.empty() ? "" : ", ") + std::string(k);
      }
      refuse("'" + given + "' is no order of '" + statement_->words.front() + "': expected " + names);
    }
    return given;
  }

  /// Reads the word of memory that the statement names, and puts its address into `%a`.
  void place() {
    std::string name = word("memory");
    std::uint64_t index = 0;
    if (const std::size_t bracket = name.find('['); bracket != std::string::npos && name.back() == ']') {
      const std::string number = name.substr(bracket + 1, name.size() - bracket - 2);
      const bool fine = !number.empty() && number.size() < 10 && number.find_first_not_of("0123456789") == std::string::npos;
      if (!fine) {
        refuse("'" + name + "' names no element: expected a number in the brackets");
      }
      index = std::stoull(number);
      name.resize(bracket);
    }
    const auto m = std::find_if(memory_.begin(), memory_.end(), [&](const named_memory& other) { return other.name == name; });
    if (m == memory_.end()) {
      refuse("there is no memory '" + name + "'");
    }
    if (index >= m->count) {
      refuse("'" + name + "' has " + std::to_string(m->count) + " elements, and none of number " + std::to_string(index));
    }
    signed_ = ptx::is_signed(m->type);
    const int bytes = ptx::bytes_of(m->type);
    type_ = (ptx::is_float(m->type) ? "b" : signed_ ? "s" : "u") + std::to_string(8 * bytes);
    emit("mov.u64 %a, " + std::to_string(m->address + index * static_cast<std::uint64_t>(bytes)));
  }

  void value() {
    const std::string given = word("a value");
    const bool negative = given.size() > 1 && given.front() == '-';
    if (given.substr(negative ? 1 : 0).find_first_not_of("0123456789abcdefx") != std::string::npos || given.empty()) {
      refuse("expected a value, found '" + given + "'");
    }
    emit(std::string("mov.") + "s64 %w, " + given);
  }

  void load(const std::string& how) {
    emit("ld" + (how.empty() ? ".weak" : "." + how + ".sys") + ".global." + type_ + " %v, [%a]");
  }

  /// `wait` goes around until the comparison holds; `expect` traps where it does not.
  void compare(bool waits) {
    place();
    const std::string sign = word("a comparison");
    const auto* const found =
        std::find_if(std::begin(comparisons), std::end(comparisons), [&](const comparison_word& c) { return c.sign == sign; });
    if (found == std::end(comparisons)) {
      refuse("'" + sign + "' is no comparison: expected ==, !=, <, <=, > or >=");
    }
    value();
    const std::string how = waits ? order({"relaxed", "acquire"}) : order({"", "relaxed", "acquire"});
    const std::string label = "L" + std::to_string(labels_++);
    if (waits) {
      emit_label(label);
    }
    load(how);
    emit("setp." + std::string(found->opposite) + (signed_ ? ".s64" : ".u64") + " %p, %v, %w");
    emit(waits ? "@%p bra " + label : "@%p trap");
  }

  void emit_label(const std::string& label) {
    text_ += label + ":\n";
    statements_.push_back(statement_);
  }

  const std::vector<named_memory>& memory_;
  const host_statement* statement_ = nullptr;
  std::size_t at_ = 0;
  std::string text_{};
  std::string type_{};
  bool signed_ = false;
  int labels_ = 0;
  std::vector<const host_statement*> statements_{};
};

}  // namespace

ptx::kernel_code host_kernel(const std::string& name, const std::vector<host_statement>& body,
                             const std::vector<named_memory>& memory) {
  host_writer writer(memory);
  for (const host_statement& s : body) {
    writer.add(s);
  }
  const ptx::ptx_module module = ptx::read_ptx(writer.text());
  ptx::kernel_code code = ptx::decode_kernel(module, ptx::layout_of(module), module.functions.front());
  code.name = name;
  for (ptx::instruction& i : code.code) {
    if (const host_statement* const s = writer.statement_at(i.line); s != nullptr) {
      i.text = s->text;
    }
  }
  return code;
}

bool host_reads(const std::vector<host_statement>& body, const std::string& memory) {
  return std::any_of(body.begin(), body.end(), [&](const host_statement& s) {
    return s.words.size() > 1 && s.words[0] != "store" && s.words[1].substr(0, s.words[1].find('[')) == memory;
  });
}

}  // namespace membar::check
