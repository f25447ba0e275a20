// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <litmus/reader.hpp>

#include <litmus/declarations.hpp>
#include <litmus/instruction_reader.hpp>
#include <litmus/lexer.hpp>
#include <litmus/mnemonic.hpp>
#include <litmus/nearest_name.hpp>
#include <litmus/shared_memory.hpp>
#include <membar/model/array.hpp>
#include <membar/model/error.hpp>
#include <membar/model/program.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar::litmus_files {

using membar_tools::quote;

namespace detail {

namespace {

/// Parses the initial state and the places of the threads.
class state_reader {
 public:
  state_reader(lexer& in, declarations& names) : in_(in), names_(names), test_(names.test) {}

  void read_initial_state() {
    in_.expect("{", "before the initial state");
    while (!in_.at_symbol("}")) {
      if (in_.accept(";")) {
        continue;
      }
      read_initial_entry();
      if (!in_.at_symbol("}")) {
        in_.expect(";", "between entries of the initial state");
      }
    }
    in_.take();
    in_.accept(";");
    for (const auto& [index, name, word] : initial_addresses_) {
      at(test_.locations, index).initial = address_value(memory_named(word, name));
    }
  }

  void read_places() {
    do {
      const token word = in_.expect_word("a thread, as in 'P0@cta 0,gpu 0'");
      const std::optional<int> number = thread_number(word.text);
      if (!number) {
        fail(word, "expected a thread, as in 'P0@cta 0,gpu 0', found " + shown(word));
      }
      if (names_.thread_index(*number) >= 0) {
        fail(word, quote(word.text) + " is already declared");
      }
      if (count_of(test_.threads) == max_threads) {
        fail(word, "a test can have at most 16 threads");
      }
      in_.expect("@", "before a thread's place");
      litmus_test::thread t;
      t.number = *number;
      t.where = read_place(word);
      test_.threads.push_back(std::move(t));
      thread_tokens_.push_back(word);
    } while (in_.accept("|"));
    in_.expect(";", "after the threads' places");
    resolve_threads();
  }

  /// Returns the registers that are initialized with the address of another block's shared memory.
  [[nodiscard]] const std::vector<remote_address>& remote_addresses() const noexcept { return others_; }

  /// Throws `error` if a block is in two clusters or domains, or a cluster is in two domains.
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

 private:
  struct pending_register {
    token word;
    int thread = 0;
    std::string name;
    std::int64_t value = 0;
    std::string address_of;
    int of_thread = -1;  ///< the number of a thread in the block that owns the address; -1 for the thread's own block
  };
  struct initial_address {
    int index = 0;
    std::string name;
    token word;
  };
  struct precedence {
    token word;
    int before = 0;
    int after = 0;
    bool launches = false;
  };

  void read_initial_entry() {
    token word = in_.peek();
    if (word.what == token_kind::number) {
      in_.take();
      in_.expect(":", "after a thread's number");
      read_initial_register(word, static_cast<int>(word.value));
      return;
    }
    if (in_.accept(".")) {
      read_version(word);
      return;
    }
    if (word.what == token_kind::symbol && word.text == "[") {  // [x] = 1
      in_.take();
      word = in_.expect_word("a location");
      in_.expect("]", "after a location");
    } else {
      word = in_.expect_word("a location or a register");
    }
    static constexpr std::string_view types[] = {"int", "unsigned", "long", "uint32_t", "int32_t", "uint64_t", "int64_t"};
    if (std::find(std::begin(types), std::end(types), word.text) != std::end(types) && in_.peek().what == token_kind::word) {
      word = in_.take();
    }
    const std::optional<int> thread = thread_number(word.text);
    if (thread && in_.at_symbol(":")) {
      in_.take();
      read_initial_register(word, *thread);
      return;
    }
    if (thread && (in_.at_word("precedes") || in_.at_word("launches"))) {
      const bool launches = in_.at_word("launches");
      in_.take();
      const token other = in_.expect_word("a thread");
      const std::optional<int> after = thread_number(other.text);
      if (!after) {
        fail(other, "expected a thread, found " + shown(other));
      }
      precedes_.push_back({word, *thread, *after, launches});
      return;
    }
    const std::string name = in_.location_name(word);
    if (!given_.insert(name).second) {
      fail(word, quote(name) + " already has an initial value");
    }
    if (in_.at_symbol("@")) {
      in_.take();
      read_view(word, name);
      return;
    }
    if (const std::size_t bracket = name.find('['); bracket != std::string::npos && !in_.at_symbol("=")) {
      declare_array(word, name.substr(0, bracket), std::stoi(name.substr(bracket + 1)));
      return;
    }
    const int index = names_.location_for(word, name);
    if (in_.accept("=")) {
      read_initial_value(index);
    }
  }

