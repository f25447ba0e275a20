// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/final_condition.hpp>
#include <check/named_memory.hpp>
#include <check/trace.hpp>
#include <common/quote.hpp>
#include <membar/model/error.hpp>
#include <ptx/compute.hpp>
#include <ptx/instruction.hpp>
#include <ptx/module.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::check {

using membar_tools::quote;

namespace {

/// Parses one condition. Error messages contain the line and column in the scenario file; the condition begins at `line` and
/// `column`.
class condition_reader {
 public:
  condition_reader(std::string_view text, int line, int column, const std::vector<named_memory>& memory)
      : text_(text), line_(line), column_(column), memory_(memory) {}

  [[nodiscard]] final_condition read() {
    predicate holds = disjunction(0);
    if (skip() != text_.size()) {
      refuse("expected the end of the condition");
    }
    return {std::move(holds), std::move(elements_), std::move(conjuncts_)};
  }

 private:
  /// A number. If it is a float, its value is `real`; otherwise its value is `magnitude` with a sign.
  struct number_value {
    std::uint64_t magnitude = 0;
    bool negative = false;
    bool is_float = false;
    double real = 0;
    [[nodiscard]] double as_real() const noexcept {
      return is_float ? real : (negative ? -1.0 : 1.0) * static_cast<double>(magnitude);
    }
  };
  using value = std::function<number_value(const final_memory&)>;
  using predicate = std::function<bool(const final_memory&)>;

