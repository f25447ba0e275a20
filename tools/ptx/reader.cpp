// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <membar/model/error.hpp>
#include <ptx/lexer.hpp>
#include <ptx/module.hpp>
#include <ptx/reader.hpp>
#include <ptx/words.hpp>

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::ptx {

using membar_tools::quote;

namespace {

/// Parses one module. Every error contains the line and the column.
class ptx_reader {
 public:
  explicit ptx_reader(std::string_view text) : tokens_(ptx_tokens(text)) {}

  [[nodiscard]] ptx_module read() {
    while (now().kind != ptx_token::kind_t::end) {
      top_level();
    }
    return std::move(module_);
  }

 private:
  using kind_t = ptx_token::kind_t;
  static constexpr std::uint64_t most_threads_of_a_block = 1024;

  [[nodiscard]] const ptx_token& now() const noexcept { return tokens_[at_]; }
  [[nodiscard]] const ptx_token& after() const noexcept { return tokens_[at_ + 1 < tokens_.size() ? at_ + 1 : at_]; }
  ptx_token take() noexcept { return now().kind == kind_t::end ? now() : tokens_[at_++]; }
  bool accept(std::string_view text) noexcept {
    const bool is = now().is(text);
    at_ += is ? 1 : 0;
    return is;
  }
  [[noreturn]] static void refuse(const ptx_token& token, const std::string& what) {
    throw model::error(token.line, token.column, what);
  }
  [[nodiscard]] std::string found() const { return now().kind == kind_t::end ? "the end of the text" : quote(now().text); }
  void expect(std::string_view text) {
    if (!accept(text)) {
      refuse(now(), "expected " + quote(text) + ", found " + found());
    }
  }
  std::string name() {
    if (now().kind != kind_t::word) {
      refuse(now(), "expected a name, found " + found());
    }
    return std::string(take().text);
  }
  void skip_line_of(int line) {
    while (now().kind != kind_t::end && now().line == line) {
      ++at_;
    }
  }

  /// Parses a number without a sign.
  ptx_number number() {
    const ptx_token token = take();
    if (token.kind != kind_t::number) {
      --at_;
      refuse(token, "expected a number, found " + quote(token.text));
    }
    return number_of(token);
  }

  std::uint64_t integer() {
    const bool negative = accept("-");
    const std::uint64_t value = number().value;
    return negative ? std::uint64_t{0} - value : value;
  }

  // ---- the module

  void top_level() {
    const ptx_token token = now();
    if (token.is(".version") || token.is(".address_size") || token.is(".target") || token.is(".loc") || token.is(".pragma")) {
      skip_line_of(token.line);
    } else if (token.is(".file")) {
      read_file();
    } else if (token.is(".section")) {
      skip_section();
    } else if (accept(";")) {
      // an empty statement
    } else if (token.kind == kind_t::word && token.text.front() == '.') {
      declaration();
    } else {
      refuse(token, "expected a module-level directive, found " + found());
    }
  }

  void read_file() {
    const int line = take().line;
    const std::uint64_t index = number().value;
    if (index > 100'000) {
      refuse(now(), "the file number " + std::to_string(index) + " is larger than 100000");
    }
    if (now().kind == kind_t::string) {
      if (module_.files.size() <= index) {
        module_.files.resize(static_cast<std::size_t>(index) + 1);
      }
      module_.files[static_cast<std::size_t>(index)] = std::string(take().text);
    }
    skip_line_of(line);
  }

  void skip_section() {
    ++at_;
    while (now().kind != kind_t::end && !now().is("{")) {
      ++at_;
    }
    skip_braces();
  }

  void skip_braces() {
    expect("{");
    for (int depth = 1; depth > 0; ++at_) {
      if (now().kind == kind_t::end) {
        refuse(now(), "expected '}', found " + found());
      }
      depth += now().is("{") ? 1 : now().is("}") ? -1 : 0;
    }
  }

  void declaration() {
    bool external = false;
    for (;;) {
      if (accept(".extern")) {
        external = true;
      } else if (!accept(".visible") && !accept(".weak") && !accept(".common")) {
        break;
      }
    }
    if (now().is(".func") || now().is(".entry")) {
      function();
      return;
    }
    const space_row* const row = space_of(now().text);
    if (row == nullptr) {
      refuse(now(), "the directive " + found() + " is not known");
    }
    ++at_;
    for (ptx_variable& v : variables(row->space, external)) {
      module_.variables.push_back(std::move(v));
    }
  }

  /// Returns the row of the state space that a word in a declaration names, or null if the word does not begin with a dot or
  /// does not name a state space.
  [[nodiscard]] static const space_row* space_of(std::string_view word) noexcept {
    if (word.empty() || word.front() != '.' || word.find(':') != std::string_view::npos) {
      return nullptr;
    }
    const space_row* const row = space_named(word.substr(1));
    return row != nullptr && row->space != state_space::generic ? row : nullptr;
  }

  /// Parses the variables of a declaration, after its state space. If `all` is true, parses all variables up to ';'; otherwise,
  /// parses one variable up to ',' or ')'.
  std::vector<ptx_variable> variables(state_space space, bool external, bool all = true) {
    std::uint64_t alignment = 0;
    ptx_type type = ptx_type::none;
    std::uint64_t lanes = 1;
    bool managed = false;
    while (now().kind == kind_t::word && now().text.front() == '.') {
      const ptx_token token = take();
      if (token.is(".align")) {
        alignment = number().value;
      } else if (token.is(".attribute")) {
        expect("(");
        while (now().kind != kind_t::end && !accept(")")) {
          managed = managed || now().is(".managed");
          ++at_;
        }
      } else if (token.is(".v2") || token.is(".v4")) {
        lanes = static_cast<std::uint64_t>(token.text[2] - '0');
      } else if (token.is(".ptr") || token.is(".global") || token.is(".shared") || token.is(".local") || token.is(".const")) {
        // describes the memory that a pointer parameter points to
      } else if (type = type_named(token.text.substr(1)); type == ptx_type::none) {
        refuse(token, quote(token.text) + " is not a known type for a variable");
      }
    }
    if (type == ptx_type::none) {
      refuse(now(), "expected the type of a variable, found " + found());
    }
    std::vector<ptx_variable> result;
    do {
      ptx_variable v;
      v.line = now().line;
      v.name = name();
      v.space = space;
      v.type = type;
      v.external = external;
      v.managed = managed;
      const auto element = static_cast<std::uint64_t>(bytes_of(type)) * lanes;
      v.alignment = alignment != 0 ? alignment : element;
      v.bytes = element;
      while (accept("[")) {
        const std::uint64_t count = now().is("]") ? 0 : number().value;
        if (count > (std::uint64_t{1} << 30) / (v.bytes == 0 ? 1 : v.bytes)) {
          refuse(now(), "the variable " + quote(v.name) + " is larger than 1 GiB");
        }
        v.bytes *= count;
        expect("]");
      }
      if (accept("=")) {
        initialise(v, static_cast<std::size_t>(bytes_of(type)));
      }
      result.push_back(std::move(v));
    } while (all && accept(","));
    if (all) {
      expect(";");
    }
    return result;
  }

  void initialise(ptx_variable& v, std::size_t element) {
    const auto one = [&] {
      if (now().kind == kind_t::word) {
        address_of(v);
        v.initial.resize(v.initial.size() + element);
        return;
      }
      const bool negative = accept("-");
      const auto [written, decimal] = number();
      const std::uint64_t sign = std::uint64_t{1} << (8 * element - 1);
      const std::uint64_t bits = decimal ? float_bits(written, static_cast<int>(element)) : written;
      const std::uint64_t value = !negative ? bits : decimal ? bits ^ sign : std::uint64_t{0} - bits;
      for (std::size_t i = 0; i < element; ++i) {
        v.initial.push_back(i < 8 ? static_cast<std::uint8_t>(value >> (8 * i)) : std::uint8_t{0});
      }
    };
    if (!accept("{")) {
      one();
    } else {
      for (int depth = 1; depth > 0;) {
        if (accept("{")) {
          ++depth;
        } else if (accept("}")) {
          --depth;
        } else if (!accept(",")) {
          one();
        }
      }
    }
    if (v.initial.size() > v.bytes) {
      refuse(now(), "the variable " + quote(v.name) + " has more initial values than elements");
    }
    v.initial.resize(static_cast<std::size_t>(v.bytes));
  }

  /// Parses the address of a variable, which is `name` or `generic(name)` with an optional offset.
  void address_of(ptx_variable& v) {
    std::string of = name();
    if (of == "generic" && accept("(")) {
      of = name();
      expect(")");
    }
    v.addresses.push_back({v.initial.size(), std::move(of), accept("+") || now().is("-") ? integer() : 0});
  }

  // ---- functions

  struct scope {
    std::map<std::string, int, std::less<>> registers{};
  };

  std::vector<ptx_variable> parameter_list() {
    std::vector<ptx_variable> result;
    expect("(");
    while (!accept(")")) {
      if (!result.empty()) {
        expect(",");
      }
      static_cast<void>(accept(".hidden"));  // marks a parameter that the tile compiler adds
      if (!accept(".param")) {
        refuse(now(), "expected '.param', found " + found() + ": other kinds of parameters are not supported");
      }
      result.push_back(std::move(variables(state_space::param, false, false).front()));
    }
    return result;
  }

  /// Reads the numbers of threads along x, y and z, and returns their product, or CUDA's maximum block size if that is smaller.
  [[nodiscard]] int thread_limit() {
    std::uint64_t product = 1;
    do {
      product = std::min<std::uint64_t>(product * std::min<std::uint64_t>(number().value, most_threads_of_a_block),
                                        most_threads_of_a_block);
    } while (accept(","));
    return static_cast<int>(product);
  }

  void function() {
    ptx_function f;
    f.kernel = now().is(".entry");
    f.line = take().line;
    if (now().is("(")) {
      f.results = parameter_list();
    }
    f.name = name();
    if (now().is("(")) {
      f.parameters = parameter_list();
    }
    while (!now().is("{") && !now().is(";")) {  // .maxntid 256, 1, 1 and similar directives
      if (now().kind == kind_t::end) {
        refuse(now(), "expected the body of function " + quote(f.name) + ", found " + found());
      }
      const bool limits = now().is(".maxntid") || now().is(".reqntid");
      ++at_;
      f.most_threads = limits ? thread_limit() : f.most_threads;
    }
    if (!accept(";")) {
      f.defined = true;
      function_ = &f;
      scopes_.clear();
      begin_locations();
      block();
      settle();
      function_ = nullptr;
    }
    for (ptx_function& other : module_.functions) {
      if (other.name == f.name) {
        if (other.defined && f.defined) {
          throw model::error(f.line, 1, "the function " + quote(f.name) + " is defined twice");
        }
        if (f.defined) {
          other = std::move(f);
        }
        return;
      }
    }
    module_.functions.push_back(std::move(f));
  }

  void block() {
    expect("{");
    scopes_.emplace_back();
    const std::size_t begin = function_->body.size();
    while (!accept("}")) {
      if (now().kind == kind_t::end) {
        refuse(now(), "expected '}', found " + found());
      }
      statement();
    }
    scopes_.pop_back();
    if (!scopes_.empty()) {
      name_labels_of_block(begin);
    }
  }

  /// Renames the labels of an inner block so that they are unique in the function, because a label's scope is its block. The
  /// labels of blocks inside this block have already been renamed.
  void name_labels_of_block(std::size_t begin) {
    std::map<std::string, std::string> names;
    for (std::size_t k = begin; k < function_->body.size(); ++k) {
      std::string& label = function_->body[k].label;
      if (!label.empty() && label.find('}') == std::string::npos) {
        if (!names.emplace(label, label + "}" + std::to_string(inner_labels_++)).second) {
          throw model::error(function_->body[k].line, 1, "the label " + quote(label) + " is defined twice");
        }
        label = names[label];
      }
    }
    const auto rename = [&](std::string& name) {
      if (const auto it = names.find(name); it != names.end()) {
        name = it->second;
      }
    };
    for (std::size_t k = begin; k < function_->body.size() && !names.empty(); ++k) {
      ptx_statement& s = function_->body[k];
      std::for_each(s.targets.begin(), s.targets.end(), rename);
      if (s.opcode.starts_with("bra") || s.opcode.starts_with("brx")) {
        for (ptx_operand& o : s.operands) {
          rename(o.name);
        }
      }
    }
  }

  void statement() {
    const ptx_token token = now();
    if (token.is("{")) {
      if (scopes_.size() > 64) {
        refuse(token, "the blocks are nested more than 64 levels deep");
      }
      block();
    } else if (accept(";")) {
      // an empty statement
    } else if (token.is(".loc")) {
      read_loc();
    } else if (token.is(".reg")) {
      ++at_;
      declare_registers(take());
    } else if (token.kind == kind_t::word && token.text.starts_with(".reg.")) {
      ptx_token type = take();
      type.text = type.text.substr(4);
      declare_registers(type);
    } else if (token.is(".pragma") || token.is(".file")) {
      skip_line_of(token.line);
    } else if (token.is(".branchtargets") || token.is(".callprototype") || token.is(".calltargets")) {
      refuse(token, "the directive " + found() + " has no label");
    } else if (token.kind == kind_t::word && token.text.front() == '.') {
      const space_row* const row = space_of(token.text);
      if (row == nullptr) {
        refuse(token, "the directive " + found() + " is not known in a function");
      }
      ++at_;
      for (ptx_variable& v : variables(row->space, false)) {
        function_->variables.push_back(std::move(v));
      }
    } else if (token.kind == kind_t::word && after().is(":")) {
      ptx_statement s;
      s.line = token.line;
      s.label = name();
      ++at_;
      if (accept(".branchtargets")) {
        s.opcode = ".branchtargets";
        do {
          s.targets.push_back(name());
        } while (accept(","));
        expect(";");
      } else if (now().is(".callprototype") || now().is(".calltargets")) {  // a call that uses this list is rejected
        while (now().kind != kind_t::end && !accept(";")) {
          ++at_;
        }
      }
      function_->body.push_back(std::move(s));
    } else {
      instruction();
    }
  }

  // ---- source locations

  /// The numbers of a file, a line and a column. A missing number is 0.
  using location = std::array<int, 3>;

  /// The name of an inlined function and the location of the call. Several calls can have the same key, because calls that are
  /// inlined at different places can contain the same line of a header.
  using call_key = std::pair<std::string, location>;

  /// The statements from `begin` on, which follow a `.loc`.
  struct located_run {
    std::size_t begin = 0;
    location here{};
    call_key key{};
    std::vector<int> calls{};  ///< the places of the calls that `inlined_at` can refer to; empty if the place is known
    int previous = -1;         ///< the place of the preceding run
    bool same = false;         ///< whether the preceding run has the same `here` and `key`
    bool joins_next = false;  ///< whether the run has neither a line nor a function; it belongs to the next `.loc` of its block
  };

  void begin_locations() {
    place_ = -1;
    run_ = {};
    without_line_ = false;
    latest_.clear();
    calls_.clear();
    accesses_.clear();
    places_.clear();
  }

  void read_loc() {
    const int line = take().line;
    const location here = read_location(line);
    call_key key;
    bool inlined = false;
    while (now().kind != kind_t::end && now().line == line) {
      if (accept("function_name")) {  // a label, or a label plus an offset
        while (now().line == line && now().kind != kind_t::end && !now().is(",")) {
          key.first += take().text;
        }
      } else if (accept("inlined_at")) {
        key.second = read_location(line);
        inlined = true;
      } else {
        ++at_;
      }
    }
    const std::vector<ptx_statement>& body = function_->body;
    const bool begins_block = !body.empty() && !body.back().label.empty();
    // After code without a line, the compiler returns to the same location without repeating the call into which the code was
    // inlined.
    if (const bool returns = std::exchange(without_line_, here[1] == 0); returns && !inlined && here == run_.here) {
      run_.joins_next = false;
      after_loc_ = body.size();
      return;
    }
    if (here[1] == 0 && place_ >= 0) {  // the code has no line
      if (begins_block && !inlined) {
        settle();
        run_.begin = body.size();
        run_.joins_next = true;
      }
      return;
    }
    const bool joins = run_.joins_next && std::all_of(body.begin() + static_cast<std::ptrdiff_t>(run_.begin), body.end(),
                                                      [](const ptx_statement& s) { return s.label.empty(); });
    const std::size_t begin = joins ? run_.begin : body.size();
    if (!joins) {
      settle();
    }
    const bool same = inlined && run_.here == here && run_.key == key;
    run_ = {begin, here, key, {}, place_, same, false};
    if (inlined) {
      run_.calls = calls_of(key);
    }
    if (run_.calls.size() <= 1) {
      set_place(run_.calls.empty() ? -1 : run_.calls.front());
      run_.calls.clear();
    }
    after_loc_ = body.size();
  }

  /// Returns the places of the calls that `inlined_at` can refer to. The compiler writes the `.loc` of each call only once in a
  /// function, directly before the first `.loc` of the inlined code. Code that it copied, for example by unrolling a loop, has
  /// `.loc` directives that refer to that call again, although other calls with the same location may have followed.
  [[nodiscard]] std::vector<int> calls_of(const call_key& key) {
    std::vector<int>& known = calls_[key];
    const auto latest = latest_.find(key.second);
    if (latest == latest_.end()) {
      latest_[key.second] = add_place(key.second, -1);
      known = {latest_[key.second]};
    } else if (known.empty() || (latest->second == place_ && after_loc_ == function_->body.size())) {
      if (std::find(known.begin(), known.end(), latest->second) == known.end()) {
        known.push_back(latest->second);
      }
      return {latest->second};
    }
    return known;
  }

  void set_place(int call) { place_ = latest_[run_.here] = add_place(run_.here, call); }

  /// Assigns the run's place to its statements, after selecting the most plausible call.
  void settle() {
    const bool certain = run_.calls.empty();
    if (!certain) {
      set_place(most_plausible_call());
      run_.calls.clear();
    }
    std::vector<ptx_statement>& body = function_->body;
    for (std::size_t k = run_.begin; k < body.size() && place_ >= 0; ++k) {
      const ptx_place& place = module_.places[static_cast<std::size_t>(place_)];
      body[k].place = place_;
      body[k].file = place.file;
      body[k].source_line = place.line;
      if (const access a = access_of(body[k]); certain && !a.opcode.empty() && place.inlined_at >= 0) {
        accesses_[place.inlined_at].insert(a);
      }
    }
    run_.begin = body.size();
    run_.joins_next = false;
  }

  /// The opcode and the address of an instruction that accesses memory or has no result, such as a fence.
  struct access {
    std::string opcode{};
    int reg = -1;
    std::string name{};
    std::uint64_t offset = 0;
    friend auto operator<=>(const access&, const access&) = default;
  };
  [[nodiscard]] static access access_of(const ptx_statement& s) {
    for (const ptx_operand& o : s.operands) {
      if (o.kind == ptx_operand::kind_t::address) {
        return {s.opcode, o.reg, o.name, o.value};
      }
    }
    const bool has_result = !s.operands.empty() && s.operands.front().kind == ptx_operand::kind_t::reg;
    return has_result ? access{} : access{s.opcode};
  }

  /// Returns 3 if the call's code contains the same access, 2 if it contains one with the same opcode and base address, 1 if it
  /// contains the opcode, and 0 otherwise.
  [[nodiscard]] int similarity(const access& a, int call) const {
    int result = 0;
    if (const auto it = accesses_.find(call); it != accesses_.end()) {
      for (const access& b : it->second) {
        const int here = a.opcode != b.opcode ? 0 : a.reg != b.reg || a.name != b.name ? 1 : a.offset != b.offset ? 2 : 3;
        result = std::max(result, here);
      }
    }
    return result;
  }

  /// Returns the run's call. Prefers a call whose callers are the same as the preceding run's callers, then a call whose code
  /// has similar accesses, and then the call that came next after the preceding run in the original code, because copied code
  /// is in the same order.
  [[nodiscard]] int most_plausible_call() const {
    const int caller = run_.previous >= 0 ? module_.places[static_cast<std::size_t>(run_.previous)].inlined_at : -1;
    // If two `.loc` of code have the same text, they belong to different calls: otherwise, the compiler would not have repeated
    // the directive. A run without code is the `.loc` of a call.
    const bool repeats = run_.same && run_.begin < function_->body.size();
    const std::vector<location> previous = chain_of(run_.previous);
    std::vector<access> code;
    for (std::size_t k = run_.begin; k < function_->body.size(); ++k) {
      code.push_back(access_of(function_->body[k]));
    }
    int best = -1;
    std::array<int, 3> best_score{};
    for (const int call : run_.calls) {
      std::array<int, 3> score{0, 0, call > run_.previous ? 1 : 0};
      for (const access& a : code) {
        score[1] += a.opcode.empty() ? 0 : similarity(a, call);
      }
      score[0] = repeats && call == caller ? 0 : shared_locations(previous, chain_of(call));
      if (best < 0 || score > best_score) {
        best = call;
        best_score = score;
      }
    }
    return best;
  }

  /// Returns the number of locations that two chains of calls have in common, from the kernel inwards.
  [[nodiscard]] static int shared_locations(const std::vector<location>& a, const std::vector<location>& b) {
    const std::size_t most = std::min(a.size(), b.size());
    return static_cast<int>(std::mismatch(a.rbegin(), a.rbegin() + static_cast<std::ptrdiff_t>(most), b.rbegin()).first -
                            a.rbegin());
  }
  [[nodiscard]] std::vector<location> chain_of(int place) const {
    std::vector<location> result;
    for (; place >= 0; place = module_.places[static_cast<std::size_t>(place)].inlined_at) {
      result.push_back(locations_[static_cast<std::size_t>(place)]);
    }
    return result;
  }

  [[nodiscard]] location read_location(int line) {
    location result{};
    for (int& one : result) {
      if (now().kind == kind_t::number && now().line == line) {
        one = static_cast<int>(number().value & 0x7fffffffU);
      }
    }
    return result;
  }

  /// Returns the place of a location in a call, which is added if the function does not have it yet. The numbers of places are
  /// therefore in the order in which the function's code first refers to them.
  [[nodiscard]] int add_place(const location& at, int inlined_at) {
    const auto [it, added] = places_.try_emplace({at, inlined_at}, static_cast<int>(module_.places.size()));
    if (added) {
      module_.places.push_back({at[0], at[1], inlined_at});
      locations_.push_back(at);
    }
    return it->second;
  }

  /// Parses a declaration of registers, which begins with their type.
  void declare_registers(const ptx_token& token) {
    ptx_type type = token.text.empty() ? ptx_type::none : type_named(token.text.substr(1));
    int bits = bytes_of(type) * 8;
    if (type == ptx_type::none) {
      refuse(token, quote(token.text) + " is not a known type for a register");
    }
    do {
      const ptx_token at = now();
      const std::string base = name();
      std::uint64_t count = 0;
      const bool numbered = accept("<");
      if (numbered) {
        count = number().value;
        expect(">");
      }
      if (count > 100'000 || function_->registers.size() > 200'000) {
        refuse(at, "a declaration has more than 100000 registers, or the function has more than 200000");
      }
      for (std::uint64_t i = 0; i < (numbered ? count : 1); ++i) {
        const std::string full = numbered ? base + std::to_string(i) : base;
        scopes_.back().registers[full] = static_cast<int>(function_->registers.size());
        function_->registers.push_back({full, type, bits});
      }
    } while (accept(","));
    expect(";");
  }

  [[nodiscard]] int register_named(std::string_view word) const {
    for (std::size_t i = scopes_.size(); i > 0; --i) {
      const auto it = scopes_[i - 1].registers.find(word);
      if (it != scopes_[i - 1].registers.end()) {
        return it->second;
      }
    }
    return -1;
  }

  void instruction() {
    const ptx_token token = now();
    ptx_statement s;
    s.line = token.line;
    if (accept("@")) {
      s.guard_negated = accept("!");
      const ptx_token guard = take();
      s.guard = register_named(guard.text);
      if (s.guard < 0) {
        refuse(guard, "the predicate " + quote(guard.text) + " is not declared");
      }
    }
    if (now().kind != kind_t::word) {
      refuse(now(), "expected an instruction, found " + found());
    }
    s.opcode = std::string(take().text);
    if (!accept(";")) {
      do {
        s.operands.push_back(operand(0));
      } while (accept(","));
      expect(";");
    }
    function_->body.push_back(std::move(s));
  }

  ptx_operand operand(int depth) {
    const ptx_token token = now();
    if (depth > 4) {
      refuse(token, "the lists in an operand are nested more than 4 levels deep");
    }
    ptx_operand o;
    if (accept("[")) {
      return address(depth);
    }
    if (token.is("{") || token.is("(")) {
      ++at_;
      const std::string_view close = token.is("{") ? "}" : ")";
      o.kind = ptx_operand::kind_t::list;
      while (!accept(close)) {
        if (!o.parts.empty()) {
          expect(",");
        }
        o.parts.push_back(operand(depth + 1));
      }
      return o;
    }
    o.negated = accept("!");
    if (now().is("-") || now().kind == kind_t::number) {
      const bool negative = accept("-");
      const auto [value, decimal] = number();
      constexpr std::uint64_t sign = std::uint64_t{1} << 63U;
      o.kind = ptx_operand::kind_t::number;
      o.value = !negative ? value : decimal ? value ^ sign : std::uint64_t{0} - value;
      o.decimal = decimal;
      return o;
    }
    o.name = name();
    const bool sink = o.name == "_";
    o.reg = sink ? -1 : register_named(o.name);
    if (sink || o.reg >= 0) {
      o.kind = sink ? ptx_operand::kind_t::sink : ptx_operand::kind_t::reg;
      if (accept("|")) {
        o.parts.push_back(operand(depth + 1));
      }
      return o;
    }
    o.kind = ptx_operand::kind_t::name;
    if (accept("+")) {  // the value is a variable's address plus an offset
      o.value = integer();
    }
    return o;
  }

  ptx_operand address(int depth) {
    ptx_operand o;
    o.kind = ptx_operand::kind_t::address;
    if (now().kind == kind_t::number) {
      o.value = number().value;
    } else {
      const std::string base = name();
      o.reg = register_named(base);
      if (o.reg < 0) {
        o.name = base;
      }
      if (accept("+") || now().is("-")) {
        o.value = integer();
      }
    }
    while (accept(",")) {  // the coordinates of textures and tensor maps
      o.parts.push_back(operand(depth + 1));
    }
    if (!accept("]")) {
      refuse(now(), "expected ']', found " + found() +
                        ": an address is [register] or [variable], with an optional +offset or -offset");
    }
    return o;
  }

  std::vector<ptx_token> tokens_;
  std::size_t at_ = 0;
  ptx_module module_{};
  ptx_function* function_ = nullptr;
  std::vector<scope> scopes_{};
  int inner_labels_ = 0;       ///< the number of labels of inner blocks so far
  int place_ = -1;             ///< the index of the function's last `.loc`, or -1
  std::size_t after_loc_ = 0;  ///< the number of statements before the function's last `.loc`
  located_run run_{};
  bool without_line_ = false;                         ///< whether the last `.loc` has no line
  std::map<location, int> latest_{};                  ///< for each location in the function: its latest place
  std::map<std::pair<location, int>, int> places_{};  ///< the function's places, by location and call
  std::map<call_key, std::vector<int>> calls_{};      ///< the places of the function's inlined calls
  std::map<int, std::set<access>> accesses_{};  ///< for each of these places: the accesses in the code that was inlined there
  std::vector<location> locations_{};           ///< the locations of `ptx_module::places`
};

}  // namespace

ptx_module read_ptx(std::string_view text) { return ptx_reader(text).read(); }

}  // namespace membar::ptx
