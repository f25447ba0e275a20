// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <check/final_condition.hpp>
#include <check/host_thread.hpp>
#include <check/launch.hpp>
#include <check/named_memory.hpp>
#include <check/program.hpp>
#include <check/scenario.hpp>
#include <common/counted.hpp>
#include <common/quote.hpp>
#include <membar/model/error.hpp>
#include <ptx/decode.hpp>
#include <ptx/reader.hpp>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace membar::check {

using membar_tools::counted;
using membar_tools::quote;

namespace {

/// Splits a line into words. Commas count as spaces. Spaces within <>, {} and "" do not separate words, and the quotation marks
/// are left out.
[[nodiscard]] std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  std::string word;
  int depth = 0;
  bool quoted = false;
  for (std::size_t k = 0; k < text.size(); ++k) {
    const char c = text[k];
    if (c == '"' && (quoted || text.find('"', k + 1) != std::string_view::npos)) {
      quoted = !quoted;
      continue;
    }
    if (quoted) {
      word += c;
      continue;
    }
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

using keywords = std::initializer_list<std::string_view>;

/// The options of a memory line.
constexpr std::array<std::string_view, 7> memory_options = {"from",   "unknown", "uninitialised", "constant", "host",
                                                            "device", "at"};

/// Returns advice on a value of memory that is written with a type of its own.
[[nodiscard]] std::string how_to_type(const std::string& value) {
  return value.find(':') == std::string::npos
             ? ""
             : "; a value has the type of its memory line: declare a struct as an array of its words, such as u32[4]";
}

/// Parses a scenario line by line.
class scenario_reader {
 public:
  scenario_reader(std::string_view text, const file_reader& files) : text_(text), files_(files) {}

  [[nodiscard]] scenario read() {
    read_lines();
    if (in_host_thread_) {
      const scenario::launch_line& l = result_.launches.back();
      throw model::error(
          l.line, 1,
          "the host thread " + quote(l.kernel) + " has no '}' after its statements: end it with a line that contains only '}'");
    }
    if (repeats_ != 0) {
      throw model::error(repeat_line_, 1, "'repeat' has no '}' after its launches: end it with a line that contains only '}'");
    }
    if (result_.source.empty()) {
      throw model::error("the scenario does not name a source: add a line 'source FILE', with a .cu or .ptx file");
    }
    if (result_.launches.empty()) {
      throw model::error("the scenario launches nothing: add a line 'launch KERNEL args ...'");
    }
    return std::move(result_);
  }

 private:
  void read_lines() {
    for (std::size_t begin = 0; begin <= text_.size();) {
      const std::size_t end = std::min(text_.find('\n', begin), text_.size());
      ++line_;
      std::string_view one = text_.substr(begin, end - begin);
      one = one.substr(0, one.find('#'));
      words_ = in_host_thread_ ? std::vector<std::string>{} : words_of(one);
      at_ = 0;
      if (in_host_thread_) {
        read_statements(one, 0);
      } else if (!words_.empty()) {
        read_line(one);
      }
      begin = end + 1;
    }
  }

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
      refuse(std::string(what) + " is " + std::to_string(v) + "; the maximum is " + std::to_string(most));
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
        refuse("the scenario names a second source: name only one, which can include other files");
      }
      result_.source_line = line_;
      result_.source = word("a file");
      while (more()) {
        result_.options.push_back(word("an option"));
      }
    } else if (directive == "memory") {
      read_memory();
    } else if (directive == "tensor_map") {
      read_tensor_map();
    } else if (directive == "launch") {
      read_launch();
    } else if (directive == "host") {
      read_host_thread(whole);
    } else if (directive == "assume" || directive == "accept") {
      read_assumption(directive, whole);
    } else if (directive == "note") {
      const std::size_t begin = whole.find("note") + 4;
      const std::size_t end = whole.find_last_not_of(" \t\r");
      word("the note's text");
      result_.stated.emplace_back(whole.substr(std::min(whole.find_first_not_of(" \t", begin), end), end));
      result_.stated.back().resize(result_.stated.back().find_last_not_of(" \t\r") + 1);
    } else if (directive == "repeat") {
      read_repeat();
    } else if (directive == "}" && repeats_ != 0) {
      end_repeat();
    } else if (directive == "use") {
      read_use();
    } else if (directive == "final") {
      const std::size_t begin = whole.find("final") + 5;
      result_.finals.push_back({std::string(whole.substr(begin)), line_, static_cast<int>(begin) + 1});
    } else {
      refuse(quote(directive) + " is not a directive: expected " +
             one_of(keywords{"source", "memory", "tensor_map", "launch", "host", "final", "assume", "accept", "note", "repeat",
                             "use"},
                    directive));
    }
  }

  void end_of_line() {
    if (more()) {
      refuse(quote(words_[at_]) + " is not expected here: the line must end before it");
    }
  }

  // assume vectors 8|16, assume shuffle orders, assume same-value writes, assume kernel boundary acquires, accept race LOCATION
  void read_assumption(const std::string& directive, std::string_view whole) {
    const std::string what = word("an assumption");
    if (directive == "accept") {
      if (what != "race") {
        refuse("expected 'accept race LOCATION', found " + quote(what) + did_you_mean(what, keywords{"race"}));
      }
      result_.accepted.emplace_back(word("a location"), line_);
    } else if (what == "vectors") {
      const std::uint64_t bytes = number("8 or 16");
      if (bytes != 8 && bytes != 16) {
        refuse("vectors of " + std::to_string(bytes) + " bytes cannot be assumed: give 8 or 16");
      }
      result_.atomic_vector = static_cast<int>(bytes);
    } else if (what == "shuffle" && accept("orders")) {
      result_.assumed.shuffle_orders = true;
    } else if (what == "same-value" && accept("writes")) {
      result_.assumed.same_value_writes = true;
    } else if (what == "kernel" && accept("boundary") && accept("acquires")) {
      result_.assumed.kernel_boundary_acquires = true;
    } else {
      refuse(
          "expected 'assume vectors 8', 'assume vectors 16', 'assume shuffle orders', 'assume same-value writes' or 'assume "
          "kernel "
          "boundary acquires', found " +
          quote(what) + did_you_mean(what, keywords{"vectors", "shuffle", "same-value", "kernel"}));
    }
    end_of_line();
    const std::size_t begin = whole.find_first_not_of(" \t");
    const std::size_t end = whole.find_last_not_of(" \t\r");
    result_.stated.emplace_back(whole.substr(begin, end - begin + 1));
  }

  // repeat N { ... }
  void read_repeat() {
    if (repeats_ != 0) {
      refuse("'repeat' cannot be inside another 'repeat': write out its launches");
    }
    repeats_ = static_cast<int>(small("the number of repetitions", 1000));
    if (repeats_ == 0 || !accept("{")) {
      refuse("expected 'repeat N {' with N from 1 to 1000, and '}' on a line of its own after the launches");
    }
    end_of_line();
    repeat_line_ = line_;
    repeat_begin_ = result_.launches.size();
  }
  void end_repeat() {
    end_of_line();
    const std::vector<scenario::launch_line> turn(result_.launches.begin() + static_cast<std::ptrdiff_t>(repeat_begin_),
                                                  result_.launches.end());
    if (turn.empty() || std::any_of(turn.begin(), turn.end(), [](const auto& l) { return l.request.host; })) {
      refuse("'repeat' must contain at least one launch and nothing else: put host threads before or after it");
    }
    for (; repeats_ > 1; --repeats_) {
      result_.launches.insert(result_.launches.end(), turn.begin(), turn.end());
    }
    repeats_ = 0;
  }

  // use FILE
  void read_use() {
    const std::string file = word("a file");
    end_of_line();
    if (uses_ == 8) {
      refuse("'use' lines are nested more than 8 levels deep at " + quote(file) + ": check that no file uses itself");
    }
    std::string text;
    try {
      text = files_ ? files_(file)
                    : throw model::error("this scenario cannot use other files, because it was not read from a file");
    } catch (const std::exception& e) {
      refuse(quote(file) + ": " + e.what());
    }
    const auto [outer, line] = std::pair(std::exchange(text_, text), std::exchange(line_, 0));
    ++uses_;
    try {
      read_lines();
    } catch (const std::exception& e) {
      throw model::error(line, 1, "in " + quote(file) + ": " + e.what());
    }
    --uses_;
    text_ = outer;
    line_ = line;
  }

  void read_version(bool first) {
    if (!first) {
      refuse("'scenario' gives the format's version and must come before all other lines");
    }
    const std::uint64_t version = number("the version of the format");
    if (version != scenario_format_version) {
      refuse("the scenario has format version " + std::to_string(version) + ", but this membar-check reads version " +
             std::to_string(scenario_format_version) + ": use the membar-check release that wrote it");
    }
    if (more()) {
      refuse(quote(words_[at_]) + " is not expected here");
    }
  }

  // tensor_map NAME of MEMORY type f16 dims 64 32 strides 128 box 64 8 element_strides 1 1 swizzle 128 fill nan
  void read_tensor_map() {
    scenario::tensor_line t;
    t.line = line_;
    t.name = word("a name");
    if (!accept("of")) {
      refuse("expected 'of MEMORY' after the name of a tensor map");
    }
    t.of = word("memory");
    std::size_t extents = 0;
    std::size_t strides = 0;
    std::size_t boxes = 0;
    std::size_t steps = 0;
    bool typed = false;
    t.map.steps.fill(1);
    while (more()) {
      const std::string what = word("a word");
      if (what == "type") {
        typed = true;
        t.map.type = tensor_type_named(word("a type"));
      } else if (what == "dims") {
        extents = numbers(t.map.extents.begin(), "a number of elements", std::uint64_t{1} << 31U);
      } else if (what == "strides") {
        strides = numbers(t.map.strides.begin() + 1, "a number of bytes", std::uint64_t{1} << 40U);
      } else if (what == "box") {
        boxes = numbers(t.map.box.begin(), "a number of elements", 256);
      } else if (what == "element_strides") {
        steps = numbers(t.map.steps.begin(), "a number of elements", 8);
      } else if (what == "swizzle") {
        t.map.swizzle = swizzle_named(word("none, 32, 64 or 128"));
      } else if (what == "interleave") {
        if (const std::string layout = word("none"); layout != "none") {
          refuse("the interleaved layout " + quote(layout) + " is not supported: expected none");
        }
      } else if (what == "fill") {
        const std::string fill = word("zeros or nan");
        if (fill != "zeros" && fill != "nan") {
          refuse(quote(fill) + " is not a fill: expected " + one_of(keywords{"zeros", "nan"}, fill));
        }
        t.map.fill = fill == "nan" ? 1 : 0;
      } else if (what.starts_with("im2col")) {
        refuse("the tensor map " + quote(t.name) + " uses " + what +
               " mode, which is not modelled: give a box of tiles, such as 'box 8 8'");
      } else {
        refuse(quote(what) + " is not a field of a tensor map: expected " +
               one_of(keywords{"type", "dims", "strides", "box", "element_strides", "swizzle", "interleave", "fill"}, what));
      }
    }
    if (!typed || extents == 0 || boxes != extents || strides + 1 != extents || (steps != 0 && steps != extents)) {
      refuse("the tensor map " + quote(t.name) + " has " + counted(extents, "dim") + ", " + counted(strides, "stride") +
             " and a box of " + std::to_string(boxes) +
             ": it needs a type, 1 to 5 dims, a stride in bytes for every dimension except the first, and a box with the same "
             "number of dimensions");
    }
    t.map.rank = static_cast<int>(extents);
    check_tensor_map(t);
    result_.tensors.push_back(std::move(t));
  }

  /// Parses the numbers that follow. There must be at most `most_dimensions` of them.
  template <class To>
  std::size_t numbers(To to, const char* what, std::uint64_t most) {
    std::size_t count = 0;
    for (; number_is_next(); ++count) {
      if (count == most_dimensions) {
        refuse("a tensor map has at most " + std::to_string(most_dimensions) + " dimensions");
      }
      *to++ = static_cast<std::remove_reference_t<decltype(*to)>>(small(what, most));
    }
    return count;
  }

  [[nodiscard]] std::uint8_t tensor_type_named(const std::string& name) const {
    std::string names;
    for (std::size_t k = 0; k < std::size(tensor_types); ++k) {
      names += (k == 0 ? "" : ", ") + std::string(tensor_types[k].word);
      if (tensor_types[k].word == name) {
        return static_cast<std::uint8_t>(k);
      }
    }
    refuse(quote(name) + " is not a tensor map type: expected one of " + names);
  }

  [[nodiscard]] std::uint8_t swizzle_named(const std::string& name) const {
    for (const swizzle_mode mode : {swizzle_mode::bytes_32, swizzle_mode::bytes_64, swizzle_mode::bytes_128}) {
      if (name == std::to_string(row_of(mode))) {
        return static_cast<std::uint8_t>(mode);
      }
    }
    return name == "none" ? std::uint8_t{0}
                          : (refuse("expected none, 32, 64 or 128 after swizzle, found " + quote(name)), std::uint8_t{0});
  }

  /// Source: CUDA driver API, `cuTensorMapEncodeTiled`.
  void check_tensor_map(const scenario::tensor_line& t) const {
    const std::uint64_t element = tensor_types[t.map.type].bytes;
    for (std::size_t d = 0; d < static_cast<std::size_t>(t.map.rank); ++d) {
      if (t.map.extents[d] == 0 || t.map.box[d] == 0 || t.map.steps[d] == 0) {
        refuse("a dimension, box size or element stride of the tensor map " + quote(t.name) + " is 0");
      }
      if (d > 0 && t.map.strides[d] % 16 != 0) {
        refuse("a stride of " + std::to_string(t.map.strides[d]) + " bytes is not a multiple of 16");
      }
    }
    if (t.map.box[0] * element % 16 != 0) {
      refuse("a row of the box has " + std::to_string(t.map.box[0] * element) + " bytes, which is not a multiple of 16");
    }
    const std::uint64_t row = row_of(static_cast<swizzle_mode>(t.map.swizzle));
    if (row != 0 && t.map.box[0] * element > row) {
      refuse("a row of the box has " + std::to_string(t.map.box[0] * element) + " bytes, but 'swizzle " + std::to_string(row) +
             "' allows at most " + std::to_string(row));
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
        refuse(quote(type) + " is not a type with a count of 1 to 67108864 elements, as in 'memory x f32[10] = 1, 2.5'");
      }
      type.resize(bracket);
    }
    m.memory.type = type_named(type);
    if (bytes_of(m.memory.type) == 0 || bytes_of(m.memory.type) > 8 || m.memory.type == ptx_type::pred ||
        is_half(m.memory.type)) {
      static const std::map<std::string, std::string> names_in_c = {{"float", "f32"},    {"double", "f64"}, {"int", "s32"},
                                                                    {"unsigned", "u32"}, {"char", "s8"},    {"short", "s16"},
                                                                    {"long", "s64"},     {"bool", "u8"}};
      const auto c = names_in_c.find(type);
      refuse(quote(type) + " is not a memory type: expected " +
             (c != names_in_c.end() ? c->second : "u8, u16, u32, u64, s8, s16, s32, s64, b8 to b64, f32 or f64"));
    }
    while (more()) {
      if (accept("=")) {
        read_values(m);
      } else if (accept("from")) {
        read_initial_file(m);
      } else if (accept("at")) {
        read_address(m);
      } else if (accept("uninitialised")) {
        m.initialised = false;
      } else if (accept("unknown")) {
        read_unknown(m);
      } else if (accept("constant")) {
        m.constant = true;
      } else if (accept("device")) {  // selects a variable's copy; the device of other memory does not matter
        m.device = static_cast<int>(small("a device", 15));
      } else if (accept("host")) {
        m.host = true;
      } else {
        refuse(quote(words_[at_]) +
               " is not expected here: after the type, a memory line can contain '= VALUES' or 'from FILE', and the options "
               "unknown, uninitialised, constant, host, device and at" +
               did_you_mean(words_[at_], memory_options));
      }
    }
    for (const scenario::memory_line& other : result_.memory) {
      if (other.memory.name == m.memory.name && other.device == m.device) {
        refuse("the memory " + quote(m.memory.name) + " is already defined: rename one of them");
      }
    }
    result_.memory.push_back(std::move(m));
  }

  void require_no_values(const scenario::memory_line& m) const {
    if (!m.values.empty() || !m.file.empty()) {
      refuse("the values of " + quote(m.memory.name) + " are given twice: give them once, with '= VALUES' or 'from FILE'");
    }
  }

  // memory NAME TYPE = V, V...
  void read_values(scenario::memory_line& m) {
    require_no_values(m);
    while (more() && words_[at_] != "uninitialised" && words_[at_] != "device" && words_[at_] != "host" &&
           words_[at_] != "constant" && words_[at_] != "unknown" && words_[at_] != "=") {
      if (!number_is_next() && bytes_of(m.memory.type) == 8) {
        m.addresses[m.values.size()] = word("memory");
        m.values.push_back(0);
      } else {
        const std::string w = word("a value");
        std::uint64_t& value = m.values.emplace_back();
        if (!(is_float(m.memory.type) ? float_of_text(w, bytes_of(m.memory.type), value) : number_of(w, value))) {
          refuse("expected a value, found " + quote(w) + how_to_type(w) + did_you_mean(w, memory_options));
        }
      }
    }
    if (m.values.empty() || m.values.size() > m.memory.count) {
      refuse(quote(m.memory.name) + " has " + counted(m.memory.count, "element") + ", but " + std::to_string(m.values.size()) +
             " values are given");
    }
  }

  // memory NAME TYPE unknown [FIRST[-LAST]]...
  void read_unknown(scenario::memory_line& m) {
    if (!number_is_next()) {
      m.unknown = {{0, m.memory.count}};
    }
    while (number_is_next()) {
      const std::string range = word("elements");
      const std::size_t dash = std::min(range.find('-'), range.size());
      std::uint64_t first = 0;
      std::uint64_t last = 0;
      const bool read =
          number_of(range.substr(0, dash), first) && number_of(dash == range.size() ? range : range.substr(dash + 1), last);
      const std::uint64_t next = m.unknown.empty() ? 0 : m.unknown.back().first + m.unknown.back().count;
      if (!read || first < next || last < first || last >= m.memory.count) {
        refuse(quote(range) + " is not a range of elements of " + quote(m.memory.name) + ", which has " +
               counted(m.memory.count, "element") + ": after 'unknown', list elements in ascending order, as in 0-7 12");
      }
      m.unknown.push_back({first, last - first + 1});
    }
  }

  // memory NAME TYPE at ADDRESS
  void read_address(scenario::memory_line& m) {
    m.address = number("an address");
    const std::uint64_t alignment = 256;
    if (m.address < global_window || m.address >= shared_window || m.address % alignment != 0) {
      refuse("the address of " + quote(m.memory.name) + " must be a multiple of 256 from 0x100000000 to 0x3fffffffff00");
    }
  }

  // memory NAME TYPE from FILE
  void read_initial_file(scenario::memory_line& m) {
    require_no_values(m);
    m.file = word("a file");
    std::string bytes;
    try {
      bytes = files_ ? files_(m.file)
                     : throw model::error("this scenario cannot read other files, because it was not read from a file");
    } catch (const std::exception& e) {
      refuse(quote(m.file) + ": " + e.what());
    }
    const auto element = static_cast<std::size_t>(bytes_of(m.memory.type));
    if (bytes.size() > m.memory.count * element || bytes.size() % element != 0) {
      refuse(quote(m.file) + " has " + std::to_string(bytes.size()) + " bytes, but " + quote(m.memory.name) + " has " +
             std::to_string(m.memory.count * element) + ": the file must not be larger, and must contain whole elements");
    }
    for (std::size_t k = 0; k < bytes.size(); k += element) {
      std::uint64_t value = 0;
      for (std::size_t b = 0; b < element; ++b) {
        value |= std::uint64_t{static_cast<unsigned char>(bytes[k + b])} << (8 * b);
      }
      m.values.push_back(value);
    }
  }

  std::array<std::uint32_t, 3> shape(const char* what, std::uint64_t most) {
    std::array<std::uint32_t, 3> result{1, 1, 1};
    for (std::size_t k = 0; k < 3 && (k == 0 || number_is_next()); ++k) {
      result[k] = static_cast<std::uint32_t>(small(what, most));
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
        l.request.grid = shape("the grid", 0x7fffffff);
      } else if (accept("block")) {
        l.request.block = shape("the block", 1024);
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
        refuse(quote(words_[at_]) +
               " is not expected here: arguments come after 'args', and grid, block and shared before it, as in 'launch kernel "
               "grid 2 block 32 args x 10'" +
               did_you_mean(words_[at_], keywords{"grid", "block", "cluster", "domain", "device", "shared", "stream", "after",
                                                  "dependent", "args"}));
      }
    }
    result_.launches.push_back(std::move(l));
  }

  // host NAME [after NAME]... { STATEMENT; ... }
  void read_host_thread(std::string_view whole) {
    const std::size_t brace = whole.find('{');
    words_ = words_of(whole.substr(0, brace));
    scenario::launch_line l;
    l.line = line_;
    l.request.host = true;
    l.kernel = word("a name");
    while (more()) {
      if (!accept("after")) {
        refuse(quote(words_[at_]) + " is not expected here: only 'after NAME' or '{' can follow the name of a host thread" +
               did_you_mean(words_[at_], keywords{"after"}));
      }
      l.after.push_back(word("a launch, a stream or a host thread"));
    }
    if (brace == std::string_view::npos) {
      refuse("expected '{' and the statements of the host thread " + quote(l.kernel) + " at the end of the line");
    }
    result_.launches.push_back(std::move(l));
    read_statements(whole, brace + 1);
  }

  void read_statements(std::string_view whole, std::size_t begin) {
    const std::size_t end = read_host_statements(whole, begin, line_, result_.launches.back().host);
    in_host_thread_ = end == std::string_view::npos;
    const std::size_t more = in_host_thread_ ? end : whole.find_first_not_of(" \t\r", end);
    if (more != std::string_view::npos) {
      throw model::error(line_, static_cast<int>(more) + 1,
                         quote(std::string(whole.substr(more))) + " is not expected after '}'");
    }
  }

  std::string_view text_;
  const file_reader& files_;
  scenario result_{};
  std::vector<std::string> words_{};
  std::size_t at_ = 0;
  int line_ = 0;
  bool begun_ = false;  ///< whether any line was read
  bool in_host_thread_ = false;
  int uses_ = 0;     ///< the nesting depth of files
  int repeats_ = 0;  ///< the number of repetitions; 0 outside `repeat`
  int repeat_line_ = 0;
  std::size_t repeat_begin_ = 0;  ///< the first launch of a repetition
};