  // Parses `.version 9.2`.
  void read_version(const token& word) {
    const bool known = in_.expect_word("'version'").text == "version";
    const int major = known ? in_.expect_small("a PTX version") : 0;
    in_.expect(".", "between the numbers of a PTX version");
    const int minor = in_.expect_small("a PTX version");
    if (!known || major < 1 || major > 99 || minor > 9 || test_.version != 0) {
      fail(word, "expected one PTX version, 1.0 or later, as in '.version 9.2'");
    }
    test_.version = 10 * major + minor;
  }

  // Parses a number or the address of a location.
  void read_initial_value(int index) {
    in_.accept("&");
    if (in_.peek().what == token_kind::word) {
      const token target = in_.take();
      initial_addresses_.push_back({index, in_.location_name(target), target});
    } else {
      at(test_.locations, index).initial = in_.expect_number("an initial value");
    }
  }

  // Declares the elements of an array: `x[3];` declares `x`, `x[1]` and `x[2]`.
  void declare_array(const token& word, const std::string& name, int elements) {
    for (int i = 0; i < elements; ++i) {
      names_.location_for(word, i == 0 ? name : name + "[" + std::to_string(i) + "]");
    }
  }

  // Parses `m @ multimem aliases x, y;`.
  void read_multimem(const token& word, const std::string& name) {
    std::vector<int> objects;
    do {
      const token object = in_.expect_word("a location");
      const std::string object_name = in_.location_name(object);
      const int of = names_.find_location(object_name);
      if (of < 0) {
        fail(object, quote(object_name) + " is not declared before its multimem address");
      }
      const location& l = at(test_.locations, of);
      if (l.arrivals != 0 || l.physical != of || names_.is_declared_shared(object_name)) {
        fail(object, quote(object_name) +
                         " cannot be an object of a multimem address, which must be a location in global memory, not an alias");
      }
      if (std::find(objects.begin(), objects.end(), of) != objects.end()) {
        fail(object, quote(object_name) + " is already an object of this multimem address");
      }
      objects.push_back(of);
    } while (in_.accept(","));
    if (names_.find_location(name) >= 0 || name.find('[') != std::string::npos) {
      fail(word, quote(name) + " is already declared or is an element, so it cannot name a multimem address");
    }
    names_.declare_multimem(word, name, objects);
  }

  // Parses `s @ surface aliases x;` or `b @ mbarrier 2;`.
  void read_view(const token& word, const std::string& name) {
    const token how = in_.expect_word("a proxy, 'shared' or 'mbarrier'");
    const std::string kind_name = lower(how.text);
    if (kind_name == "shared") {
      const std::size_t bracket = name.find('[');
      names_.declare_shared(name.substr(0, bracket));
      if (in_.accept("=")) {
        read_initial_value(names_.location_for(word, name));
      } else {
        declare_array(word, name.substr(0, bracket), bracket == std::string::npos ? 1 : std::stoi(name.substr(bracket + 1)));
      }
      return;
    }
    if (kind_name == "mbarrier") {
      const token count = in_.peek();
      const int arrivals = in_.expect_small("an expected count");
      if (arrivals < 1) {
        fail(count, "an mbarrier must expect at least one arrival");
      }
      at(test_.locations, names_.location_for(word, name)).arrivals = arrivals;
      return;
    }
    if (kind_name != "generic" && kind_name != "surface" && kind_name != "texture" && kind_name != "constant" &&
        kind_name != "multimem") {
      fail(how, "expected generic, surface, texture, constant, multimem, shared or mbarrier, found " + shown(how));
    }
    const token aliases = in_.expect_word("'aliases'");
    if (lower(aliases.text) != "aliases") {
      fail(aliases, "expected 'aliases', found " + shown(aliases));
    }
    if (kind_name == "multimem") {
      read_multimem(word, name);
      return;
    }
    const token target = in_.expect_word("a location");
    const std::string target_name = in_.location_name(target);
    const int of = names_.find_location(target_name);
    if (of < 0) {
      fail(target, quote(target_name) + " is not declared before its alias");
    }
    if (names_.find_location(name) >= 0) {
      fail(word, quote(name) + " is already declared");
    }
    const int index = names_.declare(word, name);
    const location base = at(test_.locations, of);
    location& l = at(test_.locations, index);
    l.physical = base.physical;
    // a generic alias has its own virtual address; a surface, texture or constant is a view of the named location's address
    l.address = kind_name == "generic" ? index : base.address;
    l.initial = base.initial;
  }

