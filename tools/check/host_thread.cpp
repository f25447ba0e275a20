// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/host_thread.hpp>
#include <check/named_memory.hpp>
#include <common/quote.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/error.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>
#include <ptx/decode.hpp>
#include <ptx/module.hpp>
#include <ptx/opcode.hpp>
#include <ptx/words.hpp>
#include <ptx/writer.hpp>

#include <algorithm>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::check {

using membar_tools::quote;

namespace {

/// A comparison and its negation, for integers and for floats. A wait iterates again while the negation holds.
struct comparison_row {
  std::string_view word;
  ptx_comparison opposite;
  ptx_comparison of_floats;
};
constexpr comparison_row comparisons[] = {
    {"==", ptx_comparison::ne, ptx_comparison::neu}, {"!=", ptx_comparison::eq, ptx_comparison::eq},
    {"<", ptx_comparison::ge, ptx_comparison::geu},  {"<=", ptx_comparison::gt, ptx_comparison::gtu},
    {">", ptx_comparison::le, ptx_comparison::leu},  {">=", ptx_comparison::lt, ptx_comparison::ltu}};

constexpr meaning<model::operation> updates[] = {{"add", model::operation::add},      {"and", model::operation::bit_and},
                                                 {"or", model::operation::bit_or},    {"xor", model::operation::bit_xor},
                                                 {"min", model::operation::minimum},  {"max", model::operation::maximum},
                                                 {"exchange", model::operation::move}};

/// The order of a statement. A weak access has no order.
using host_order = std::optional<memory_order>;
constexpr meaning<host_order> orders[] = {{"weak", {}},
                                          {"relaxed", memory_order::relaxed},
                                          {"acquire", memory_order::acquire},
                                          {"release", memory_order::release},
                                          {"acq_rel", memory_order::acq_rel},
                                          {"seq_cst", memory_order::seq_cst}};

/// Generates the code of one host thread, statement by statement.
class host_writer {
 public:
  host_writer(const std::string& name, const std::vector<named_memory>& memory) : memory_(memory), kernel_(name, 1) {}

  void add(const host_statement& s) {
    statement_ = &s;
    at_ = 0;
    lines_.resize(lines_written());
    const std::string& kind = next("a statement").text;
    if (kind == "wait" || kind == "expect") {
      compare(kind == "wait");
    } else if (kind == "load") {
      find_place();
      load(order({{}, memory_order::relaxed, memory_order::acquire, memory_order::seq_cst}), unread_);
    } else if (kind == "store") {
      store();
    } else if (const auto what = find(updates, kind)) {
      update(*what);
    } else if (kind == "fence") {
      fence(*order({memory_order::acq_rel, memory_order::acquire, memory_order::release, memory_order::seq_cst}));
    } else {
      constexpr std::string_view kinds[] = {"wait", "expect", "load", "store", "add",      "and",
                                            "or",   "xor",    "min",  "max",   "exchange", "fence"};
      refuse(s.words[0], quote(kind) + " is not a statement of a host thread: expected " + one_of(kinds, kind));
    }
    if (at_ != s.words.size()) {
      refuse(s.words[at_],
             quote(s.words[at_].text) + " is not expected here: the statement " + quote(s.text) + " must end before it");
    }
    lines_.resize(lines_written(), &s);
  }

  [[nodiscard]] const ptx_function& function() const noexcept { return kernel_.function(); }

  /// Returns the statement that corresponds to a line of the code, or null if there is none.
  [[nodiscard]] const host_statement* statement_of(int line) const {
    const auto at = static_cast<std::size_t>(line);
    return at < lines_.size() ? lines_[at] : nullptr;
  }

 private:
  using word = host_statement::word;

  [[noreturn]] void refuse(const word& w, const std::string& what) const {
    throw model::error(statement_->line, w.column, what);
  }

  [[nodiscard]] std::size_t lines_written() const noexcept { return static_cast<std::size_t>(kernel_.end_line()) - 1; }

  const word& next(const std::string& what) {
    if (at_ == statement_->words.size()) {
      refuse(statement_->words.back(), "expected " + what + " at the end of " + quote(statement_->text));
    }
    return statement_->words[at_++];
  }

  /// Parses the order at the end of a statement. The order must be one of `known`; the first of these is the default.
  host_order order(std::initializer_list<host_order> known) {
    if (at_ == statement_->words.size()) {
      return *known.begin();
    }
    const word& given = next("an order");
    const auto found = std::find_if(std::begin(orders), std::end(orders), [&](const auto& o) { return o.word == given.text; });
    if (found == std::end(orders) || std::find(known.begin(), known.end(), found->value) == known.end()) {
      std::vector<std::string_view> words;
      for (const auto& o : orders) {
        if (std::find(known.begin(), known.end(), o.value) != known.end()) {
          words.push_back(o.word);
        }
      }
      refuse(given, quote(given.text) + " is not an order for " + quote(statement_->words[0].text) + ": expected " +
                        one_of(words, found == std::end(orders) ? given.text : ""));  // an order is not a misspelling
    }
    return found->value;
  }