/// Returns whether each device has its own copy of a module variable.
[[nodiscard]] bool is_per_device(const ptx_variable& v) noexcept {
  return v.space != state_space::shared && v.bytes != 0 && !v.managed;
}

/// The tensor maps of a scenario.
using tensor_maps = std::map<std::string, tensor_map>;

/// Parses the words of a struct. A tensor map is replaced by its 128 bytes.
[[nodiscard]] std::vector<std::string> with_maps(const std::vector<std::string>& words, const tensor_maps& maps) {
  std::vector<std::string> result;
  for (const std::string& word : words) {
    const auto map = maps.find(word);
    if (map == maps.end()) {
      result.push_back(word);
      continue;
    }
    for (const std::uint64_t one : map->second.encoded()) {
      result.push_back(std::to_string(one));
    }
  }
  return result;
}

/// Writes an argument to the bytes of parameter `k`.
void put_argument(const kernel_code& kernel, std::size_t k, const std::string& text, const std::vector<named_memory>& memory,
                  const tensor_maps& maps, int line, int device, std::vector<std::uint8_t>& into) {
  const std::uint64_t bytes = kernel.parameters[k].bytes;
  const std::string parameter = "parameter " + std::to_string(k) + " of " + quote(kernel.name);
  const bool braces = text.size() > 1 && text.front() == '{' && text.back() == '}';
  if (bytes > 8 && !braces && maps.count(text) == 0) {
    throw model::error(
        line, 1,
        parameter + " has " + std::to_string(bytes) + " bytes: give its words of 8 bytes in braces, for example {data 1}");
  }
  std::vector<std::string> words =
      braces ? words_of(std::string_view(text).substr(1, text.size() - 2)) : std::vector<std::string>{text};
  if (bytes > 8) {
    words = with_maps(words, maps);
  }
  const bool by_offset =
      std::any_of(words.begin(), words.end(), [](const std::string& w) { return w.find('=') != std::string::npos; });
  if (!by_offset && words.size() * 8 > aligned(bytes, 8)) {
    throw model::error(line, 1,
                       parameter + " has " + std::to_string(bytes) + " bytes, but " + std::to_string(words.size()) +
                           " words of 8 bytes are given");
  }
  std::uint64_t next = 0;
  for (const std::string& given : words) {
    std::uint64_t value = 0;
    std::uint64_t offset = next;
    ptx_type type = kernel.parameters[k].type;
    const std::size_t sign = given.find('=');
    const std::string word = sign == std::string::npos ? given : given.substr(sign + 1);
    if (sign != std::string::npos) {
      if (const std::string wrong = read_field(given.substr(0, sign), parameter, bytes, offset, type); !wrong.empty()) {
        throw model::error(line, 1, wrong);
      }
    }
    if (offset >= bytes) {
      throw model::error(line, 1,
                         parameter + " has " + std::to_string(bytes) + " bytes, but " + quote(given) +
                             " would be beyond its end: leave it out");
    }
    const std::uint64_t left =
        sign == std::string::npos ? std::min<std::uint64_t>(bytes - offset, 8) : static_cast<std::uint64_t>(bytes_of(type));
    next = offset + left;
    const bool decimal = is_float(type) || word.find('.') != std::string::npos;
    const bool real = decimal && left >= 4 && float_of_text(word, static_cast<int>(left), value);
    if (!real && !value_of(memory, word, value, device)) {
      throw model::error(line, 1,
                         "the argument " + quote(word) + " is neither a number nor the name of a memory object" +
                             (word.find(':') == std::string::npos
                                  ? nearest_memory(memory, word.substr(0, word.find('+')))
                                  : "; a field of a struct with a type is written '+OFFSET:TYPE=VALUE', for example '+" +
                                        std::to_string(offset) + ":u32=1'"));
    }
    if (!real && !fits(word, value, left)) {
      throw model::error(
          line, 1, "the argument " + quote(word) + " does not fit into the " + std::to_string(left) + " bytes of " + parameter);
    }
    for (unsigned b = 0; b < left; ++b) {
      into[static_cast<std::size_t>(kernel.parameter_offsets[k] + offset) + b] = static_cast<std::uint8_t>(value >> (8 * b));
    }
  }
}