  void read_initial_register(const token& word, int thread) {
    const token reg = in_.expect_word("a register");
    pending_register p{word, thread, std::string(reg.text), 0, {}};
    if (in_.accept("=")) {
      in_.accept("&");
      if (in_.peek().what == token_kind::word) {
        token target = in_.take();
        if (const std::optional<int> other = thread_number(target.text); other && in_.accept(":")) {
          p.of_thread = *other;
          target = in_.expect_word("a location");
        }
        p.address_of = in_.location_name(target);
      } else {
        p.value = in_.expect_number("an initial value");
      }
    }
    pending_.push_back(p);
  }

  [[nodiscard]] place read_place(const token& thread) {
    place where;
    std::set<std::string> given;
    do {
      const token word = in_.expect_word("cta, cluster, domain, gpu or host");
      const std::string what = lower(word.text);
      if (!given.insert(what).second) {
        fail(word, quote(what) + " is given twice");
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
      *member = in_.expect_small("a number");
    } while (in_.accept(","));
    if (where.host) {
      if (given.size() != 1) {
        fail(thread, "the place of a host thread is only 'host': remove the rest");
      }
    } else if (given.count("cta") == 0 || given.count("gpu") == 0) {
      fail(thread, "a place needs both cta and gpu, as in 'P0@cta 0,gpu 0'");
    }
    return where;
  }

  // Returns the location whose address an entry uses.
  [[nodiscard]] int memory_named(const token& word, const std::string& name) {
    const int index = names_.location_for(word, name);
    if (at(test_.locations, index).arrivals != 0) {
      fail(word, quote(name) + " is an mbarrier, whose address cannot be taken: name it in the instructions that use it");
    }
    return index;
  }

  // Assigns the registers of the initial state to their threads, which are declared after it.
  void resolve_threads() {
    for (const pending_register& p : pending_) {
      const int thread = names_.thread_index(p.thread);
      if (thread < 0) {
        fail(p.word, "there is no thread P" + std::to_string(p.thread));
      }
      const int reg = names_.register_for(p.word, thread, p.name);
      std::int64_t value = p.value;
      if (!p.address_of.empty()) {
        value = address_value(memory_named(p.word, p.address_of));
      }
      if (p.of_thread >= 0) {
        if (names_.thread_index(p.of_thread) < 0) {
          fail(p.word, "there is no thread P" + std::to_string(p.of_thread));
        }
        names_.declare_shared(p.address_of.substr(0, p.address_of.find('[')));
        others_.push_back({p.word, thread, reg, names_.thread_index(p.of_thread)});
      }
      at(at(test_.threads, thread).registers, reg) = value;
    }
    for (const auto& [word, before, after, launches] : precedes_) {
      if (names_.thread_index(before) < 0 || names_.thread_index(after) < 0) {
        fail(word, "there is no thread P" + std::to_string(names_.thread_index(before) < 0 ? before : after));
      }
      (launches ? test_.launches : test_.api).push_back({names_.thread_index(before), names_.thread_index(after)});
    }
  }

  lexer& in_;
  declarations& names_;
  litmus_test& test_;
  std::vector<remote_address> others_;
  std::set<std::string> given_;  ///< the locations that already have an entry
  std::vector<token> thread_tokens_;
  std::vector<pending_register> pending_;
  std::vector<initial_address> initial_addresses_;
  std::vector<precedence> precedes_;
};

/// Parses the part that follows the instructions: the condition with its quantifier, `filter` and `locations`.
class condition_reader {
 public:
  condition_reader(lexer& in, const declarations& names, litmus_test& test) : in_(in), names_(names), test_(test) {}

  /// Returns whether the instructions end at the next token.
  [[nodiscard]] static bool begins(lexer& in) {
    return in.peek().what == token_kind::end || in.at_symbol("~") || in.at_symbol("!") || in.at_word("exists") ||
           in.at_word("forall") || in.at_word("not") || in.at_word("filter") || in.at_word("locations");
  }

