// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/compute.hpp>
#include <check/final_condition.hpp>
#include <check/launch.hpp>
#include <check/machine.hpp>
#include <check/program.hpp>
#include <check/scenario.hpp>
#include <common/quote.hpp>
#include <membar/model/error.hpp>
#include <ptx/decode.hpp>
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

using membar_tools::quote;

namespace {

/// Words between blanks; commas are blanks, and blanks within <> and {} are none.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text) {
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
[[nodiscard]] bool number_of(const std::string& w, std::uint64_t& v) {
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
[[nodiscard]] bool float_of_text(const std::string& w, int bytes, std::uint64_t& v) {
  if (w.size() > 2 && w[0] == '0' && w[1] == 'x') {
    return number_of(w, v);
  }
  char* end = nullptr;
  const double value = std::strtod(w.c_str(), &end);
  const bool begins = !w.empty() && ((w[0] >= '0' && w[0] <= '9') || w[0] == '-' || w[0] == '.');
  v = bytes == 4 ? detail::bits_of(static_cast<float>(value)) : detail::bits_of(value);
  return begins && *end == '\0';
}

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
      words_ = words_of(one);
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
      refuse("expected " + std::string(what) + ", found " + quote(w));
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

  void read_line(std::string_view whole) {
    const std::string directive = word("a directive");
    const bool first = !std::exchange(begun_, true);
    if (directive == "scenario") {
      read_version(first);
    } else if (directive == "source") {
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
      refuse(quote(directive) + " is no directive: expected source, memory, launch or final");
    }
  }

  void read_version(bool first) {
    if (!first) {
      refuse("'scenario' gives the version of the format and is only possible before all other lines");
    }
    const std::uint64_t version = number("the version of the format");
    if (version != scenario_format_version) {
      refuse("the scenario has format version " + std::to_string(version) + ", and this membar-check reads version " +
             std::to_string(scenario_format_version) + ": use a membar-check of the release that wrote it");
    }
    if (more()) {
      refuse(quote(words_[at_]) + " is not expected here");
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
        refuse(quote(type) + " is no type with a count of 1 to 67108864 elements");
      }
      type.resize(bracket);
    }
    m.memory.type = type_named(type);
    if (bytes_of(m.memory.type) == 0 || bytes_of(m.memory.type) > 8 || m.memory.type == ptx_type::pred ||
        is_half(m.memory.type)) {
      refuse(quote(type) + " is no type of memory: expected u8, u16, u32, u64, s8, s16, s32, s64, b8 to b64, f32 or f64");
    }
    for (const scenario::memory_line& other : result_.memory) {
      if (other.memory.name == m.memory.name) {
        refuse("the memory " + quote(m.memory.name) + " is there already");
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
            refuse("expected a value, found " + quote(w));
          }
        } else {
          m.values.push_back(number("a value"));
        }
      }
      if (m.values.empty() || m.values.size() > m.memory.count) {
        refuse(quote(m.memory.name) + " has " + std::to_string(m.memory.count) + " elements and " +
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
        refuse(quote(words_[at_]) + " is not expected here");
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
        refuse(quote(words_[at_]) + " is not expected here: arguments come after 'args'");
      }
    }
    result_.launches.push_back(std::move(l));
  }

  std::string_view text_;
  scenario result_{};
  std::vector<std::string> words_{};
  std::size_t at_ = 0;
  int line_ = 0;
  bool begun_ = false;  ///< a line was read
};

/// The value of a word: a number, or the address of memory and bytes in it. False if it is neither.
[[nodiscard]] bool value_of(const std::vector<named_memory>& memory, const std::string& text, std::uint64_t& value) {
  if (number_of(text, value)) {
    return true;
  }
  const std::size_t plus = text.find('+');
  std::uint64_t offset = 0;
  const auto it = std::find_if(memory.begin(), memory.end(), [&](const auto& m) { return m.name == text.substr(0, plus); });
  if (it == memory.end() || (plus != std::string::npos && !number_of(text.substr(plus + 1), offset))) {
    return false;
  }
  value = it->address + offset;
  return true;
}