/// Returns the result of `read`, which reads the PTX of a scenario's source. The PTX is the source itself or was compiled from
/// it. An error message begins with the source's name and contains the line in the PTX.
template <class Read>
[[nodiscard]] auto in_source(const scenario& s, const Read& read) {
  try {
    return read();
  } catch (const std::exception& e) {
    const bool is_ptx = s.source.ends_with(".ptx");
    throw model::error(s.source + (is_ptx ? ":" : ", compiled to PTX: ") + e.what());
  }
}

/// Combines a scenario and a module. Memory comes first, then launches, which refer to memory, and then conditions.
class preparation {
 public:
  preparation(const scenario& s, std::string_view ptx, std::vector<planned_launch>* planned = nullptr)
      : scenario_(s), module_(in_source(s, [&] { return read_ptx(ptx); })), planned_(planned) {
    std::set<int> devices;
    for (const scenario::launch_line& l : s.launches) {
      if (!l.request.host) {
        devices.insert(l.request.device);
      }
    }
    devices_.assign(devices.begin(), devices.end());
    devices_.resize(std::max<std::size_t>(devices_.size(), 1));
    const bool several = devices_.size() > 1 && std::any_of(module_.variables.begin(), module_.variables.end(), is_per_device);
    for (std::size_t d = 0; d < (several ? devices_.size() : 1); ++d) {
      layouts_.push_back(in_source(s, [&] { return layout_of(module_, d == 0 ? nullptr : &layouts_.back()); }));
      add_variables(result_.checked, module_, layouts_.back(), several ? device_suffix(devices_[d]) : "");
    }
  }