  /// Parses to the end of the file.
  void read() {
    bool ended = false;
    while (in_.peek().what != token_kind::end) {
      if (in_.peek().what == token_kind::string) {
        in_.take();
        continue;
      }
      if (in_.at_word("locations")) {
        in_.take();
        read_locations();
        continue;
      }
      if (in_.at_word("filter")) {
        in_.take();
        names_count_ = false;
        const std::size_t begin = in_.offset();
        read_disjunction(test_.filter, 0);
        test_.filter_text = in_.written_since(begin);
        names_count_ = true;
        in_.accept(";");
        continue;
      }
      if (ended) {
        fail(in_.peek(), "expected the end of the file after the condition, found " + shown(in_.peek()));
      }
      if (in_.at_symbol("~") || in_.at_symbol("!") || in_.at_word("not")) {
        in_.take();
        const token word = in_.expect_word("'exists'");
        if (lower(word.text) != "exists") {
          fail(word, "expected 'exists', found " + shown(word));
        }
        test_.quantified = quantifier::not_exists;
      } else if (in_.at_word("exists")) {
        in_.take();
        test_.quantified = quantifier::exists;
      } else if (in_.at_word("forall")) {
        in_.take();
        test_.quantified = quantifier::forall;
      } else {
        fail(in_.peek(), "expected exists, ~exists or forall, found " + shown(in_.peek()));
      }
      const std::size_t begin = in_.offset();
      test_.observed.clear();
      read_disjunction(test_.condition, 0);
      if (test_.condition.size() > 10000) {
        fail(in_.peek(), "a condition can have at most 10000 parts");
      }
      test_.condition_text = in_.written_since(begin);
      test_.has_condition = true;
      ended = true;
      in_.accept(";");
    }
  }

 private:
  void read_locations() {
    in_.expect("[", "after 'locations'");
    names_count_ = !test_.has_condition;
    while (!in_.at_symbol("]")) {
      if (in_.accept(";") || in_.accept(",")) {
        continue;
      }
      const token word = in_.peek();
      const term t = read_term();
      if (t.kind == term::kind_t::constant) {
        fail(word, "expected a location or a register, found " + shown(word));
      }
    }
    in_.take();
    in_.accept(";");
    names_count_ = true;
  }

  int read_disjunction(std::vector<condition_node>& nodes, int depth) {
    int left = read_conjunction(nodes, depth);
    while (in_.at_symbol("\\/") || in_.at_symbol("||")) {
      in_.take();
      const int right = read_conjunction(nodes, depth);
      left = join(nodes, condition_node::kind_t::disjunction, left, right);
    }
    return left;
  }

  int read_conjunction(std::vector<condition_node>& nodes, int depth) {
    int left = read_negation(nodes, depth);
    while (in_.at_symbol("/\\") || in_.at_symbol("&&")) {
      in_.take();
      const int right = read_negation(nodes, depth);
      left = join(nodes, condition_node::kind_t::conjunction, left, right);
    }
    return left;
  }

  int read_negation(std::vector<condition_node>& nodes, int depth) {
    if (depth > 200) {
      fail(in_.peek(), "the parentheses of this condition are nested more than 200 levels deep");
    }
    if (in_.at_symbol("~") || in_.at_symbol("!") || in_.at_word("not")) {
      in_.take();
      const int inner = read_negation(nodes, depth + 1);
      return join(nodes, condition_node::kind_t::negation, inner, inner);
    }
    if (in_.accept("(")) {
      const int inner = read_disjunction(nodes, depth + 1);
      in_.expect(")", "in the condition");
      return inner;
    }
    if (in_.at_word("true")) {
      in_.take();
      nodes.emplace_back();
      return count_of(nodes) - 1;
    }
    condition_node n;
    n.kind = condition_node::kind_t::compare;
    n.left = read_term();
    static constexpr meaning<comparison> tests[] = {
        {"=", comparison::equal},       {"==", comparison::equal},  {"!=", comparison::not_equal},    {"<", comparison::less},
        {"<=", comparison::less_equal}, {">", comparison::greater}, {">=", comparison::greater_equal}};
    const token symbol = in_.peek();
    const auto test = symbol.what == token_kind::symbol ? find(tests, symbol.text) : std::nullopt;
    if (!test) {
      fail(symbol, "expected a comparison, found " + shown(symbol));
    }
    in_.take();
    n.test = *test;
    n.right = read_term();
    nodes.push_back(n);
    return count_of(nodes) - 1;
  }

