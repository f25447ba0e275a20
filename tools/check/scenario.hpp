// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Scenario files: which kernels run, on which memory, and what must hold at the end.
///
/// ```
/// source lock.cu -I../include             # or .ptx; a .cu is compiled with the options that follow
/// memory state u32[2]                     # zero unless "= 1, 2"
/// memory count u32
/// launch worker grid 3 block 1 args state count 2
/// final count == 6
/// ```
/// docs/membar_check.md has the grammar.
#pragma once

#include <check/compute.hpp>
#include <check/explore.hpp>
#include <check/final_condition.hpp>
#include <check/launch.hpp>
#include <membar/model/error.hpp>
#include <ptx/reader.hpp>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::check {

using namespace ptx;

/// A scenario as it stands in its file.
struct scenario {
  struct memory_line {
    named_memory memory;
    std::vector<std::uint64_t> values{};
    std::map<std::size_t, std::string> addresses{};  ///< of values: the memory, and bytes in it, that they are the address of
    bool initialised = true;
    bool constant = false;
    int line = 0;
  };
  struct launch_line {
    std::string kernel;
    launch_request request{};              ///< without the kernel and its arguments
    std::vector<std::string> arguments{};  ///< a number, memory, or several in braces: the words of a struct
    std::string stream{};
    std::vector<std::string> after{};
    int line = 0;
  };
  struct final_line {
    std::string text;
    int line = 0;
    int column = 1;  ///< where it begins
  };

  std::string source;                ///< relative to the scenario's folder
  std::vector<std::string> options;  ///< of the compiler
  std::vector<memory_line> memory;
  std::vector<launch_line> launches;
  std::vector<final_line> finals;
};

namespace detail {

/// Reads a scenario, line by line.
class scenario_reader {
 public:
  explicit scenario_reader(std::string_view text) : text_(text) {}

  [[nodiscard]] scenario read() {
    for (std::size_t begin = 0; begin <= text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      ++line_;
      std::string_view one = text_.substr(begin, end - begin);
      one = one.substr(0, one.find('#'));
      words_ = divided(one);
      at_ = 0;
      if (!words_.empty()) {
        read_line(one);
      }
      begin = end + 1;
    }
    if (result_.source.empty()) {
      throw model::error("the scenario names no source");
    }
    if (result_.launches.empty()) {
      throw model::error("the scenario launches nothing");
    }
    return std::move(result_);
  }

 private:
  [[noreturn]] void refuse(const std::string& what) const { throw model::error(line_, 1, what); }

  [[nodiscard]] bool more() const noexcept { return at_ < words_.size(); }
  std::string word(const char* what) {
    if (!more()) {
      refuse(std::string("expected ") + what + " at the end of the line");
    }
    return words_[at_++];
  }
  bool accept(std::string_view w) {
    const bool is = more() && words_[at_] == w;
    at_ += is ? 1 : 0;
    return is;
  }
  [[nodiscard]] bool number_is_next() const {
    return more() && !words_[at_].empty() && (words_[at_][0] == '-' || (words_[at_][0] >= '0' && words_[at_][0] <= '9'));
  }
  std::uint64_t number(const char* what) {
    const std::string w = word(what);
    std::uint64_t v = 0;
    if (!number_of(w, v)) {
      refuse("expected " + std::string(what) + ", found '" + w + "'");
    }
    return v;
  }
  std::uint64_t small(const char* what, std::uint64_t most) {
    const std::uint64_t v = number(what);
    if (v > most) {
      refuse(std::string(what) + " is " + std::to_string(v) + ", and at most " + std::to_string(most) + " is possible");
    }
    return v;
  }

 public:
  /// Words between blanks; commas are blanks, and blanks within <> and {} are none.
  [[nodiscard]] static std::vector<std::string> divided(std::string_view text) {
    std::vector<std::string> words;
    std::string word;
    int depth = 0;
    for (const char c : text) {
      depth += c == '<' || c == '{' ? 1 : (c == '>' || c == '}') && depth > 0 ? -1 : 0;
      if (depth == 0 && (c == ' ' || c == '\t' || c == '\r' || c == ',')) {
        if (!word.empty()) {
          words.push_back(std::move(word));
        }
        word.clear();
      } else if (c != '\r') {
        word += c;
      }
    }
    if (!word.empty()) {
      words.push_back(std::move(word));
    }
    return words;
  }