  /// Parses the memory, or the element of memory, that a statement names.
  void find_place() {
    const word& given = next("memory");
    const std::size_t bracket = given.text.find('[');
    const std::size_t plus = given.text.find('+');
    const std::string name = given.text.substr(0, std::min(bracket, plus));
    std::uint64_t index = 0;
    if (bracket != std::string::npos &&
        (given.text.back() != ']' || !number_of(given.text.substr(bracket + 1, given.text.size() - bracket - 2), index))) {
      refuse(given,
             quote(given.text) + " does not name an element of memory: expected a number between the brackets, as in data[2]");
    }
    place_ = find_memory(memory_, name);
    if (place_ == nullptr) {
      refuse(given, "there is no memory " + quote(name) +
                        ": a host thread can access only memory of the scenario and __managed__ variables" +
                        nearest_memory(memory_, name));
    }
    if (place_->per_device) {
      refuse(given,
             quote(name) +
                 " is a variable with a separate copy on each device, which the host cannot access: make it __managed__, or "
                 "copy it to memory of the scenario");
    }
    if (index >= place_->count) {
      refuse(given, outside_of(*place_, index));
    }
    if (plus != std::string::npos) {
      if (const std::string wrong = field_of(*place_, given.text.substr(plus), field_); !wrong.empty()) {
        refuse(given, wrong);
      }
      place_ = &field_;
    }
    address_ = place_->address + index * static_cast<std::uint64_t>(bytes_of(place_->type));
  }

  /// Parses a value of the memory's type.
  [[nodiscard]] ptx_operand value() {
    const word& given = next("a value");
    const auto bytes = static_cast<std::uint64_t>(bytes_of(place_->type));
    std::uint64_t v = 0;
    if (is_float(place_->type) ? !float_of_text(given.text, bytes_of(place_->type), v) : !value_of(memory_, given.text, v)) {
      refuse(given, "expected a value of type " + std::string(word_of(place_->type)) + ", found " + quote(given.text));
    }
    if (!is_float(place_->type) && !fits(given.text, v, bytes)) {
      refuse(given, "the value " + given.text + " does not fit into the " + std::to_string(bytes) + " bytes of " +
                        quote(place_->name));
    }
    return number(static_cast<std::int64_t>(extended(v, place_->type)));
  }

  /// Returns the opcode of an access to the statement's memory.
  [[nodiscard]] std::string access(std::string_view name, memory_order how, ptx_type type) const {
    return opcode_text(name, how, thread_scope::system, state_space_, type);
  }

  /// For seq_cst, emits a fence and returns `then` as the order of the access. Otherwise returns `how`.
  memory_order after_fence(memory_order how, memory_order then) {
    if (how != memory_order::seq_cst) {
      return how;
    }
    fence(how);
    return then;
  }

  void fence(memory_order how) { kernel_.add(opcode_text("fence", how, thread_scope::system), {}); }

  void load(const host_order& how, const ptx_operand& into) {
    const std::string opcode = how ? access("ld", after_fence(*how, memory_order::acquire), place_->type)
                                   : opcode_text("ld.weak", state_space_, place_->type);
    kernel_.add(opcode, {into, memory_at(address_)});
  }

  void store() {
    find_place();
    if (const word& sign = next("'='"); sign.text != "=") {
      refuse(sign, "expected '=' after the location, found " + quote(sign.text));
    }
    const ptx_operand what = value();
    const host_order how = order({{}, memory_order::relaxed, memory_order::release, memory_order::seq_cst});
    kernel_.add("mov.b64", {register_, what});
    const std::string opcode = how ? access("st", after_fence(*how, memory_order::relaxed), place_->type)
                                   : opcode_text("st.weak", state_space_, place_->type);
    kernel_.add(opcode, {memory_at(address_), register_});
  }

  void update(model::operation what) {
    const std::string& kind = statement_->words[0].text;
    find_place();
    const int bytes = bytes_of(place_->type);
    const bool numbers =
        what == model::operation::add || what == model::operation::minimum || what == model::operation::maximum;
    if (bytes < 4 || (is_float(place_->type) && what != model::operation::add && what != model::operation::move)) {
      refuse(statement_->words[1], quote(kind) + " cannot be applied to " + std::string(word_of(place_->type)) +
                                       ": expected memory of 4 or 8 bytes; floats support only add and exchange");
    }
    const ptx_operand by = value();
    const memory_order how = *order(
        {memory_order::relaxed, memory_order::acquire, memory_order::release, memory_order::acq_rel, memory_order::seq_cst});
    const bool is_sum = what == model::operation::add;
    const ptx_type unsigned_type = bytes == 4 ? ptx_type::u32 : ptx_type::u64;
    const ptx_type type = !numbers                             ? (bytes == 4 ? ptx_type::b32 : ptx_type::b64)
                          : is_float(place_->type)             ? place_->type
                          : is_signed(place_->type) && !is_sum ? place_->type
                                                               : unsigned_type;
    kernel_.add(opcode_text("atom", after_fence(how, memory_order::acq_rel), thread_scope::system, state_space_, what, type),
                {unread_, memory_at(address_), by});
  }