  static int join(std::vector<condition_node>& nodes, condition_node::kind_t what, int left, int right) {
    condition_node n;
    n.kind = what;
    n.first = left;
    n.second = right;
    nodes.push_back(n);
    return count_of(nodes) - 1;
  }

  term read_term() {
    const token number = in_.peek();
    if (number.what == token_kind::number) {
      in_.take();
      if (in_.at_symbol(":")) {
        in_.take();
        return register_term(number, static_cast<int>(number.value));
      }
      term t;
      t.value = number.value;
      return t;
    }
    const bool bracketed = in_.accept("[");
    const bool address = in_.accept("&");
    const token word = in_.expect_word("a register, a location or a number");
    if (const std::optional<int> thread = thread_number(word.text); thread && in_.at_symbol(":") && !bracketed) {
      in_.take();
      term t = register_term(word, *thread);
      if (address) {
        if (t.kind != term::kind_t::memory_value) {
          fail(word, "expected a location after '&'");
        }
        return address_of(t.index);
      }
      return t;
    }
    const std::string name = bracketed ? std::string(word.text) : in_.location_name(word);
    if (bracketed) {
      in_.expect("]", "after a location");
    }
    term t;
    t.kind = term::kind_t::memory_value;
    names_.refuse_multimem(word, name);
    t.index = names_.find_location(name);
    if (t.index < 0) {
      fail(word, quote(name) + " is not a location of this test" + meant(name));
    }
    if (at(test_.locations, t.index).arrivals != 0) {
      fail(word, quote(name) + " is an mbarrier and has no value");
    }
    if (address) {
      return address_of(t.index);
    }
    observe(name, t);
    return t;
  }

  [[nodiscard]] static term address_of(int location_index) noexcept {
    term constant;
    constant.value = address_value(location_index);
    return constant;
  }

  // Parses a register, or a location in the shared memory of the thread's block.
  term register_term(const token& word, int number) {
    const int thread = names_.thread_index(number);
    if (thread < 0) {
      fail(word, "there is no thread P" + std::to_string(number));
    }
    const token reg = in_.expect_word("a register");
    term t;
    t.kind = term::kind_t::register_value;
    t.thread = thread;
    t.index = names_.find_register(thread, reg.text);
    if (t.index < 0) {
      const std::string name = in_.location_name(reg);
      if (const int shared = names_.find_location_of(thread, name); shared >= 0) {
        t.kind = term::kind_t::memory_value;
        t.thread = 0;
        t.index = shared;
        observe("P" + std::to_string(number) + ":" + name, t);
        return t;
      }
      const std::string nearest = nearest_name(reg.text, at(test_.threads, thread).register_names);
      fail(reg, "no instruction or initial value in P" + std::to_string(number) + " names the register " + quote(reg.text) +
                    (nearest.empty() ? "" : "; did you mean " + quote(nearest) + "?"));
    }
    observe("P" + std::to_string(number) + ":" + std::string(reg.text), t);
    return t;
  }

  // Returns a suggestion for the name of an unknown location.
  [[nodiscard]] std::string meant(const std::string& name) const {
    for (int t = 0; t < count_of(test_.threads); ++t) {
      if (names_.find_location_of(t, name) >= 0) {
        return ", but several blocks have shared memory with that name: add a thread, as in " +
               quote("P" + std::to_string(at(test_.threads, t).number) + ":" + name);
      }
    }
    for (int t = 0; t < count_of(test_.threads); ++t) {
      if (names_.known_register(t, name)) {
        return "; write a register with its thread, as in " +
               quote("P" + std::to_string(at(test_.threads, t).number) + ":" + name);
      }
    }
    const std::string nearest = nearest_name(name, test_.location_names);
    return nearest.empty() ? "" : "; did you mean " + quote(nearest) + "?";
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

  lexer& in_;
  const declarations& names_;
  litmus_test& test_;
  bool names_count_ = true;  ///< whether the values named in the text become observations
};

/// Parses one litmus test. Each object parses one text.
class litmus_reader {
 public:
  explicit litmus_reader(std::string_view text) : in_(text) {}

  [[nodiscard]] litmus_test read() {
    read_header();
    state_reader state(in_, names_);
    state.read_initial_state();
    state.read_places();
    names_.end_declarations();
    jumps_.resize(test_.threads.size());
    while (!condition_reader::begins(in_)) {
      read_row();
    }
    resolve_labels();
    divide_shared_memory(names_, state.remote_addresses());
    condition_reader(in_, names_, test_).read();
    state.check_places();
    check_extents();
    return std::move(names_.test);
  }