  /// A number in decimal or hexadecimal digits, perhaps negative.
  [[nodiscard]] static bool number_of(const std::string& w, std::uint64_t& v) {
    const bool negative = !w.empty() && w[0] == '-';
    const std::string digits = negative ? w.substr(1) : w;
    if (digits.empty() || digits[0] < '0' || digits[0] > '9') {
      return false;
    }
    char* end = nullptr;
    errno = 0;
    v = std::strtoull(digits.c_str(), &end, digits.size() > 2 && digits[1] == 'x' ? 16 : 10);
    v = negative ? std::uint64_t{0} - v : v;
    return *end == '\0' && errno == 0;
  }

  /// The bits of a decimal number as a float of 4 or 8 bytes, perhaps negative; bits in hexadecimal digits stay as they are.
  [[nodiscard]] static bool float_of_text(const std::string& w, int bytes, std::uint64_t& v) {
    if (w.size() > 2 && w[0] == '0' && w[1] == 'x') {
      return number_of(w, v);
    }
    char* end = nullptr;
    const double value = std::strtod(w.c_str(), &end);
    const bool begins = !w.empty() && ((w[0] >= '0' && w[0] <= '9') || w[0] == '-' || w[0] == '.');
    v = bytes == 4 ? detail::bits_of(static_cast<float>(value)) : detail::bits_of(value);
    return begins && *end == '\0';
  }

 private:
  void read_line(std::string_view whole) {
    const std::string directive = word("a directive");
    if (directive == "source") {
      if (!result_.source.empty()) {
        refuse("the scenario names a second source");
      }
      result_.source = word("a file");
      while (more()) {
        result_.options.push_back(word("an option"));
      }
    } else if (directive == "memory") {
      read_memory();
    } else if (directive == "launch") {
      read_launch();
    } else if (directive == "final") {
      const std::size_t begin = whole.find("final") + 5;
      result_.finals.push_back({std::string(whole.substr(begin)), line_, static_cast<int>(begin) + 1});
    } else {
      refuse("'" + directive + "' is no directive: expected source, memory, launch or final");
    }
  }

  void read_memory() {
    scenario::memory_line m;
    m.line = line_;
    m.memory.name = word("a name");
    std::string type = word("a type");
    if (const std::size_t bracket = type.find('['); bracket != std::string::npos) {
      const std::string count = type.substr(bracket + 1, type.size() - bracket - 2);
      if (type.back() != ']' || !number_of(count, m.memory.count) || m.memory.count == 0 || m.memory.count > (1U << 26U)) {
        refuse("'" + type + "' is no type with a count of 1 to 67108864 elements");
      }
      type.resize(bracket);
    }
    m.memory.type = type_named(type);
    if (bytes_of(m.memory.type) == 0 || bytes_of(m.memory.type) > 8 || m.memory.type == ptx_type::pred ||
        is_half(m.memory.type)) {
      refuse("'" + type + "' is no type of memory: expected u8, u16, u32, u64, s8, s16, s32, s64, b8 to b64, f32 or f64");
    }
    for (const scenario::memory_line& other : result_.memory) {
      if (other.memory.name == m.memory.name) {
        refuse("the memory '" + m.memory.name + "' is there already");
      }
    }
    if (accept("=")) {
      while (more() && words_[at_] != "uninitialised" && words_[at_] != "device" && words_[at_] != "host" &&
             words_[at_] != "constant") {
        if (!number_is_next() && bytes_of(m.memory.type) == 8) {
          m.addresses[m.values.size()] = word("memory");
          m.values.push_back(0);
        } else if (is_float(m.memory.type)) {
          const std::string w = word("a value");
          m.values.emplace_back();
          if (!float_of_text(w, bytes_of(m.memory.type), m.values.back())) {
            refuse("expected a value, found '" + w + "'");
          }
        } else {
          m.values.push_back(number("a value"));
        }
      }
      if (m.values.empty() || m.values.size() > m.memory.count) {
        refuse("'" + m.memory.name + "' has " + std::to_string(m.memory.count) + " elements and " +
               std::to_string(m.values.size()) + " values");
      }
    }
    while (more()) {
      if (accept("uninitialised")) {
        m.initialised = false;
      } else if (accept("constant")) {
        m.constant = true;
      } else if (accept("device")) {  // where memory lies makes no difference to the model
        static_cast<void>(small("a device", 15));
      } else if (!accept("host")) {
        refuse("'" + words_[at_] + "' is not expected here");
      }
    }
    result_.memory.push_back(std::move(m));
  }