  [[nodiscard]] prepared_scenario result() {
    for (const scenario::memory_line& m : scenario_.memory) {
      add(m);
    }
    name_variables();
    put_addresses();
    for (const scenario::tensor_line& t : scenario_.tensors) {
      add(t);
    }
    for (const scenario::launch_line& l : scenario_.launches) {
      add(l);
    }
    accept_races();
    for (const scenario::final_line& f : scenario_.finals) {
      result_.finals.emplace_back(f.text, read_condition(f.text, f.line, memory_, f.column));
    }
    return std::move(result_);
  }

 private:
  void accept_races() {
    result_.checked.assumed = scenario_.assumed;
    result_.stated = scenario_.stated;
    for (const auto& [text, line] : scenario_.accepted) {
      const std::size_t bracket = text.find('[');
      const std::size_t plus = text.find('+');
      const std::string name = text.substr(0, std::min(bracket, plus));
      std::vector<std::pair<named_memory, std::uint64_t>> all;
      if (const named_memory* const m = find_memory(memory_, name); m != nullptr) {
        all.emplace_back(*m, 1);
      } else if (all = shared_memory_named(name); all.empty()) {
        throw model::error(line, 1,
                           quote(text) + " is not a memory object or a __shared__ variable: accept race expects NAME, " +
                               "NAME[ELEMENT] or NAME+BYTES:TYPE" + nearest_memory(memory_, name));
      } else if (bracket != std::string::npos) {
        throw model::error(line, 1,
                           quote(text) + " is in shared memory: name the element by its offset in bytes and its type, " +
                               "as in " + name + "+4:u32");
      }
      for (const auto& [m, blocks] : all) {
        result_.checked.assumed.accepted_races.push_back(accepted_range(m, text, bracket, plus, line));
        result_.checked.assumed.accepted_races.back().blocks = blocks;
      }
    }
  }