/// Lets a variable of the module begin as its line in the scenario says; returns its address.
std::uint64_t begin_variable(program& p, const scenario::memory_line& m, std::uint64_t bytes,
                             std::vector<std::uint8_t> initial) {
  const auto v = std::find_if(p.memory.begin(), p.memory.end(), [&](const auto& o) { return o.name == m.memory.name; });
  if (v == p.memory.end() || v->bytes != bytes) {
    throw model::error(m.line, 1,
                       quote(m.memory.name) + " is a variable of the source, and has " +
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
void put_argument(const kernel_code& kernel, std::size_t k, const std::string& text, const std::vector<named_memory>& memory,
                  int line, std::vector<std::uint8_t>& into) {
  const std::uint64_t bytes = kernel.parameters[k].bytes;
  const std::string parameter = "parameter " + std::to_string(k) + " of " + quote(kernel.name);
  const bool braces = text.size() > 1 && text.front() == '{' && text.back() == '}';
  if (bytes > 8 && !braces) {
    throw model::error(
        line, 1, parameter + " has " + std::to_string(bytes) + " bytes: give its words of 8 bytes in braces, as {data 1}");
  }
  const std::vector<std::string> words =
      braces ? words_of(std::string_view(text).substr(1, text.size() - 2)) : std::vector<std::string>{text};
  if (words.size() * 8 > aligned(bytes, 8)) {
    throw model::error(line, 1,
                       parameter + " has " + std::to_string(bytes) + " bytes, and " + std::to_string(words.size()) +
                           " words of 8 bytes are given");
  }
  for (std::size_t w = 0; w < words.size(); ++w) {
    std::uint64_t value = 0;
    const std::uint64_t left = std::min<std::uint64_t>(bytes - 8 * w, 8);
    const bool decimal = is_float(kernel.parameters[k].type) || words[w].find('.') != std::string::npos;
    const bool real = decimal && left >= 4 && float_of_text(words[w], static_cast<int>(left), value);
    if (!real && !value_of(memory, words[w], value)) {
      throw model::error(line, 1, "the argument " + quote(words[w]) + " is no number and no memory");
    }
    const bool negative = words[w][0] == '-';
    const auto bits = static_cast<unsigned>(8 * left);
    if (!real && left < 8 && (negative ? (std::uint64_t{0} - value) > (std::uint64_t{1} << (bits - 1)) : value >> bits != 0)) {
      throw model::error(
          line, 1,
          "the argument " + quote(words[w]) + " does not fit into the " + std::to_string(left) + " bytes of " + parameter);
    }
    for (unsigned b = 0; b < left; ++b) {
      into[static_cast<std::size_t>(kernel.parameter_offsets[k]) + 8 * w + b] = static_cast<std::uint8_t>(value >> (8 * b));
    }
  }
}

/// Puts a scenario and a module together: memory first, then launches, which name it, and conditions.
class preparation {
 public:
  preparation(const scenario& s, std::string_view ptx) : scenario_(s), module_(read_ptx(ptx)), layout_(layout_of(module_)) {
    add_variables(result_.checked, module_, layout_);
  }

  [[nodiscard]] prepared_scenario result() {
    add_memory_lines();
    put_addresses();
    name_variables();
    for (const scenario::launch_line& l : scenario_.launches) {
      add(l);
    }
    for (const scenario::final_line& f : scenario_.finals) {
      result_.finals.emplace_back(f.text, read_condition(f.text, f.line, memory_, f.column));
    }
    return std::move(result_);
  }

 private:
  void add_memory_lines() {
    for (const scenario::memory_line& m : scenario_.memory) {
      const auto element = static_cast<std::uint64_t>(bytes_of(m.memory.type));
      std::vector<std::uint8_t> initial;
      for (const std::uint64_t v : m.values) {
        for (unsigned b = 0; b < element; ++b) {
          initial.push_back(static_cast<std::uint8_t>(v >> (8 * b)));
        }
      }
      memory_.push_back(m.memory);
      memory_.back().address = layout_.globals.count(m.memory.name) != 0
                                   ? begin_variable(result_.checked, m, element * m.memory.count, std::move(initial))
                                   : add_memory(result_.checked, m.memory.name, m.memory.count * element, std::move(initial),
                                                m.initialised, m.constant);
    }
  }

  /// The values of memory that are addresses of other memory.
  void put_addresses() {
    for (const scenario::memory_line& m : scenario_.memory) {
      const auto own =
          std::find_if(memory_.begin(), memory_.end(), [&](const auto& other) { return other.name == m.memory.name; });
      for (const auto& [element, text] : m.addresses) {
        std::uint64_t value = 0;
        if (!value_of(memory_, text, value)) {
          throw model::error(m.line, 1,
                             "the value " + quote(text) + " of " + quote(m.memory.name) + " is no number and no memory");
        }
        for (memory_object& o : result_.checked.memory) {
          for (unsigned b = 0; b < 8 && o.address == own->address; ++b) {
            o.initial[8 * element + b] = static_cast<std::uint8_t>(value >> (8 * b));
          }
        }
      }
    }
  }

  /// A final condition may name a variable of the module.
  void name_variables() {
    for (const ptx_variable& v : module_.variables) {
      const bool named = std::any_of(memory_.begin(), memory_.end(), [&](const auto& m) { return m.name == v.name; });
      if (v.space == state_space::global && layout_.globals.count(v.name) != 0 && v.bytes != 0 && !named) {
        const bool real = is_float(v.type) && !is_half(v.type);
        const ptx_type type = real ? v.type : v.bytes == 8 ? ptx_type::u64 : v.bytes % 4 == 0 ? ptx_type::u32 : ptx_type::u8;
        memory_.push_back({v.name, type, v.bytes / static_cast<std::uint64_t>(bytes_of(type)), layout_.globals.at(v.name)});
      }
    }
  }

  [[nodiscard]] const ptx_function& kernel_of(const scenario::launch_line& l) const {
    std::string wanted = l.kernel;
    wanted.erase(std::remove(wanted.begin(), wanted.end(), ' '), wanted.end());
    const ptx_function* kernel = nullptr;
    std::string names;
    for (const ptx_function& f : module_.functions) {
      if (!f.kernel) {
        continue;
      }
      const std::string plain = source_name(f.name);
      names += (names.empty() ? "" : ", ") + plain;
      if (f.name == wanted || plain == wanted) {
        kernel = &f;
      }
    }
    if (kernel == nullptr) {
      throw model::error(l.line, 1,
                         "the source has no kernel " + quote(l.kernel) + ": it has " +
                             (names.empty() ? "none" : membar_tools::shortened(names, 160)));
    }
    return *kernel;
  }

  [[nodiscard]] std::shared_ptr<const kernel_code> code_of(const ptx_function& kernel) {
    std::shared_ptr<const kernel_code>& code = kernels_[kernel.name];
    if (code == nullptr) {
      kernel_code decoded = decode_kernel(module_, layout_, kernel);
      decoded.name = source_name(kernel.name);
      code = std::make_shared<kernel_code>(std::move(decoded));
    }
    return code;
  }

  /// The launches that a launch comes after: by name, and in its stream.
  void add_order(const scenario::launch_line& l, launch_request& request) {
    for (const std::string& before : l.after) {
      const auto it = named_.find(before);
      if (it == named_.end()) {
        throw model::error(l.line, 1, quote("after " + before) + ": no launch above is of that kernel or stream");
      }
      request.after.insert(request.after.end(), it->second.begin(), it->second.end());
    }
    if (!l.stream.empty() && last_of_stream_.count(l.stream) != 0) {
      request.after.push_back(last_of_stream_[l.stream]);
    }
  }

  void add(const scenario::launch_line& l) {
    launch_request request = l.request;
    const std::shared_ptr<const kernel_code> code = code_of(kernel_of(l));
    request.kernel = code;
    if (l.arguments.size() != code->parameters.size()) {
      throw model::error(l.line, 1,
                         quote(l.kernel) + " has " + std::to_string(code->parameters.size()) + " parameters, and " +
                             std::to_string(l.arguments.size()) + " arguments are given");
    }
    request.arguments.resize(static_cast<std::size_t>(code->parameter_bytes));
    for (std::size_t k = 0; k < l.arguments.size(); ++k) {
      put_argument(*code, k, l.arguments[k], memory_, l.line, request.arguments);
    }
    add_order(l, request);
    const int number = [&] {
      try {
        return add_launch(result_.checked, request);
      } catch (const model::error& e) {
        throw model::error(l.line, 1, e.what());
      }
    }();
    named_[l.kernel].push_back(number);
    if (!l.stream.empty()) {
      named_[l.stream].push_back(number);
      last_of_stream_[l.stream] = number;
    }
  }

  const scenario& scenario_;
  ptx_module module_;
  module_layout layout_;
  prepared_scenario result_{};
  std::vector<named_memory> memory_{};
  std::map<std::string, std::shared_ptr<const kernel_code>> kernels_{};
  std::map<std::string, std::vector<int>> named_{};  ///< launches by the name of their kernel or stream
  std::map<std::string, int> last_of_stream_{};
};

}  // namespace

scenario read_scenario(std::string_view text) { return scenario_reader(text).read(); }

check_property prepared_scenario::property() const {
  return [this](const final_memory& end) {
    for (const auto& [text, holds] : finals) {
      if (!holds(end)) {
        return "the final condition does not hold:" + text;
      }
    }
    return std::string();
  };
}

prepared_scenario prepare(const scenario& s, std::string_view ptx) { return preparation(s, ptx).result(); }

}  // namespace membar::check