  std::array<std::uint32_t, 3> shape(const char* what) {
    std::array<std::uint32_t, 3> result{1, 1, 1};
    for (std::size_t k = 0; k < 3 && (k == 0 || number_is_next()); ++k) {
      result[k] = static_cast<std::uint32_t>(small(what, 1024));
    }
    return result;
  }

  void read_launch() {
    scenario::launch_line l;
    l.line = line_;
    l.kernel = word("a kernel");
    bool arguments = false;
    while (more()) {
      if (accept("grid")) {
        l.request.grid = shape("the grid");
      } else if (accept("block")) {
        l.request.block = shape("the block");
      } else if (accept("dependent")) {
        l.request.dependent = true;
      } else if (accept("cluster")) {
        l.request.cluster = static_cast<int>(small("the cluster", 16));
      } else if (accept("domain")) {
        l.request.domain = static_cast<int>(small("the domain", 15));
      } else if (accept("device")) {
        l.request.device = static_cast<int>(small("the device", 15));
      } else if (accept("shared")) {
        l.request.dynamic_shared = small("the dynamic shared memory", 233'472);
      } else if (accept("stream")) {
        l.stream = word("a stream");
      } else if (accept("after")) {
        l.after.push_back(word("a launch or a stream"));
      } else if (accept("args")) {
        arguments = true;
      } else if (arguments) {
        l.arguments.push_back(word("an argument"));
      } else {
        refuse("'" + words_[at_] + "' is not expected here: arguments come after 'args'");
      }
    }
    result_.launches.push_back(std::move(l));
  }

  std::string_view text_;
  scenario result_{};
  std::vector<std::string> words_{};
  std::size_t at_ = 0;
  int line_ = 0;
};

}  // namespace detail

/// Reads a scenario. Throws `model::error` with the line.
[[nodiscard]] inline scenario read_scenario(std::string_view text) { return detail::scenario_reader(text).read(); }

namespace detail {

/// The value of a word: a number, or the address of memory and bytes in it. False if it is neither.
[[nodiscard]] inline bool value_of(const std::vector<named_memory>& memory, const std::string& text, std::uint64_t& value) {
  if (scenario_reader::number_of(text, value)) {
    return true;
  }
  const std::size_t plus = text.find('+');
  std::uint64_t offset = 0;
  const auto it = std::find_if(memory.begin(), memory.end(), [&](const auto& m) { return m.name == text.substr(0, plus); });
  if (it == memory.end() || (plus != std::string::npos && !scenario_reader::number_of(text.substr(plus + 1), offset))) {
    return false;
  }
  value = it->address + offset;
  return true;
}

/// Lets a variable of the module begin as its line in the scenario says; returns its address.
inline std::uint64_t begin_variable(program& p, const scenario::memory_line& m, std::uint64_t bytes,
                                    std::vector<std::uint8_t> initial) {
  const auto v = std::find_if(p.memory.begin(), p.memory.end(), [&](const auto& o) { return o.name == m.memory.name; });
  if (v == p.memory.end() || v->bytes != bytes) {
    throw model::error(m.line, 1,
                       "'" + m.memory.name + "' is a variable of the source, and has " +
                           std::to_string(v == p.memory.end() ? 0 : v->bytes) + " bytes, not " + std::to_string(bytes) +
                           ": give its type and count, or memory of another name");
  }
  if (!m.values.empty() || !m.initialised) {
    v->initial = std::move(initial);
  }
  v->initialised = m.initialised;
  v->constant = v->constant || m.constant;
  return v->address;
}

/// Puts an argument into the bytes of parameter `k`.
inline void put_argument(const kernel_code& kernel, std::size_t k, const std::string& text,
                         const std::vector<named_memory>& memory, int line, std::vector<std::uint8_t>& into) {
  const std::uint64_t bytes = kernel.parameters[k].bytes;
  const std::string parameter = "parameter " + std::to_string(k) + " of '" + kernel.name + "'";
  const bool braces = text.size() > 1 && text.front() == '{' && text.back() == '}';
  if (bytes > 8 && !braces) {
    throw model::error(
        line, 1, parameter + " has " + std::to_string(bytes) + " bytes: give its words of 8 bytes in braces, as {data 1}");
  }
  const std::vector<std::string> words =
      braces ? scenario_reader::divided(std::string_view(text).substr(1, text.size() - 2)) : std::vector<std::string>{text};
  if (words.size() * 8 > aligned(bytes, 8)) {
    throw model::error(line, 1,
                       parameter + " has " + std::to_string(bytes) + " bytes, and " + std::to_string(words.size()) +
                           " words of 8 bytes are given");
  }
  for (std::size_t w = 0; w < words.size(); ++w) {
    std::uint64_t value = 0;
    const std::uint64_t left = std::min<std::uint64_t>(bytes - 8 * w, 8);
    const bool decimal = is_float(kernel.parameters[k].type) || words[w].find('.') != std::string::npos;
    const bool real = decimal && left >= 4 && scenario_reader::float_of_text(words[w], static_cast<int>(left), value);
    if (!real && !value_of(memory, words[w], value)) {
      throw model::error(line, 1, "the argument '" + words[w] + "' is no number and no memory");
    }
    const bool negative = words[w][0] == '-';
    const auto bits = static_cast<unsigned>(8 * left);
    if (!real && left < 8 && (negative ? (std::uint64_t{0} - value) > (std::uint64_t{1} << (bits - 1)) : value >> bits != 0)) {
      throw model::error(
          line, 1, "the argument " + words[w] + " does not fit into the " + std::to_string(left) + " bytes of " + parameter);
    }
    for (unsigned b = 0; b < left; ++b) {
      into[static_cast<std::size_t>(kernel.parameter_offsets[k]) + 8 * w + b] = static_cast<std::uint8_t>(value >> (8 * b));
    }
  }
}

}  // namespace detail

/// A scenario that is ready to be explored.
struct prepared_scenario {
  program checked;
  std::vector<std::pair<std::string, final_condition>> finals;  ///< each as it was written