  /// Returns the bytes of a memory object, or of the element or field of it that `text` names.
  [[nodiscard]] static assumptions::range accepted_range(const named_memory& object, const std::string& text,
                                                         std::size_t bracket, std::size_t plus, int line) {
    named_memory m = object;
    if (plus != std::string::npos) {
      if (const std::string wrong = field_of(object, text.substr(plus), m); !wrong.empty()) {
        throw model::error(line, 1, wrong);
      }
    }
    const auto element = static_cast<std::uint64_t>(bytes_of(m.type));
    std::uint64_t index = 0;
    const bool one = bracket != std::string::npos;
    if (one &&
        (text.back() != ']' || !number_of(text.substr(bracket + 1, text.size() - bracket - 2), index) || index >= m.count)) {
      throw model::error(line, 1,
                         quote(text) + " is not an element of " + quote(m.name) + ", which has " + counted(m.count, "element"));
    }
    return {m.address + index * element, one ? element : m.count * element};
  }

  /// Returns the copies of a variable in shared memory, and the number of successive blocks that each copy stands for.
  [[nodiscard]] std::vector<std::pair<named_memory, std::uint64_t>> shared_memory_named(const std::string& name) const {
    std::vector<std::pair<named_memory, std::uint64_t>> result;
    const auto take = [&](const std::vector<memory_object>& objects, std::uint64_t blocks) {
      for (const memory_object& o : objects) {
        if (o.name.starts_with(name + of_block)) {
          result.emplace_back(named_memory{name, ptx_type::u8, o.bytes, o.address}, blocks);
        }
      }
    };
    take(result_.checked.memory, 1);
    if (planned_ != nullptr) {
      for (const planned_launch& l : *planned_) {
        take(l.request.kernel == nullptr ? std::vector<memory_object>{} : shared_objects(l.request, l.first_block), l.blocks);
      }
    }
    return result;
  }

  [[nodiscard]] static std::string device_suffix(int device) { return "@" + std::to_string(device); }

  /// Returns the index in `layouts_` of a device's layout.
  [[nodiscard]] std::size_t layout_number(int device) const {
    const auto at = std::find(devices_.begin(), devices_.end(), device) - devices_.begin();
    return layouts_.size() == 1 ? 0 : static_cast<std::size_t>(at);
  }

  [[nodiscard]] const ptx_variable* variable_of(const std::string& name) const {
    const auto v =
        std::find_if(module_.variables.begin(), module_.variables.end(), [&](const auto& o) { return o.name == name; });
    return v == module_.variables.end() || layouts_[0].globals.count(name) == 0 ? nullptr : &*v;
  }

  /// Returns the devices to which a memory line for a variable applies: the device that the line names, or all devices that no
  /// other line names. For a variable that all devices share, returns a single device.
  [[nodiscard]] std::vector<int> devices_of(const scenario::memory_line& m, bool per_device) const {
    if (!per_device) {
      return {devices_[0]};
    }
    std::vector<int> result;
    for (const int d : devices_) {
      const bool named = std::any_of(scenario_.memory.begin(), scenario_.memory.end(), [&](const scenario::memory_line& other) {
        return other.memory.name == m.memory.name && other.device == d;
      });
      if (m.device == d || (m.device < 0 && !named)) {
        result.push_back(d);
      }
    }
    if (m.device >= 0 && result.empty()) {
      throw model::error(m.line, 1,
                         quote(m.memory.name) + " of device " + std::to_string(m.device) +
                             " is a variable of the source, but that device has no launch: name a device with a launch");
    }
    return result;
  }