  [[noreturn]] void refuse(const std::string& what) const {
    throw model::error(line_, static_cast<int>(at_) + column_,
                       what + ", found " + (at_ == text_.size() ? "the end" : quote(text_.substr(at_, 12))));
  }
  std::size_t skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) {
      ++at_;
    }
    return at_;
  }
  bool accept(std::string_view word) {
    skip();
    const bool is = text_.substr(at_, word.size()) == word;
    at_ += is ? word.size() : 0;
    return is;
  }

  predicate disjunction(int depth) {
    if (depth > 100) {
      refuse("expected at most 100 nested parentheses");
    }
    predicate left = conjunction(depth);
    while (accept("\\/") || accept("||")) {
      left = [l = std::move(left), r = conjunction(depth)](const final_memory& m) { return l(m) || r(m); };
    }
    return left;
  }

  predicate conjunction(int depth) {
    predicate left = conjunct(depth);
    while (accept("/\\") || accept("&&")) {
      left = [l = std::move(left), r = conjunct(depth)](const final_memory& m) { return l(m) && r(m); };
    }
    return left;
  }

  predicate conjunct(int depth) {
    if (depth > 0) {
      return factor(depth);
    }
    used_.clear();
    predicate holds = factor(depth);
    conjuncts_.push_back({holds, used_});
    return holds;
  }

  predicate factor(int depth) {
    if (depth > 100) {
      refuse("expected at most 100 nested parentheses");
    }
    skip();
    if (text_.substr(at_, 2) != "!=" && (accept("~") || accept("!"))) {
      return [inner = factor(depth + 1)](const final_memory& m) { return !inner(m); };
    }
    if (accept("(")) {
      predicate inner = disjunction(depth + 1);
      if (!accept(")")) {
        refuse("expected ')'");
      }
      return inner;
    }
    if (accept("true")) {
      return [](const final_memory&) { return true; };
    }
    value left = term();
    for (const auto& [word, test] : {std::pair("==", 0), std::pair("!=", 1), std::pair("<=", 2), std::pair(">=", 3),
                                     std::pair("<", 4), std::pair(">", 5), std::pair("=", 0)}) {
      if (accept(word)) {
        return [l = std::move(left), r = term(), how = test](const final_memory& m) { return compare(how, l(m), r(m)); };
      }
    }
    refuse("expected a comparison");
  }

  [[nodiscard]] static bool compare(int test, const number_value& a, const number_value& b) noexcept {
    const bool floats = a.is_float || b.is_float;  // a NaN is not equal to, less than or greater than any value
    const auto below = [&](const number_value& x, const number_value& y) {
      return floats                     ? x.as_real() < y.as_real()
             : x.negative != y.negative ? x.negative
             : x.negative               ? x.magnitude > y.magnitude
                                        : x.magnitude < y.magnitude;
    };
    const bool equal = floats ? a.as_real() == b.as_real() : a.magnitude == b.magnitude && a.negative == b.negative;
    switch (test) {
      case 0:
        return equal;
      case 1:
        return !equal;
      case 2:
        return below(a, b) || equal;
      case 3:
        return below(b, a) || equal;
      case 4:
        return below(a, b);
      default:
        return below(b, a);
    }
  }

  std::uint64_t number() {
    skip();
    const bool hex = text_.substr(at_, 2) == "0x";
    at_ += hex ? 2 : 0;
    std::uint64_t result = 0;
    const std::size_t begin = at_;
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      const unsigned digit = c >= '0' && c <= '9'          ? static_cast<unsigned>(c - '0')
                             : hex && c >= 'a' && c <= 'f' ? static_cast<unsigned>(c - 'a') + 10
                             : hex && c >= 'A' && c <= 'F' ? static_cast<unsigned>(c - 'A') + 10
                                                           : 16U;
      if (digit == 16) {
        break;
      }
      const unsigned base = hex ? 16 : 10;
      if (result > (~std::uint64_t{0} - digit) / base) {
        refuse("the number does not fit in 64 bits");
      }
      result = result * base + digit;
    }
    if (at_ == begin) {
      refuse("expected a number");
    }
    return result;
  }

  value term() {
    skip();
    if (at_ < text_.size() && (std::isdigit(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '-')) {
      const std::size_t begin = at_;
      const bool negative = accept("-");
      const std::uint64_t magnitude = number();
      number_value v{magnitude, negative && magnitude != 0};
      if (at_ < text_.size() && text_[at_] == '.') {
        const std::string rest(text_.substr(begin));
        char* end = nullptr;
        v.real = std::strtod(rest.c_str(), &end);
        v.is_float = true;
        at_ = begin + static_cast<std::size_t>(end - rest.c_str());
      }
      return [v](const final_memory&) { return v; };
    }
    const std::size_t begin = at_;
    while (at_ < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 || text_[at_] == '_' || text_[at_] == '@')) {
      ++at_;
    }
    const std::string name(text_.substr(begin, at_ - begin));
    if (const named_memory* const m = find_memory(memory_, name); m != nullptr && !name.empty()) {
      return text_.substr(at_, 1) == "+" ? field_of_memory(*m) : element_of(*m);
    }
    at_ = begin;
    refuse(
        name.find('@') == std::string::npos
            ? "expected a number or the name of a memory object" + (name.empty() ? "" : nearest_memory(memory_, name))
            : std::string("expected NAME@DEVICE, where NAME is a variable of the source and DEVICE is a device with a launch"));
  }

  value field_of_memory(const named_memory& m) {
    std::size_t end = at_ + 1;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == ':')) {
      ++end;
    }
    named_memory field;
    if (const std::string wrong = field_of(m, std::string(text_.substr(at_, end - at_)), field); !wrong.empty()) {
      throw model::error(line_, static_cast<int>(at_) + column_, wrong);
    }
    at_ = end;
    return element_of(field);
  }

  value element_of(const named_memory& m) {
    const std::uint64_t index = accept("[") ? element() : 0;
    if (index >= m.count) {
      throw model::error(line_, static_cast<int>(at_) + column_, outside_of(m, index));
    }
    const int bytes = bytes_of(m.type);
    const std::string name = m.name + (m.count > 1 ? "[" + std::to_string(index) + "]" : "");
    const std::uint64_t address = m.address + index * static_cast<std::uint64_t>(bytes);
    const auto known = std::ranges::find(elements_, name, &final_condition::element::name);
    used_.push_back(static_cast<std::size_t>(known - elements_.begin()));
    if (known == elements_.end()) {
      elements_.push_back({name, address, m.type});
    }
    return [address, bytes, type = m.type, name, line = line_](const final_memory& end) {
      if (end.is_unknown(address, bytes)) {
        throw model::error(line, 1,
                           "the condition uses " + quote(name) +
                               ", whose value is unknown: it depends on memory that the scenario declares as unknown, or on an "
                               "instruction whose result membar-check does not compute, such as a matrix instruction. Leave it "
                               "out of the condition");
      }
      const std::uint64_t v = extended(end.value(address, bytes), type);
      if (is_float(type)) {
        return number_value{
            0, false, true,
            bytes == 4 ? static_cast<double>(ptx::detail::float_of<float>(v)) : ptx::detail::float_of<double>(v)};
      }
      const bool negative = is_signed(type) && static_cast<std::int64_t>(v) < 0;
      return number_value{negative ? std::uint64_t{0} - v : v, negative};
    };
  }

  std::uint64_t element() {
    const std::uint64_t index = number();
    if (!accept("]")) {
      refuse("expected ']'");
    }
    return index;
  }

  std::string_view text_;
  int line_;
  int column_;
  const std::vector<named_memory>& memory_;
  std::size_t at_ = 0;
  std::vector<final_condition::element> elements_{};
  std::vector<final_condition::conjunct> conjuncts_{};
  std::vector<std::size_t> used_{};  ///< the elements of the current conjunct
};

}  // namespace

std::string final_condition::values(const final_memory& end) const {
  constexpr std::size_t most = 8;
  std::string text;
  for (std::size_t k = 0; k < std::min(elements.size(), most); ++k) {
    const element& e = elements[k];
    text +=
        (text.empty() ? "" : ", ") + e.name + " is " +
        (end.is_unknown(e.address, bytes_of(e.type)) ? "unknown" : number_text(end.value(e.address, bytes_of(e.type)), e.type));
  }
  return text + (elements.size() > most ? " and " + std::to_string(elements.size() - most) + " more" : "");
}

std::vector<memory_range> final_condition::wrong_elements(const final_memory& end) const {
  std::vector<memory_range> result;
  for (const conjunct& c : conjuncts) {
    for (const std::size_t k : c.holds(end) ? std::vector<std::size_t>{} : c.elements) {
      result.push_back({elements[k].address, bytes_of(elements[k].type)});
    }
  }
  return result;
}

final_condition read_condition(std::string_view text, int line, const std::vector<named_memory>& memory, int column) {
  return condition_reader(text, line, column, memory).read();
}

}  // namespace membar::check