  /// What must hold at the end of every execution.
  [[nodiscard]] check_property property() const {
    return [this](const final_memory& end) {
      for (const auto& [text, holds] : finals) {
        if (!holds(end)) {
          return "the final condition does not hold:" + text;
        }
      }
      return std::string();
    };
  }
};

/// Puts a scenario and the PTX of its source together. Throws `model::error`.
[[nodiscard]] inline prepared_scenario prepare(const scenario& s, std::string_view ptx) {
  const ptx_module module = read_ptx(ptx);
  const module_layout layout = layout_of(module);
  prepared_scenario result;
  add_variables(result.checked, module, layout);
  std::vector<named_memory> memory;
  for (const scenario::memory_line& m : s.memory) {
    const auto element = static_cast<std::uint64_t>(bytes_of(m.memory.type));
    std::vector<std::uint8_t> initial;
    for (const std::uint64_t v : m.values) {
      for (unsigned b = 0; b < element; ++b) {
        initial.push_back(static_cast<std::uint8_t>(v >> (8 * b)));
      }
    }
    memory.push_back(m.memory);
    memory.back().address = layout.globals.count(m.memory.name) != 0
                                ? detail::begin_variable(result.checked, m, element * m.memory.count, std::move(initial))
                                : add_memory(result.checked, m.memory.name, m.memory.count * element, std::move(initial),
                                             m.initialised, m.constant);
  }
  for (const scenario::memory_line& m : s.memory) {
    const auto own = std::find_if(memory.begin(), memory.end(), [&](const auto& other) { return other.name == m.memory.name; });
    for (const auto& [element, text] : m.addresses) {
      std::uint64_t value = 0;
      if (!detail::value_of(memory, text, value)) {
        throw model::error(m.line, 1, "the value '" + text + "' of '" + m.memory.name + "' is no number and no memory");
      }
      for (memory_object& o : result.checked.memory) {
        for (unsigned b = 0; b < 8 && o.address == own->address; ++b) {
          o.initial[8 * element + b] = static_cast<std::uint8_t>(value >> (8 * b));
        }
      }
    }
  }
  for (const ptx_variable& v : module.variables) {  // a final condition may name a variable of the module
    const bool named = std::any_of(memory.begin(), memory.end(), [&](const auto& m) { return m.name == v.name; });
    if (v.space == state_space::global && layout.globals.count(v.name) != 0 && v.bytes != 0 && !named) {
      const bool real = is_float(v.type) && !is_half(v.type);
      const ptx_type type = real ? v.type : v.bytes == 8 ? ptx_type::u64 : v.bytes % 4 == 0 ? ptx_type::u32 : ptx_type::u8;
      memory.push_back({v.name, type, v.bytes / static_cast<std::uint64_t>(bytes_of(type)), layout.globals.at(v.name)});
    }
  }
  std::map<std::string, std::shared_ptr<const kernel_code>> kernels;
  std::map<std::string, std::vector<int>> named;  // launches by the name of their kernel or stream
  std::map<std::string, int> last_of_stream;
  for (const scenario::launch_line& l : s.launches) {
    std::string wanted = l.kernel;
    wanted.erase(std::remove(wanted.begin(), wanted.end(), ' '), wanted.end());
    const ptx_function* kernel = nullptr;
    std::string names;
    for (const ptx_function& f : module.functions) {
      if (!f.kernel) {
        continue;
      }
      const std::string plain = detail::source_name(f.name);
      names += (names.empty() ? "" : ", ") + plain;
      if (f.name == wanted || plain == wanted) {
        kernel = &f;
      }
    }
    if (kernel == nullptr) {
      throw model::error(l.line, 1, "the source has no kernel '" + l.kernel + "': it has " + (names.empty() ? "none" : names));
    }
    launch_request request = l.request;
    std::shared_ptr<const kernel_code>& code = kernels[kernel->name];
    if (code == nullptr) {
      kernel_code decoded = decode_kernel(module, layout, *kernel);
      decoded.name = detail::source_name(kernel->name);
      code = std::make_shared<kernel_code>(std::move(decoded));
    }
    request.kernel = code;
    if (l.arguments.size() != code->parameters.size()) {
      throw model::error(l.line, 1,
                         "'" + l.kernel + "' has " + std::to_string(code->parameters.size()) + " parameters, and " +
                             std::to_string(l.arguments.size()) + " arguments are given");
    }
    request.arguments.resize(static_cast<std::size_t>(code->parameter_bytes));
    for (std::size_t k = 0; k < l.arguments.size(); ++k) {
      detail::put_argument(*code, k, l.arguments[k], memory, l.line, request.arguments);
    }
    for (const std::string& before : l.after) {
      const auto it = named.find(before);
      if (it == named.end()) {
        throw model::error(l.line, 1, "'after " + before + "': no launch above is of that kernel or stream");
      }
      request.after.insert(request.after.end(), it->second.begin(), it->second.end());
    }
    if (!l.stream.empty() && last_of_stream.count(l.stream) != 0) {
      request.after.push_back(last_of_stream[l.stream]);
    }
    const int number = [&] {
      try {
        return add_launch(result.checked, request);
      } catch (const model::error& e) {
        throw model::error(l.line, 1, e.what());
      }
    }();
    named[l.kernel].push_back(number);
    if (!l.stream.empty()) {
      named[l.stream].push_back(number);
      last_of_stream[l.stream] = number;
    }
  }
  for (const scenario::final_line& f : s.finals) {
    result.finals.emplace_back(f.text, read_condition(f.text, f.line, memory, f.column));
  }
  return result;
}

}  // namespace membar::check