  /// Makes memory available to conditions and arguments under its name. If each device has its own copy, the first device's
  /// copy also has the plain name.
  void name(named_memory m, bool per_device, int device) {
    const std::string plain = m.name;
    m.per_device = per_device;
    if (per_device) {
      m.name = plain + device_suffix(device);
      name_once(m);
    }
    if (!per_device || device == devices_[0]) {
      m.name = plain;
      name_once(m);
    }
  }
  void name_once(const named_memory& m) {
    if (find_memory(memory_, m.name) == nullptr) {
      memory_.push_back(m);
    }
  }

  void add(const scenario::memory_line& m) {
    const auto element = static_cast<std::uint64_t>(bytes_of(m.memory.type));
    std::vector<std::uint8_t> initial;
    for (const std::uint64_t v : m.values) {
      for (unsigned b = 0; b < element; ++b) {
        initial.push_back(static_cast<std::uint8_t>(v >> (8 * b)));
      }
    }
    const ptx_variable* const v = variable_of(m.memory.name);
    const bool per_device = v != nullptr && is_per_device(*v);
    if (!per_device && find_memory(memory_, m.memory.name) != nullptr) {
      throw model::error(m.line, 1, "the memory " + quote(m.memory.name) + " is already defined: rename one of them");
    }
    named_memory named = m.memory;
    for (const int d : devices_of(m, per_device)) {
      if (v == nullptr) {
        try {
          named.address =
              add_memory(result_.checked, named.name, named.count * element, initial, m.initialised, m.constant, m.address);
        } catch (const model::error& e) {
          throw model::error(m.line, 1, e.what());
        }
        finish(result_.checked.memory.back(), m, element);
      } else {
        named.address = layouts_[layout_number(d)].globals.at(named.name);
        begin_variable(m, *v, element * named.count, initial, named.address);
      }
      name(named, per_device, d);
    }
  }

  /// Adds a tensor map, both as an argument and as memory that a pointer may point to.
  void add(const scenario::tensor_line& t) {
    if (find_memory(memory_, t.name) != nullptr) {
      throw model::error(t.line, 1,
                         "the tensor map " + quote(t.name) + " has the same name as a memory object: rename one of them");
    }
    tensor_map map = t.map;
    map.strides[0] = tensor_types[map.type].bytes;
    std::uint64_t last = map.strides[0];
    for (std::size_t d = 0; d < static_cast<std::size_t>(map.rank); ++d) {
      last += (map.extents[d] - 1) * map.strides[d];
    }
    const auto holds = [&](const memory_object& o) {
      return map.address >= o.address && map.address - o.address < o.bytes && o.bytes - (map.address - o.address) >= last;
    };
    if (!value_of(memory_, t.of, map.address)) {
      throw model::error(t.line, 1,
                         "the tensor map " + quote(t.name) + " describes " + quote(t.of) + ", which is not a memory object");
    }
    if (map.address % 16 != 0 || std::none_of(result_.checked.memory.begin(), result_.checked.memory.end(), holds)) {
      throw model::error(t.line, 1,
                         "the tensor of " + std::to_string(last) + " bytes that the tensor map " + quote(t.name) +
                             " describes " +
                             (map.address % 16 != 0 ? "is not aligned to 16 bytes" : "is not within " + quote(t.of)));
    }
    std::vector<std::uint8_t> bytes;
    for (const std::uint64_t word : map.encoded()) {
      for (unsigned b = 0; b < 8; ++b) {
        bytes.push_back(static_cast<std::uint8_t>(word >> (8 * b)));
      }
    }
    named_memory named{t.name, ptx_type::u64, tensor_map_words};
    named.address = add_memory(result_.checked, t.name, tensor_map_bytes, bytes);
    memory_.push_back(named);
    maps_[t.name] = map;
  }

  /// Initializes a variable of the module as its line in the scenario specifies.
  void begin_variable(const scenario::memory_line& m, const ptx_variable& v, std::uint64_t bytes,
                      const std::vector<std::uint8_t>& initial, std::uint64_t address) {
    if (v.bytes != bytes) {
      throw model::error(m.line, 1,
                         quote(m.memory.name) + " is a variable of the source, and has " + std::to_string(v.bytes) +
                             " bytes, not " + std::to_string(bytes) +
                             ": give its type and count, or give the memory another name");
    }
    memory_object& o = object_at(address);
    if (!m.values.empty() || !m.initialised) {
      o.initial = initial;
    }
    o.initialised = m.initialised;
    o.constant = o.constant || m.constant;
    finish(o, m, static_cast<std::uint64_t>(bytes_of(m.memory.type)));
  }

  static void finish(memory_object& o, const scenario::memory_line& m, std::uint64_t element) {
    o.host = m.host;
    o.type = m.memory.type;
    for (const scenario::memory_line::range& r : m.unknown) {
      o.unknown.push_back({r.first * element, r.count * element});
    }
  }

  [[nodiscard]] memory_object& object_at(std::uint64_t address) {
    return *std::find_if(result_.checked.memory.begin(), result_.checked.memory.end(),
                         [&](const memory_object& o) { return o.address == address; });
  }

  /// Fills in the values that are addresses of other memory.
  void put_addresses() {
    for (const scenario::memory_line& m : scenario_.memory) {
      const ptx_variable* const v = variable_of(m.memory.name);
      const bool per_device = v != nullptr && is_per_device(*v);
      for (const auto& [element, text] : m.addresses) {
        for (const int d : devices_of(m, per_device)) {
          const int device = per_device ? d : -1;
          std::uint64_t value = 0;
          if (!value_of(memory_, text, value, device)) {
            throw model::error(m.line, 1,
                               "the value " + quote(text) + " of '" + m.memory.name +
                                   "' is neither a number nor the name of a memory object" +
                                   nearest_memory(memory_, text.substr(0, text.find('+'))));
          }
          memory_object& o = object_at(find_memory(memory_, m.memory.name, device)->address);
          for (unsigned b = 0; b < 8; ++b) {
            o.initial[8 * element + b] = static_cast<std::uint8_t>(value >> (8 * b));
          }
        }
      }
    }
  }

  /// Makes module variables that have no memory line available by name.
  void name_variables() {
    for (const ptx_variable& v : module_.variables) {
      if (v.space != state_space::global || layouts_[0].globals.count(v.name) == 0 || v.bytes == 0) {
        continue;
      }
      const bool real = is_float(v.type) && !is_half(v.type);
      const ptx_type type = real ? v.type : v.bytes == 8 ? ptx_type::u64 : v.bytes % 4 == 0 ? ptx_type::u32 : ptx_type::u8;
      for (const int d : is_per_device(v) ? devices_ : std::vector<int>{devices_[0]}) {
        name(
            {v.name, type, v.bytes / static_cast<std::uint64_t>(bytes_of(type)), layouts_[layout_number(d)].globals.at(v.name)},
            is_per_device(v), d);
      }
    }
  }