 private:
  struct jump_to {
    token label;
    int instruction = 0;
  };

  void read_header() {
    const token t = in_.take();
    if (t.what != token_kind::word || lower(t.text) != "ptx") {
      fail(t, "a litmus test starts with 'PTX', found " + shown(t));
    }
    test_.name = in_.read_title();
    in_.skip_to_initial_state();
  }

  void read_row() {
    int column = 0;
    for (;;) {
      if (!at_cell_end()) {
        if (column >= count_of(test_.threads)) {
          fail(in_.peek(), "this row has more columns than the test has threads");
        }
        read_cell(column);
      }
      if (in_.accept(";")) {
        return;
      }
      if (!in_.accept("|")) {
        fail(in_.peek(), "expected '|' or ';' after an instruction, found " + shown(in_.peek()));
      }
      ++column;
    }
  }

  [[nodiscard]] bool at_cell_end() { return in_.at_symbol("|") || in_.at_symbol(";"); }

  void read_cell(int thread) {
    while (!at_cell_end()) {
      const int next = count_of(at(test_.threads, thread).code);
      if (in_.at_symbol("@")) {
        add_jump(thread, next, read_predicated_instruction(in_, names_, thread));
        return;
      }
      const token word = in_.expect_word("an instruction");
      if (!in_.accept(":")) {
        add_jump(thread, next, read_instruction(in_, names_, thread, word));
        return;
      }
      if (label_target(thread, word) >= 0) {
        fail(word, "the label " + quote(word.text) + " is defined twice");
      }
      at(test_.threads, thread).labels.emplace_back(std::string(word.text), next);
    }
  }

  /// If the instruction at index `next` jumps to a label, records the jump.
  void add_jump(int thread, int next, const std::optional<token>& label) {
    if (label) {
      at(jumps_, thread).push_back({*label, next});
    }
  }

  /// Returns the instruction that follows a label, or -1 if the thread has no such label.
  [[nodiscard]] int label_target(int thread, const token& label) const {
    for (const auto& [name, target] : at(test_.threads, thread).labels) {
      if (name == label.text) {
        return target;
      }
    }
    return -1;
  }

  void resolve_labels() {
    for (int t = 0; t < count_of(test_.threads); ++t) {
      for (const auto& [label, instruction] : at(jumps_, t)) {
        const int target = label_target(t, label);
        if (target < 0) {
          fail(label, "there is no label " + quote(label.text) + " in this thread");
        }
        at(at(test_.threads, t).code, instruction).target = target;
      }
    }
  }

  /// Rejects accesses of different sizes to an array. The model handles accesses of different sizes to one location, but an
  /// access that extends into a neighbouring location has no meaning, because a name refers to a single value.
  void check_extents() const {
    std::map<std::string, std::set<int>> sizes;
    for_each_array_access([&](const instruction& i, const std::string& array) { sizes[array].insert(i.bytes); });
    for_each_array_access([&](const instruction& i, const std::string& array) {
      if (sizes[array].size() > 1) {
        throw error(i.line, 1, "the model does not cover mixed-size accesses to the array " + quote(array) + "");
      }
    });
  }

  template <class Use>
  void for_each_array_access(const Use& use) const {
    for (const litmus_test::thread& t : test_.threads) {
      for (const instruction& i : t.code) {
        if (const std::string array = array_of(i); !array.empty()) {
          use(i, array);
        }
      }
    }
  }

  /// Returns the name of the array that an instruction accesses if the array has several elements, or an empty string
  /// otherwise.
  [[nodiscard]] std::string array_of(const instruction& i) const {
    if (!accesses_memory(i.code) || i.indirect || i.target < 0) {
      return "";
    }
    const std::string& name = at(test_.location_names, i.target);
    const std::string array = name.substr(0, name.find('['));
    const bool has_elements = std::any_of(test_.location_names.begin(), test_.location_names.end(),
                                          [&](const std::string& other) { return other.starts_with(array + "["); });
    return has_elements ? array : "";
  }

  lexer in_;
  declarations names_;
  litmus_test& test_ = names_.test;
  std::vector<std::vector<jump_to>> jumps_;  ///< per thread: the jumps whose targets are not resolved yet
};

}  // namespace

}  // namespace detail

model::litmus_test read_litmus(std::string_view text) { return detail::litmus_reader(text).read(); }

}  // namespace membar::litmus_files