  /// `wait` iterates until the comparison holds. `expect` traps if the comparison does not hold.
  void compare(bool waits) {
    find_place();
    const word& sign = next("a comparison");
    const auto* const found = std::find_if(std::begin(comparisons), std::end(comparisons),
                                           [&](const comparison_row& c) { return c.word == sign.text; });
    if (found == std::end(comparisons)) {
      refuse(sign, quote(sign.text) + " is not a comparison: expected ==, !=, <, <=, > or >=");
    }
    const ptx_operand with = value();
    const host_order first = waits ? host_order(memory_order::relaxed) : host_order();
    const host_order how = order({first, {}, memory_order::relaxed, memory_order::acquire, memory_order::seq_cst});
    const std::string label = "L" + std::to_string(labels_++);
    if (waits) {
      kernel_.label(label);
    }
    load(how, register_);
    const bool floats = is_float(place_->type);
    const ptx_type type = floats ? place_->type : is_signed(place_->type) ? ptx_type::s64 : ptx_type::u64;
    kernel_.add(opcode_text("setp", floats ? found->of_floats : found->opposite, type), {predicate_, register_, with});
    kernel_.guard(predicate_, false);
    if (waits) {
      kernel_.add("bra", {named(label)});
    } else {
      kernel_.add("trap", {});
    }
  }

  static constexpr std::string_view state_space_ = "global";

  const std::vector<named_memory>& memory_;
  kernel_writer kernel_;
  ptx_operand register_ = kernel_.declare_registers("%v", ptx_type::b64, 1)[0];
  /// the destination of loads whose values are not used
  ptx_operand unread_ = kernel_.declare_registers("%u", ptx_type::b64, 1)[0];
  ptx_operand predicate_ = kernel_.declare_registers("%p", ptx_type::pred, 1)[0];
  const host_statement* statement_ = nullptr;
  std::size_t at_ = 0;  ///< the index of the next word of the statement
  const named_memory* place_ = nullptr;
  named_memory field_{};  ///< the memory that `place_` selects by an offset
  std::uint64_t address_ = 0;
  int labels_ = 0;
  std::vector<const host_statement*> lines_{};
};

}  // namespace

std::size_t read_host_statements(std::string_view line, std::size_t begin, int number, std::vector<host_statement>& body) {
  const auto is_sign = [](char c) { return c == '=' || c == '!' || c == '<' || c == '>'; };
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == ','; };
  for (std::size_t at = begin;; ++at) {
    host_statement s;
    s.line = number;
    const std::size_t first = std::min(line.find_first_not_of(" \t\r", at), line.size());
    const std::size_t end = std::min(line.find_first_of(";}", first), line.size());
    for (at = first; at < end;) {
      if (is_blank(line[at])) {
        ++at;
        continue;
      }
      const bool sign = is_sign(line[at]);
      std::size_t last = at;
      while (last < end && !is_blank(line[last]) && is_sign(line[last]) == sign) {
        ++last;
      }
      s.words.push_back({std::string(line.substr(at, last - at)), static_cast<int>(at) + 1});
      at = last;
    }
    if (!s.words.empty()) {
      const std::string_view whole = line.substr(first, end - first);
      s.text = whole.substr(0, whole.find_last_not_of(" \t\r") + 1);
      body.push_back(std::move(s));
    }
    at = end;
    if (end == line.size()) {
      return std::string_view::npos;
    }
    if (line[end] == '}') {
      return end + 1;
    }
  }
}

kernel_code host_kernel(const std::string& name, const std::vector<host_statement>& body,
                        const std::vector<named_memory>& memory, const std::string& path) {
  host_writer writer(name, memory);
  for (const host_statement& s : body) {
    writer.add(s);
  }
  kernel_code result = decode_kernel({}, {}, writer.function());
  result.files = {"", path};
  for (instruction& i : result.code) {
    if (const host_statement* const s = writer.statement_of(i.line); s != nullptr) {
      i.text = s->text;
      i.file = i.user_file = 1;
      i.line = i.source_line = i.user_line = s->line;
    }
  }
  return result;
}

std::string_view host_order_word(memory_order order) noexcept { return word_for(orders, host_order(order)); }

}  // namespace membar::check