  /// Returns a kernel's name in a form that does not depend on how its template arguments are spelled: without the suffixes of
  /// numbers and casts before them, with 0 and 1 for `false` and `true`, and with `unsignedint` for `unsigned`.
  [[nodiscard]] static std::string uniform_name(const std::string& name) {
    const auto is_word = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    std::string result;
    for (std::size_t at = 0; at < name.size();) {
      const std::size_t end = static_cast<std::size_t>(
          std::find_if_not(name.begin() + static_cast<std::ptrdiff_t>(at), name.end(), is_word) - name.begin());
      const std::string word = name.substr(at, end - at);
      if (word.empty()) {
        const std::size_t cast = !result.empty() && (result.back() == '<' || result.back() == ',') ? end_of_cast(name, at) : at;
        result += cast == at ? std::string(1, name[at]) : "";
        at = std::max(cast, at + 1);
        continue;
      }
      const bool number = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
      result += number               ? word.substr(0, word.find_last_not_of("uUlL") + 1)
                : word == "true"     ? "1"
                : word == "false"    ? "0"
                : word == "unsigned" ? "unsignedint"
                                     : word;
      at = end;
    }
    return result;
  }

  /// If a cast of a number begins at `at`, as in "(color)2", returns the position of the number. Otherwise returns `at`.
  [[nodiscard]] static std::size_t end_of_cast(const std::string& name, std::size_t at) {
    int depth = 0;
    for (std::size_t k = at; k + 1 < name.size(); ++k) {
      depth += name[k] == '(' ? 1 : name[k] == ')' ? -1 : 0;
      if (depth == 0) {
        const bool before_number = k > at && (name[k + 1] == '-' || std::isdigit(static_cast<unsigned char>(name[k + 1])) != 0);
        return before_number ? k + 1 : at;
      }
    }
    return at;
  }

  /// The parts of a kernel's name, for example "ns::", "worker" and "<2>".
  struct name_parts {
    std::string namespaces;
    std::string name;
    std::string arguments;
  };
  [[nodiscard]] static name_parts parts_of(const std::string& plain) {
    const std::size_t arguments = std::min(plain.find('<'), plain.size());
    const std::size_t last = plain.rfind("::", arguments);
    const std::size_t begin = last == std::string::npos ? 0 : last + 2;
    return {plain.substr(0, begin), plain.substr(begin, arguments - begin), plain.substr(arguments)};
  }

  /// Returns a kernel's name without namespaces and template arguments.
  [[nodiscard]] static std::string short_name(const std::string& plain) { return parts_of(plain).name; }

  /// Returns whether `wanted` denotes the kernel `plain`, possibly with other spellings of template arguments, and without outer
  /// namespaces or without template arguments.
  [[nodiscard]] static bool may_denote(const std::string& wanted, const std::string& plain) {
    const name_parts w = parts_of(uniform_name(wanted));
    const name_parts p = parts_of(uniform_name(plain));
    const bool is_inner = w.namespaces.empty() || p.namespaces == w.namespaces || p.namespaces.ends_with("::" + w.namespaces);
    return w.name == p.name && is_inner && (w.arguments.empty() || w.arguments == p.arguments);
  }

  /// Returns advice on a missing kernel that may be a template that was not instantiated in this way: its name has template
  /// arguments, or the source contains no kernel at all.
  [[nodiscard]] static std::string how_to_instantiate(const std::string& name, const std::vector<std::string>& all) {
    const bool has_arguments = name.find('<') != std::string::npos;
    return has_arguments || all.empty()
               ? "; if it is a template, instantiate it in the source: 'template __global__ void " +
                     membar_tools::shortened(name, 80) + (has_arguments ? "" : "<ARGUMENTS>") + "(PARAMETERS);'"
               : "";
  }

  /// The kernels that a name may denote.
  struct named_kernels {
    const ptx_function* exact = nullptr;         ///< the kernel with exactly this name
    std::vector<const ptx_function*> similar{};  ///< the kernels for which it is another spelling
    /// Returns the kernel, or null if the name is unknown or ambiguous.
    [[nodiscard]] const ptx_function* one() const noexcept {
      return exact == nullptr && similar.size() == 1 ? similar.front() : exact;
    }
  };

  [[nodiscard]] static std::string without_spaces(std::string name) {
    name.erase(std::remove(name.begin(), name.end(), ' '), name.end());
    return name;
  }

  /// Returns those of the module's kernels for which `is_eligible` is true and that a name in the scenario may denote.
  template <class Predicate>
  [[nodiscard]] named_kernels kernels_named(const std::string& name, const Predicate& is_eligible) const {
    const std::string wanted = without_spaces(name);
    named_kernels result;
    for (const ptx_function& f : module_.functions) {
      if (!f.kernel || !is_eligible(f)) {
        continue;
      }
      const std::string plain = source_name(f.name);
      if (f.name == wanted || plain == wanted) {
        result.exact = &f;
      } else if (may_denote(wanted, plain)) {
        result.similar.push_back(&f);
      }
    }
    return result;
  }

  [[nodiscard]] const ptx_function& kernel_of(const scenario::launch_line& l) const {
    const named_kernels found = kernels_named(l.kernel, [](const ptx_function&) { return true; });
    if (found.one() != nullptr) {
      return *found.one();
    }
    const std::string wanted = without_spaces(l.kernel);
    bool same_template = false;
    std::string names;
    std::vector<std::string> all;
    for (const ptx_function& f : module_.functions) {
      if (f.kernel) {
        const std::string plain = source_name(f.name);
        names += (names.empty() ? "" : ", ") + plain;
        all.push_back(plain);
        same_template = same_template || short_name(plain) == short_name(wanted);
      }
    }
    std::string advice = found.similar.empty() && !same_template ? did_you_mean(wanted, all) : std::string();
    if (found.similar.empty() && advice.empty()) {
      advice = how_to_instantiate(l.kernel, all);
    }
    throw model::error(l.line, 1,
                       "the source has " + std::string(found.similar.empty() ? "no kernel " : "several kernels ") +
                           quote(l.kernel) + ": it defines " + (names.empty() ? "none" : membar_tools::shortened(names, 160)) +
                           advice);
  }

  [[nodiscard]] kernel_code decoded_kernel(const ptx_function& kernel, std::size_t layout) const {
    try {
      return in_source(scenario_, [&] { return decode_kernel(module_, layouts_[layout], kernel, scenario_.atomic_vector); });
    } catch (const model::error& e) {
      throw model::error(std::string(e.what()) + ". This is in the PTX of " + quote(source_name(kernel.name)) +
                         ", so that kernel cannot be launched: 'membar-check --read " + scenario_.source +
                         "' lists the kernels that can be launched");
    }
  }

  [[nodiscard]] std::shared_ptr<const kernel_code> code_of(const ptx_function& kernel, int device) {
    const std::size_t layout = layout_number(device);
    std::shared_ptr<const kernel_code>& code = kernels_[{kernel.name, layout}];
    if (code == nullptr) {
      kernel_code decoded = decoded_kernel(kernel, layout);
      decoded.name = source_name(kernel.name);
      code = std::make_shared<kernel_code>(std::move(decoded));
    }
    return code;
  }

  /// Adds the launches that precede a launch: the launches that it names, and the earlier launches in its stream.
  void add_order(const scenario::launch_line& l, launch_request& request) {
    for (const std::string& before : l.after) {
      const std::vector<int> launches = launches_named(before, l.line);
      request.after.insert(request.after.end(), launches.begin(), launches.end());
    }
    if (!l.stream.empty() && last_of_stream_.count(l.stream) != 0) {
      request.after.push_back(last_of_stream_[l.stream]);
    }
  }

  /// Returns the launches above a line whose kernel, stream or host thread has the given name.
  [[nodiscard]] std::vector<int> launches_named(const std::string& name, int line) const {
    const named_kernels kernels = kernels_named(name, [&](const ptx_function& f) { return launches_of_.count(&f) != 0; });
    std::vector<int> result;
    const auto named = named_.find(name);
    if (named != named_.end()) {
      result = named->second;
    }
    // another spelling of a kernel's name does not hide a stream or a host thread that has exactly this name
    const ptx_function* const kernel = result.empty() ? kernels.one() : kernels.exact;
    if (kernel != nullptr) {
      const std::vector<int>& launches = launches_of_.at(kernel);
      result.insert(result.end(), launches.begin(), launches.end());
    }
    if (!result.empty()) {
      return result;
    }
    const std::string wrong = "'after " + name + "': ";
    if (!kernels.similar.empty()) {
      std::string names;
      for (const ptx_function* f : kernels.similar) {
        names += (names.empty() ? "" : ", ") + source_name(f->name);
      }
      throw model::error(line, 1,
                         wrong +
                             "several kernels launched above have that name: add the template arguments or the namespace (" +
                             membar_tools::shortened(names, 160) + ")");
    }
    std::vector<std::string> keys;
    std::transform(named_.begin(), named_.end(), std::back_inserter(keys), [](const auto& n) { return n.first; });
    for (const auto& [function, launches] : launches_of_) {
      const std::string plain = source_name(function->name);
      keys.insert(keys.end(), {plain, short_name(plain)});
    }
    throw model::error(line, 1, wrong + "no kernel, stream or host thread above has that name" + did_you_mean(name, keys));
  }

  /// Checks that a host thread's name is not used for anything else.
  void check_names(const scenario::launch_line& l) {
    for (const std::string& name : {l.kernel, l.stream}) {
      if (hosts_.count(name) != 0 || (l.request.host && others_.count(name) != 0)) {
        throw model::error(l.line, 1,
                           quote(name) +
                               " names both a host thread and something else: give the host thread a name that no other host "
                               "thread, kernel or stream has");
      }
    }
    if (l.request.host) {
      hosts_.insert(l.kernel);
    } else {
      others_.insert(l.kernel);
      if (!l.stream.empty()) {
        others_.insert(l.stream);
      }
    }
  }

  void give_arguments(const scenario::launch_line& l, launch_request& request) {
    const kernel_code& code = *request.kernel;
    if (l.arguments.size() != code.parameters.size()) {
      throw model::error(l.line, 1,
                         quote(l.kernel) + " has " + counted(code.parameters.size(), "parameter") + ", but " +
                             counted(l.arguments.size(), "argument") + (l.arguments.size() == 1 ? " is" : " are") +
                             " given: a struct is one argument, with its words in braces");
    }
    request.arguments.resize(static_cast<std::size_t>(code.parameter_bytes));
    for (std::size_t k = 0; k < l.arguments.size(); ++k) {
      put_argument(code, k, l.arguments[k], memory_, maps_, l.line, request.device, request.arguments);
    }
  }

  void add(const scenario::launch_line& l) {
    check_names(l);
    launch_request request = l.request;
    const ptx_function* const kernel = request.host ? nullptr : &kernel_of(l);
    request.kernel = kernel == nullptr ? std::make_shared<kernel_code>(host_kernel(l.kernel, l.host, memory_, scenario_.path))
                                       : code_of(*kernel, request.device);
    give_arguments(l, request);
    add_order(l, request);
    const int number = [&] {
      try {
        return planned_ == nullptr ? add_launch(result_.checked, request) : plan(request);
      } catch (const model::error& e) {
        throw model::error(l.line, 1, e.what());
      }
    }();
    (kernel == nullptr ? named_[l.kernel] : launches_of_[kernel]).push_back(number);
    if (!l.stream.empty()) {
      named_[l.stream].push_back(number);
      last_of_stream_[l.stream] = number;
    }
  }

  /// Adds a launch without creating its threads.
  [[nodiscard]] int plan(const launch_request& request) {
    const int first_block = planned_->empty() ? 0 : planned_->back().first_block + static_cast<int>(planned_->back().blocks);
    std::uint64_t before = 0;
    for (const planned_launch& l : *planned_) {
      before += l.blocks * l.block_size;
    }
    planned_->push_back(plan_launch(result_.checked, request, first_block, before));
    return planned_->back().number;
  }

  const scenario& scenario_;
  ptx_module module_;
  std::vector<planned_launch>* planned_ = nullptr;  ///< the launches without their threads; null if the threads are created
  std::vector<int> devices_{};                      ///< the devices that have launches, or the first device
  std::vector<module_layout> layouts_{};            ///< for each of `devices_`, or a single layout if all devices share all
                                                    ///< variables
  prepared_scenario result_{};
  std::vector<named_memory> memory_{};
  tensor_maps maps_{};
  std::map<std::pair<std::string, std::size_t>, std::shared_ptr<const kernel_code>> kernels_{};  ///< by name and layout
  std::map<std::string, std::vector<int>> named_{};                ///< launches, by the name of their stream or host thread
  std::map<const ptx_function*, std::vector<int>> launches_of_{};  ///< launches, by their kernel
  std::set<std::string> hosts_{};                                  ///< the names of host threads
  std::set<std::string> others_{};  ///< the names in earlier lines of kernels, as written there, and of streams
  std::map<std::string, int> last_of_stream_{};
};

}  // namespace

scenario read_scenario(std::string_view text, const file_reader& read_file) { return scenario_reader(text, read_file).read(); }

check_property prepared_scenario::property() const {
  return [this](const final_memory& end) {
    for (const auto& [text, condition] : finals) {
      if (!condition.holds(end)) {
        return violation("the final condition does not hold:" + text, condition.values(end), condition.wrong_elements(end));
      }
    }
    return violation();
  };
}

prepared_scenario prepare(const scenario& s, std::string_view ptx) { return preparation(s, ptx).result(); }

prepared_scenario prepare(const scenario& s, std::string_view ptx, std::vector<planned_launch>& launches) {
  return preparation(s, ptx, &launches).result();
}

}  // namespace membar::check
