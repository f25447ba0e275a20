// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include <common/quote.hpp>
#include <litmus/instruction_reader.hpp>

#include <litmus/mnemonic.hpp>
#include <litmus/nearest_name.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/array.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace membar::litmus_files::detail {

using membar_tools::quote;

namespace {

/// Parses the operands after a mnemonic, and appends the instruction to its thread.
class instruction_reader {
 public:
  instruction_reader(lexer& in, declarations& names, int thread, const token& word)
      : in_(in),
        names_(names),
        test_(names.test),
        thread_(thread),
        word_(word),
        begin_(word),
        head_(split(lower(word.text)).front()) {
    i_.line = word.line;
  }

  /// Records that the instruction has a predicate. The predicate's text begins with `sign`.
  void set_predicate(const token& sign, int guard, bool negated) {
    begin_ = sign;
    i_.guard = guard;
    i_.guard_negated = negated;
  }

  /// Parses the instruction. Returns the label that it jumps to, or nothing if it does not jump.
  std::optional<token> read() {
    litmus_test::thread& t = at(test_.threads, thread_);
    if (t.where.host && (head_ == "bar" || head_ == "barrier" || head_ == "mbarrier")) {
      fail(word_, "a host thread cannot take part in a barrier");
    }
    if (t.where.host && is_asynchronous()) {
      fail(word_, "a host thread cannot start an asynchronous copy or wait for a grid");
    }
    read_operands();
    if (i_.guard >= 0) {
      use_predicate();
    }
    const std::string written = in_.written_since(in_.offset_of(begin_));
    t.code.push_back(i_);
    t.text.push_back(written);
    for (const instruction& element : more_) {
      t.code.push_back(element);
      t.text.push_back(written);
    }
    if (t.code.size() > 1000) {
      fail(word_, "a thread can have at most 1000 instructions");
    }
    return label_;
  }

 private:
  static constexpr meaning<comparison> branch_tests[] = {{"beq", comparison::equal},   {"bne", comparison::not_equal},
                                                         {"blt", comparison::less},    {"ble", comparison::less_equal},
                                                         {"bgt", comparison::greater}, {"bge", comparison::greater_equal}};

  static constexpr meaning<state_space> spaces[] = {{"global", state_space::global},
                                                    {"shared", state_space::shared},
                                                    {"shared::cta", state_space::shared},
                                                    {"shared::cluster", state_space::shared_cluster}};
  static constexpr std::int64_t most_transactions = (1 << 20) - 1;  // PTX ISA, "Tx-count operation of mbarrier object"

  void read_operands() {
    if (is_asynchronous()) {
      read_asynchronous();
    } else if (head_ == "ld" || head_ == "tld" || head_ == "suld" || head_ == "cold") {
      read_load();
    } else if (head_ == "st" || head_ == "sust") {
      read_store();
    } else if (head_ == "atom" || head_ == "suatom" || head_ == "red" || head_ == "sured") {
      read_atomic();
    } else if (head_ == "multimem") {
      read_multimem();
    } else if (head_ == "fence" || head_ == "membar") {
      read_fence();
    } else if (head_ == "bar" || head_ == "barrier") {
      read_barrier();
    } else if (head_ == "mbarrier") {
      read_mbarrier();
    } else if (head_ == "goto" || head_ == "bra" || find(branch_tests, head_)) {
      read_jump();
    } else if (head_ == "setp") {
      read_setp();
    } else if (head_ == "shfl") {
      read_shuffle();
    } else {
      read_compute();
    }
  }

  // A jump with a predicate is a branch on that predicate.
  void use_predicate() {
    if (i_.code == opcode::branch) {
      fail(word_, quote(word_.text) + " already has a condition, so it cannot have a predicate");
    }
    if (i_.code == opcode::jump) {
      i_.code = opcode::branch;
      i_.test = i_.guard_negated ? comparison::equal : comparison::not_equal;
      i_.a = {true, i_.guard, 0};
      i_.b = {};
      i_.guard = -1;
      i_.guard_negated = false;
    }
  }

  void set_bytes(const mnemonic& m) {
    i_.bytes = static_cast<std::uint8_t>(m.bytes == 0 ? 4 : m.bytes);
    i_.space = m.space.value_or(state_space::generic);
  }

  /// Determines the strength, order and scope of a load or a store.
  void set_order(mnemonic m, bool is_store) {
    const std::string name(word_.text);
    if (m.read_only && head_ == "ld") {
      if (m.order || m.scope || m.is_volatile || m.mmio) {
        fail(word_, quote(name) + ": a load through the read-only path (nc) cannot have an order or a scope");
      }
      if (m.space && *m.space != state_space::global) {
        fail(word_, quote(name) + ": the read-only path (nc) reads only global memory");
      }
      i_.via = proxy::read_only;
      m.read_only = false;
    }
    no_others(word_, m);
    if (m.is_volatile) {
      if (m.order || m.scope || m.weak) {
        fail(word_, quote(name) + ": a volatile access cannot have an order or a scope");
      }
      i_.strong = true;
      i_.scope = thread_scope::system;
      return;
    }
    if (m.mmio) {
      if ((m.order && *m.order != memory_order::relaxed) || (m.scope && *m.scope != thread_scope::system) || m.weak) {
        fail(word_, quote(name) + ": an mmio access must be relaxed with system scope");
      }
      i_.strong = true;
      i_.scope = thread_scope::system;
      return;
    }
    if (!m.order) {
      return;
    }
    const memory_order wrong = is_store ? memory_order::acquire : memory_order::release;
    if (*m.order == wrong || *m.order == memory_order::acq_rel || *m.order == memory_order::seq_cst) {
      fail(word_, std::string(is_store ? "a store" : "a load") + " must be weak, relaxed or " +
                      (is_store ? "release" : "acquire") + ", not " + quote(name));
    }
    if (!m.scope) {
      fail(word_, quote(name) + " needs a scope: cta, cluster, gpu or sys");
    }
    i_.strong = true;
    i_.order = *m.order;
    i_.scope = *m.scope;
  }

  [[nodiscard]] static proxy proxy_of(const std::string& head) {
    return starts(head, "su") ? proxy::surface
           : head == "tld"    ? proxy::texture
           : head == "cold"   ? proxy::constant
                              : proxy::generic;
  }

  void read_load() {
    const mnemonic m = analyse(word_);
    i_.code = opcode::load;
    i_.via = proxy_of(head_);
    set_bytes(m);
    if (m.what) {
      fail(word_, quote(word_.text) + ": a load cannot have an operation");
    }
    set_order(m, false);
    if (m.elements > 1) {
      std::vector<int> destinations;
      in_.expect("{", "before a vector's registers");
      do {
        destinations.push_back(read_destination());
      } while (in_.accept(","));
      in_.expect("}", "after a vector's registers");
      need_comma();
      read_vector(m, destinations.size());
      i_.destination = destinations.front();
      for (std::size_t k = 0; k < more_.size(); ++k) {
        more_[k].destination = destinations[k + 1];
      }
      return;
    }
    i_.destination = read_destination();
    need_comma();
    // a load of a number is a move, with or without an order; ld r0, r1 is also a move, but ld.weak r0, r1 loads from the
    // address in r1
    const bool bare = m.parts.size() == 1;
    if (in_.peek().what == token_kind::number ||
        (bare && in_.peek().what == token_kind::word && names_.names_register(thread_, in_.peek().text))) {
      i_.code = opcode::compute;
      i_.strong = false;
      i_.via = proxy::generic;
      i_.b = read_operand();
      return;
    }
    read_address();
  }

  void read_store() {
    const mnemonic m = analyse(word_);
    i_.code = opcode::store;
    i_.via = proxy_of(head_);
    set_bytes(m);
    if (m.what) {
      fail(word_, quote(word_.text) + ": a store cannot have an operation");
    }
    set_order(m, true);
    if (m.elements > 1) {
      read_vector(m, static_cast<std::size_t>(m.elements));
      need_comma();
      in_.expect("{", "before a vector's values");
      for (std::size_t k = 0; k < static_cast<std::size_t>(m.elements); ++k) {
        if (k > 0) {
          need_comma();
        }
        (k == 0 ? i_ : more_[k - 1]).a = read_operand();
      }
      in_.expect("}", "after a vector's values");
      return;
    }
    read_address();
    need_comma();
    i_.a = read_operand();
  }

  /// Parses the address of a vector access, and creates its elements after the first.
  void read_vector(const mnemonic& m, std::size_t given) {
    if (given != static_cast<std::size_t>(m.elements)) {
      fail(word_, quote(word_.text) + " takes " + std::to_string(m.elements) + " registers");
    }
    const token address = in_.peek();
    read_address();
    if (i_.indirect) {
      fail(address, "the address of a vector access must be a location, not a register");
    }
    const std::string base = at(test_.location_names, i_.target);
    if (base.find('[') != std::string::npos) {
      fail(address, "a vector access must start at element 0");
    }
    for (int k = 1; k < m.elements; ++k) {
      instruction element = i_;
      element.element = static_cast<std::uint8_t>(k);
      element.target = names_.location_for(address, base + "[" + std::to_string(k) + "]");
      more_.push_back(element);
    }
  }

  void read_atomic() {
    const mnemonic m = analyse(word_);
    no_others(word_, m);
    const bool reduces = head_ == "red" || head_ == "sured";
    i_.code = reduces ? opcode::reduction : opcode::atomic;
    i_.via = proxy_of(head_);
    set_bytes(m);
    if (!m.what) {
      fail(word_, quote(word_.text) + " has no operation: write one, such as add, exch or cas");
    }
    if (m.weak || m.is_volatile || m.mmio || (m.order && *m.order == memory_order::seq_cst) || m.elements > 1) {
      fail(word_, quote(word_.text) + ": the order of an atomic must be relaxed, acquire, release or acq_rel");
    }
    i_.strong = true;
    i_.what = *m.what;
    i_.order = m.order.value_or(memory_order::relaxed);
    i_.scope = m.scope.value_or(thread_scope::device);  // the default scope in PTX is .gpu
    if (!reduces) {
      i_.destination = read_destination();
      need_comma();
    }
    read_address();
    need_comma();
    i_.a = read_operand();
    if (i_.what == operation::compare_exchange) {
      need_comma();
      i_.b = read_operand();
    }
  }

  // multimem.ld_reduce{.sem.scope}.op r, m;  multimem.st{.sem.scope} m, v;  multimem.red{.sem}{.scope}.op m, v
  void read_multimem() {
    mnemonic m = analyse(word_);
    const std::string kind = m.parts.size() < 2 ? "" : m.parts[1];
    const bool loads = kind == "ld_reduce";
    if (!loads && kind != "st" && kind != "red") {
      fail(word_, "expected multimem.ld_reduce, multimem.st or multimem.red, found " + shown(word_));
    }
    if (at(test_.threads, thread_).where.host) {
      fail(word_, "a host thread cannot access a multimem address");
    }
    m.others.erase(m.others.begin());  // removes the part that names the kind of instruction
    const std::string name = quote(word_.text);
    if (m.is_volatile || m.mmio || m.elements > 1 || (m.space && *m.space != state_space::global)) {
      fail(word_, name + ": a multimem operation must access one value in global memory, and cannot be volatile or mmio");
    }
    const bool computes = m.what == operation::add || m.what == operation::minimum || m.what == operation::maximum ||
                          m.what == operation::bit_and || m.what == operation::bit_or || m.what == operation::bit_xor;
    if (kind == "st" ? m.what.has_value() : !computes) {
      fail(word_, kind == "st" ? name + ": a multimem store cannot have an operation"
                               : name + " needs one of the operations add, min, max, and, or, xor");
    }
    i_.code = loads ? opcode::load : kind == "st" ? opcode::store : opcode::reduction;
    set_bytes(m);
    if (kind == "red") {
      no_others(word_, m);
      if (m.weak || (m.order && *m.order != memory_order::relaxed && *m.order != memory_order::release)) {
        fail(word_, name + ": the order of a multimem reduction must be relaxed or release");
      }
      i_.strong = true;
      i_.order = m.order.value_or(memory_order::relaxed);
      i_.scope = m.scope.value_or(thread_scope::device);  // the same default as for red
    } else {
      set_order(m, !loads);
    }
    i_.what = m.what.value_or(operation::move);
    i_.multimem = true;
    if (loads) {
      i_.destination = read_destination();
      need_comma();
    }
    i_.target = read_multimem_address();
    if (!loads) {
      need_comma();
      i_.a = read_operand();
    }
    access_each_object();
  }

  // Creates one access to each object of the multimem address. These accesses are the elements of a single access. A load is
  // followed by the computation of its result.
  void access_each_object() {
    const int first = i_.target;
    std::vector<instruction> sums;
    for (int k = 1; first + k < count_of(test_.locations) && at(test_.locations, first + k).multimem == first; ++k) {
      instruction element = i_;
      element.element = static_cast<std::uint8_t>(k);
      element.target = first + k;
      if (i_.code == opcode::load && i_.destination >= 0) {
        element.destination = names_.register_for(word_, thread_, "multimem_" + std::to_string(k));
        instruction sum;
        sum.code = opcode::compute;
        sum.what = i_.what;
        sum.multimem = true;
        sum.guard = i_.guard;
        sum.guard_negated = i_.guard_negated;
        sum.element = element.element;  // the computation is not a separate instruction in the text
        sum.destination = i_.destination;
        sum.a = {true, i_.destination, 0};
        sum.b = {true, element.destination, 0};
        sums.push_back(sum);
      }
      more_.push_back(element);
    }
    more_.insert(more_.end(), sums.begin(), sums.end());
  }

  [[nodiscard]] int read_multimem_address() {
    const bool bracketed = in_.accept("[");
    const token word = in_.expect_word("a multimem address");
    const int first = names_.find_multimem(word.text);
    if (first < 0) {
      fail(word, quote(word.text) + " is not a multimem address: declare it, as in 'm @ multimem aliases x, y'");
    }
    if (bracketed) {
      in_.expect("]", "after an address");
    }
    return first;
  }

  void read_jump() {
    if (lower(word_.text) != head_) {
      fail(word_, shown(word_) + " is not an instruction");
    }
    i_.code = opcode::jump;
    if (find(branch_tests, head_)) {
      i_.code = opcode::branch;
      i_.test = *find(branch_tests, head_);
      i_.a = read_operand();
      need_comma();
      i_.b = read_operand();
      need_comma();
    }
    label_ = in_.expect_word("a label");
  }

  void read_setp() {
    static constexpr meaning<operation> tests[] = {{"eq", operation::is_equal},   {"ne", operation::is_not_equal},
                                                   {"lt", operation::is_less},    {"le", operation::is_less_equal},
                                                   {"gt", operation::is_greater}, {"ge", operation::is_greater_equal}};
    const std::vector<std::string> parts = split(lower(word_.text));
    const auto test = parts.size() < 2 ? std::nullopt : find(tests, parts[1]);
    if (!test || parts.size() > 3 || (parts.size() == 3 && type_bytes(parts[2]) == 0)) {
      fail(word_, "expected setp.eq, .ne, .lt, .le, .gt or .ge and a type, found " + shown(word_));
    }
    i_.code = opcode::compute;
    i_.what = *test;
    i_.destination = read_destination();
    need_comma();
    i_.a = read_operand();
    need_comma();
    i_.b = read_operand();
  }

  // shfl.sync.MODE.b32 r0[|p0], value, lane, clamp, mask
  void read_shuffle() {
    static constexpr meaning<shuffle_mode> modes[] = {{"idx", shuffle_mode::index},
                                                      {"up", shuffle_mode::up},
                                                      {"down", shuffle_mode::down},
                                                      {"bfly", shuffle_mode::butterfly}};
    const std::vector<std::string> parts = split(lower(word_.text));
    const auto mode = parts.size() < 3 || parts[1] != "sync" ? std::nullopt : find(modes, parts[2]);
    if (!mode || parts.size() > 4 || (parts.size() == 4 && type_bytes(parts[3]) != 4)) {
      fail(word_, "expected shfl.sync.idx, .up, .down or .bfly, and .b32, found " + shown(word_));
    }
    if (at(test_.threads, thread_).where.host) {
      fail(word_, "a host thread cannot take part in a shuffle");
    }
    i_.code = opcode::shuffle;
    i_.mode = *mode;
    i_.destination = read_destination();
    if (in_.accept("|")) {
      i_.predicate = read_destination();
    }
    need_comma();
    i_.a = read_operand();
    need_comma();
    i_.b.value = read_constant("the lane of a shuffle", 31);
    need_comma();
    i_.c.value = read_constant("the clamp of a shuffle", 0x1f1f);
    need_comma();
    i_.lanes = static_cast<std::uint32_t>(read_constant("the mask of a shuffle", 0xffffffff));
  }

  void read_compute() {
    static constexpr meaning<operation> operations[] = {
        {"mov", operation::move},      {"add", operation::add},     {"sub", operation::subtract}, {"mul", operation::multiply},
        {"mult", operation::multiply}, {"div", operation::divide},  {"and", operation::bit_and},  {"or", operation::bit_or},
        {"xor", operation::bit_xor},   {"min", operation::minimum}, {"max", operation::maximum}};
    const auto what = find(operations, head_);
    if (!what) {
      fail(word_, shown(word_) + " is not an instruction");
    }
    for (const std::string& part : split(lower(word_.text))) {
      if (part != head_ && part != "lo" && type_bytes(part) == 0) {
        fail(word_, shown(word_) + " is not an instruction");
      }
    }
    i_.code = opcode::compute;
    i_.what = *what;
    i_.destination = read_destination();
    need_comma();
    if (i_.what != operation::move) {
      i_.a = read_operand();
      need_comma();
    }
    i_.b = read_operand();
  }

  // ---- fences and barriers

  void read_fence() {
    const std::vector<std::string> parts = split(lower(word_.text));
    if (head_ == "fence" && parts.size() >= 2 && parts[1] == "proxy") {
      i_.code = opcode::proxy_fence;
      if (parts.size() < 3) {
        fail(word_, "'fence.proxy' needs a proxy, as in fence.proxy.async");
      }
      static constexpr meaning<state_space> async_spaces[] = {{"global", state_space::global},
                                                              {"shared::cta", state_space::shared},
                                                              {"shared::cluster", state_space::shared_cluster}};
      static constexpr meaning<proxy> kinds[] = {{"alias", proxy::alias},
                                                 {"surface", proxy::surface},
                                                 {"texture", proxy::texture},
                                                 {"constant", proxy::constant},
                                                 {"generic", proxy::generic}};
      if (const auto kind = find(kinds, parts[2]); kind && parts.size() == 3) {
        i_.via = *kind;
      } else if (parts[2] == "async" && (parts.size() == 3 || (parts.size() == 4 && find(async_spaces, parts[3])))) {
        i_.via = proxy::async;
        i_.space = parts.size() == 3 ? state_space::generic : *find(async_spaces, parts[3]);
      } else if (starts(parts[2], "async::") || starts(parts[2], "tensormap::")) {
        read_one_way_fence(parts);
      } else {
        fail(word_, quote(word_.text) + ": unknown proxy fence");
      }
      return;
    }
    i_.code = opcode::fence;
    if (parts.size() >= 2 && parts[1] == "mbarrier_init") {
      if (lower(word_.text) != "fence.mbarrier_init.release.cluster") {
        fail(word_, "expected fence.mbarrier_init.release.cluster, found " + shown(word_));
      }
      i_.restricted = true;
      i_.order = memory_order::release;
      i_.scope = thread_scope::cluster;
      return;
    }
    if (head_ == "membar") {  // membar is the older spelling of fence.sc
      static constexpr meaning<thread_scope> levels[] = {
          {"cta", thread_scope::block}, {"gl", thread_scope::device}, {"sys", thread_scope::system}};
      const auto level = parts.size() == 2 ? find(levels, parts[1]) : std::nullopt;
      if (!level) {
        fail(word_, "expected membar.cta, membar.gl or membar.sys, found " + shown(word_));
      }
      i_.order = memory_order::seq_cst;
      i_.scope = *level;
      return;
    }
    const mnemonic m = analyse(word_);
    no_others(word_, m);
    if (m.weak || m.is_volatile || m.mmio || m.what || m.bytes != 0 || m.elements > 1 ||
        (m.order && *m.order == memory_order::relaxed)) {
      fail(word_, quote(word_.text) + ": the order of a fence must be sc, acq_rel, acquire or release");
    }
    if (!m.scope) {
      fail(word_, quote(word_.text) + " needs a scope: cta, cluster, gpu or sys");
    }
    i_.order = m.order.value_or(memory_order::acq_rel);
    i_.scope = *m.scope;
  }

  void read_barrier() {
    std::vector<std::string> parts = split(lower(word_.text));
    i_.code = opcode::barrier;
    if (!parts.empty() && parts.back() == "aligned") {
      parts.pop_back();
    }
    if (parts.size() >= 3 && parts[1] == "cluster") {
      i_.barrier = barrier_kind::cluster;
      const std::string form = parts.size() == 4 ? parts[3] : "";
      if (parts.size() <= 4 && parts[2] == "arrive" && (form.empty() || form == "release" || form == "relaxed")) {
        i_.arrives = true;
        i_.order = form == "relaxed" ? memory_order::relaxed : memory_order::release;
        return;
      }
      if (parts.size() <= 4 && parts[2] == "wait" && (form.empty() || form == "acquire")) {
        i_.waits = true;
        i_.order = memory_order::acquire;
        return;
      }
      fail(word_,
           "expected barrier.cluster.arrive{.release,.relaxed} or barrier.cluster.wait{.acquire}, found " + shown(word_));
    }
    if (parts.size() == 3 && parts[1] == "warp" && parts[2] == "sync") {
      i_.barrier = barrier_kind::warp;
      i_.arrives = true;
      i_.waits = true;
      i_.a = read_operand();
      i_.b = {false, 0, -1};
      return;
    }
    if (parts.size() == 3 && parts[1] == "cta") {
      parts.erase(parts.begin() + 1);
    }
    if (parts.size() != 2 || (parts[1] != "sync" && parts[1] != "red" && parts[1] != "arrive")) {
      fail(word_, "expected bar.cta.sync, .red or .arrive, bar.warp.sync or barrier.cluster.*, found " + shown(word_));
    }
    i_.arrives = true;
    i_.waits = parts[1] != "arrive";
    i_.a = read_operand();
    i_.b = {false, 0, -1};
    if (in_.accept(",")) {
      i_.b = read_operand();
      if (in_.accept(",")) {
        const token count = in_.peek();
        i_.has_quorum = true;
        i_.c = read_operand();
        if (!i_.c.is_register && i_.c.value < 1) {
          fail(count, "the count of a barrier must be at least 1");
        }
      }
    }
  }

  void read_mbarrier() {
    const mnemonic m = analyse(word_);
    const std::string form = m.others.empty() ? "" : m.others.front();
    if (form == "init" && m.others.size() == 1 && !m.order && !m.scope && !m.weak && !m.what) {
      read_initialization();
      return;
    }
    const bool arrives = form == "arrive";
    const bool waits = form == "test_wait" || form == "try_wait";
    const bool expects = m.others.size() == (arrives ? 2U : 1U) && m.others.back() == "expect_tx";
    const bool completes = form == "complete_tx";
    i_.parity = waits && m.others.size() == 2 && m.others.back() == "parity";
    const bool one_form = m.others.size() == 1 || (arrives && expects) || i_.parity;
    if ((!arrives && !waits && !expects && !completes) || !one_form || m.weak || m.what) {
      fail(word_,
           "expected mbarrier.init, .arrive, .arrive.expect_tx, .expect_tx, .complete_tx, .test_wait or .try_wait, also with "
           ".parity, "
           "found " +
               shown(word_));
    }
    const memory_order natural = arrives ? memory_order::release : waits ? memory_order::acquire : memory_order::relaxed;
    i_.code = waits ? opcode::mbarrier_wait : opcode::mbarrier_arrive;
    i_.arrives = !waits;
    i_.waits = waits;
    i_.order = m.order.value_or(natural);
    if (i_.order != natural && i_.order != memory_order::relaxed) {
      fail(word_, quote(word_.text) + ": " +
                      (arrives || waits ? "an arrival must be release or relaxed, and a wait acquire or relaxed"
                                        : "expect_tx and complete_tx without an arrival must be relaxed"));
    }
    i_.scope = m.scope.value_or(thread_scope::block);
    if (waits && in_.peek().what == token_kind::word && names_.names_register(thread_, in_.peek().text)) {
      i_.destination = read_destination();
      need_comma();
    }
    i_.target = read_mbarrier_name();
    i_.b = {false, 0, -1};
    i_.arrivals = arrives ? 1 : 0;
    if (waits) {
      need_comma();
      const token named = in_.peek();
      i_.a = read_operand();
      if (i_.parity && !i_.a.is_register && i_.a.value != 0 && i_.a.value != 1) {
        fail(named, "the parity of a phase must be 0 or 1, found " + std::to_string(i_.a.value) +
                        ": to name a phase by its number, leave out .parity");
      }
    } else if (expects || completes) {
      need_comma();
      (expects ? i_.expected_bytes : i_.completed_bytes) =
          static_cast<int>(read_constant("the byte count of a transaction", most_transactions));
    } else if (in_.accept(",")) {
      const token count = in_.peek();
      i_.arrivals = static_cast<int>(read_constant("the number of arrivals", most_transactions));
      if (i_.arrivals < 1) {
        fail(count, "mbarrier.arrive must count at least one arrival");
      }
    }
  }

  /// Parses the location of an mbarrier.
  [[nodiscard]] int read_mbarrier_name() {
    const bool bracketed = in_.accept("[");
    const token word = in_.expect_word("an mbarrier");
    const int named = names_.find_location(word.text);
    if (named < 0 || at(test_.locations, named).arrivals == 0) {
      const std::string name(word.text);
      fail(word, quote(name) + " is not an mbarrier: declare it as " + quote(name + " @ mbarrier 2;"));
    }
    if (bracketed) {
      in_.expect("]", "after an address");
    }
    return named;
  }

  /// Returns whether the instruction starts asynchronous operations or waits for them.
  [[nodiscard]] bool is_asynchronous() const {
    const std::vector<std::string> parts = split(lower(word_.text));
    return head_ == "cp" || head_ == "griddepcontrol" ||
           ((head_ == "st" || head_ == "red") && parts.size() > 1 && parts[1] == "async");
  }

  void read_asynchronous() {
    const std::string name = lower(word_.text);
    if (head_ == "griddepcontrol") {
      if (name != "griddepcontrol.wait" && name != "griddepcontrol.launch_dependents") {
        fail(word_, "expected griddepcontrol.wait or griddepcontrol.launch_dependents, found " + shown(word_));
      }
      i_.code = name == "griddepcontrol.wait" ? opcode::grid_wait : opcode::grid_launch;
      return;
    }
    const bool bulk = starts(name, "cp.async.bulk.") || starts(name, "cp.reduce.async.bulk.");
    i_.completes = bulk ? completion::bulk_group : completion::group;
    if (name == "cp.async.commit_group" || name == "cp.async.bulk.commit_group") {
      i_.code = opcode::async_commit;
      return;
    }
    if (name == "cp.async.wait_group" || name == "cp.async.bulk.wait_group" || name == "cp.async.bulk.wait_group.read") {
      i_.code = opcode::async_wait;
      i_.reads_only = starts(name, "cp.async.bulk.wait_group.read");
      i_.pending_groups = static_cast<int>(read_constant("the number of groups that may be pending", max_events));
      return;
    }
    if (starts(name, "cp.async.mbarrier.arrive")) {
      i_.code = opcode::async_arrive;
      i_.arrivals = starts(name, "cp.async.mbarrier.arrive.noinc") ? 1 : 0;
      i_.barrier_at = read_mbarrier_name();
      return;
    }
    if (starts(name, "cp.async.bulk.tensor.")) {
      read_tensor_copy();
      return;
    }
    read_copy(bulk);
  }

  // fence.proxy.async::generic.sem.sync_restrict.cluster;  fence.proxy.tensormap::generic.{release.scope,acquire.scope [map], 128}
  void read_one_way_fence(const std::vector<std::string>& parts) {
    static constexpr meaning<thread_scope> scopes[] = {{"cta", thread_scope::block},
                                                       {"cluster", thread_scope::cluster},
                                                       {"gpu", thread_scope::device},
                                                       {"sys", thread_scope::system}};
    const bool releases = parts.size() > 3 && parts[3] == "release";
    const bool acquires = parts.size() > 3 && parts[3] == "acquire";
    const auto scope = find(scopes, parts.back());
    const bool async = parts[2] == "async::generic" && parts.size() == 6 && scope == thread_scope::cluster &&
                       parts[4] == (releases ? "sync_restrict::shared::cta" : "sync_restrict::shared::cluster");
    if ((!releases && !acquires) || !scope || (!async && (parts[2] != "tensormap::generic" || parts.size() != 5))) {
      fail(word_,
           "expected fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster, "
           "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster, fence.proxy.tensormap::generic.release with "
           "a "
           "scope, or fence.proxy.tensormap::generic.acquire with a scope and '[map], 128', found " +
               shown(word_));
    }
    i_.restricted = true;
    i_.via = async ? proxy::async : proxy::tensor_map;
    i_.space = !async ? state_space::generic : releases ? state_space::shared : state_space::shared_cluster;
    i_.order = releases ? memory_order::release : memory_order::acquire;
    i_.scope = *scope;
    if (!async && acquires) {
      read_address();
      need_comma();
      const token size = in_.peek();
      if (in_.expect_number("a size") != 128) {
        fail(size, "the size of a tensor map fence must be 128, found " + shown(size));
      }
    }
  }

  // mbarrier.init b, count
  void read_initialization() {
    i_.code = opcode::mbarrier_init;
    i_.target = read_mbarrier_name();
    need_comma();
    const token count = in_.peek();
    i_.arrivals = static_cast<int>(read_constant("the expected count", most_transactions));
    const int declared = at(test_.locations, i_.target).arrivals;
    if (i_.arrivals != declared) {
      fail(count, quote(at(test_.location_names, i_.target)) + " is declared as an mbarrier that expects " +
                      std::to_string(declared) + " arrivals, but is initialized with " + std::to_string(i_.arrivals));
    }
  }

  // cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes [to], [map, {0}], [mbarrier]
  void read_tensor_copy() {
    read_spaces(false);
    bool on_mbarrier = false;
    for (const std::string& part : split(lower(word_.text))) {
      on_mbarrier = on_mbarrier || part == "mbarrier::complete_tx::bytes";
      static constexpr std::string_view known[] = {
          "cp", "async", "bulk", "tensor", "1d", "tile", "mbarrier::complete_tx::bytes"};
      if (!find(spaces, part) && std::find(std::begin(known), std::end(known), part) == std::end(known)) {
        fail(word_, quote(word_.text) + ": " + quote(part) + " is not supported: a tensor copy must be 1d in tile mode");
      }
    }
    if (!on_mbarrier || i_.space == state_space::global || i_.source_space != state_space::global) {
      fail(word_, quote(word_.text) +
                      ": a tensor copy must be from global to shared memory and complete on an mbarrier "
                      "(mbarrier::complete_tx::bytes)");
    }
    i_.code = opcode::async_copy;
    i_.via = proxy::async;
    i_.completes = completion::mbarrier;
    i_.order = memory_order::relaxed;
    i_.scope = thread_scope::device;
    read_address();
    need_comma();
    in_.expect("[", "before a tensor map");
    const token map = in_.expect_word("a tensor map");
    i_.tensor_map = names_.accessed_location(map, in_.location_name(map));
    if (at(test_.locations, i_.tensor_map).arrivals != 0) {
      fail(map, quote(map.text) + " is an mbarrier");
    }
    need_comma();
    in_.expect("{", "before the coordinates of a tile");
    const token coordinate = in_.peek();
    if (read_constant("the coordinate of a tile", most_transactions) != 0) {
      fail(coordinate, "a tensor has only one tile of 16 bytes, so the coordinate must be 0");
    }
    in_.expect("}", "after the coordinates of a tile");
    in_.expect("]", "after the coordinates of a tile");
    need_comma();
    i_.barrier_at = read_mbarrier_name();
    i_.completed_bytes = 16;
  }

  // cp.async, cp.async.bulk, cp.reduce.async.bulk: [to], [from], bytes{, [mbarrier]};  st.async, red.async: [to], value, [mbarrier]
  void read_copy(bool bulk) {
    const bool of_value = head_ == "st" || head_ == "red";
    read_spaces(of_value);
    std::string without_spaces;
    for (const std::string& part : split(lower(word_.text))) {
      without_spaces += find(spaces, part) ? "" : (without_spaces.empty() ? "" : ".") + part;
    }
    token word = word_;
    word.text = without_spaces;
    const mnemonic m = analyse(word);
    i_.code = opcode::async_copy;
    i_.via = bulk ? proxy::async : proxy::generic;
    i_.reduces = m.parts[1] == "reduce" || head_ == "red";
    if (i_.reduces != m.what.has_value() || m.what == operation::move || m.what == operation::compare_exchange) {
      fail(word_, quote(word_.text) + ": a reduction needs an operation, such as add, and other copies cannot have one");
    }
    i_.what = m.what.value_or(operation::move);
    i_.order = memory_order::relaxed;
    i_.scope = m.scope.value_or(head_ == "red" ? thread_scope::cluster : thread_scope::device);
    bool on_mbarrier = false;
    bool complete = !bulk && !of_value;
    for (const std::string& part : m.others) {
      on_mbarrier = on_mbarrier || part == "mbarrier::complete_tx::bytes";
      complete = complete || part == "mbarrier::complete_tx::bytes" || (bulk && part == "bulk_group");
      static constexpr std::string_view known[] = {"async",      "bulk", "reduce", "mbarrier::complete_tx::bytes",
                                                   "bulk_group", "ca",   "cg"};
      if (std::find(std::begin(known), std::end(known), part) == std::end(known)) {
        fail(word_, quote(word_.text) + ": " + quote(part) + " is not supported");
      }
    }
    if (!complete) {
      fail(word_, quote(word_.text) + " needs a completion mechanism: " +
                      (of_value ? "mbarrier::complete_tx::bytes" : "mbarrier::complete_tx::bytes or bulk_group"));
    }
    i_.completes = on_mbarrier ? completion::mbarrier : bulk ? completion::bulk_group : completion::group;
    read_address();
    need_comma();
    int bytes = m.bytes == 0 ? 4 : m.bytes;
    if (of_value) {
      i_.bytes = static_cast<std::uint8_t>(bytes);
      i_.a = read_operand();
    } else {
      instruction destination = i_;
      i_.indirect = false;
      read_address();
      std::swap(i_.indirect, i_.source_indirect);
      i_.source = i_.target;
      i_.target = destination.target;
      i_.indirect = destination.indirect;
      need_comma();
      const token size = in_.peek();
      bytes = static_cast<int>(read_constant("the byte count of a copy", most_transactions));
      if (bulk ? bytes == 0 || bytes % 16 != 0 : bytes != 4 && bytes != 8 && bytes != 16) {
        fail(size,
             bulk ? "the size of a bulk copy must be a multiple of 16 bytes" : "the size of cp.async must be 4, 8 or 16 bytes");
      }
      if (bulk) {
        read_elements(size, bytes / 16);
      }
    }
    if (on_mbarrier) {
      need_comma();
      instruction& last = more_.empty() ? i_ : more_.back();
      last.barrier_at = read_mbarrier_name();
      last.completed_bytes = bytes;
    }
  }

  // Parses the state spaces of the destination and the source.
  void read_spaces(bool of_value) {
    std::vector<state_space> found;
    for (const std::string& part : split(lower(word_.text))) {
      if (const auto space = find(spaces, part)) {
        found.push_back(*space);
      }
    }
    if (found.size() != (of_value ? 1U : 2U) && !(of_value && found.empty())) {
      fail(word_, quote(word_.text) + ": a copy must name the state spaces of its destination and its source");
    }
    i_.space = found.empty() ? state_space::shared_cluster : found.front();
    i_.source_space = of_value ? state_space::generic : found.back();
  }

  // Creates the elements of a bulk copy of an array: each element has 16 bytes.
  void read_elements(const token& size, int count) {
    if (count > 1 && (i_.indirect || i_.source_indirect)) {
      fail(size, "a bulk copy of more than 16 bytes must name locations, not addresses in registers");
    }
    for (int k = 1; k < count; ++k) {
      instruction element = i_;
      element.element = static_cast<std::uint8_t>(k);
      element.target = names_.location_for(size, at(test_.location_names, i_.target) + "[" + std::to_string(k) + "]");
      element.source = names_.location_for(size, at(test_.location_names, i_.source) + "[" + std::to_string(k) + "]");
      more_.push_back(element);
    }
  }

  // ---- operands

  void need_comma() { in_.expect(",", "between operands"); }

  [[nodiscard]] int read_destination() {
    const token word = in_.expect_word("a register");
    if (word.text == "_") {
      return -1;
    }
    if ((names_.find_location(word.text) >= 0 || names_.find_multimem(word.text) >= 0) &&
        !names_.known_register(thread_, word.text)) {
      fail(word, quote(word.text) + " is a location; expected a register");
    }
    if (word.text.find('.') != std::string_view::npos) {
      fail(word, "expected a register, found " + shown(word));
    }
    return names_.register_for(word, thread_, std::string(word.text));
  }

  [[nodiscard]] operand read_operand() {
    if (in_.peek().what == token_kind::number) {
      return {false, 0, in_.take().value};
    }
    const token word = in_.expect_word("a register or a number");
    if (names_.names_register(thread_, word.text)) {
      return {true, names_.register_for(word, thread_, std::string(word.text)), 0};
    }
    if (names_.find_location(word.text) >= 0 || names_.find_multimem(word.text) >= 0) {
      fail(word, quote(word.text) + " is a location; expected a register or a number");
    }
    fail(word, quote(word.text) + " is not a register of this thread");
  }

  void read_address() {
    const bool bracketed = in_.accept("[");
    const token word = in_.expect_word("a location");
    if (names_.names_register(thread_, word.text)) {
      i_.indirect = true;
      i_.target = names_.register_for(word, thread_, std::string(word.text));
    } else {
      i_.target = names_.accessed_location(word, bracketed ? std::string(word.text) : in_.location_name(word));
      if (at(test_.locations, i_.target).arrivals != 0) {
        fail(word, quote(word.text) + " is an mbarrier");
      }
    }
    if (bracketed) {
      in_.expect("]", "after an address");
    }
  }

  std::int64_t read_constant(const std::string& what, std::int64_t most) {
    const token word = in_.peek();
    if (word.what != token_kind::number || word.value < 0 || word.value > most) {
      fail(word, what + " must be a number from 0 to " + std::to_string(most) + ", found " + shown(word));
    }
    return in_.take().value;
  }

  lexer& in_;
  declarations& names_;
  litmus_test& test_;
  int thread_;
  token word_;   ///< the mnemonic
  token begin_;  ///< the beginning of the instruction, which is its predicate or its mnemonic
  std::string head_;
  instruction i_;
  std::vector<instruction> more_;  ///< the elements of a vector access or of a copy, except the first
  std::optional<token> label_;
};

}  // namespace

std::optional<token> read_instruction(lexer& in, declarations& names, int thread, const token& word) {
  return instruction_reader(in, names, thread, word).read();
}

std::optional<token> read_predicated_instruction(lexer& in, declarations& names, int thread) {
  const token sign = in.take();
  const bool negated = in.accept("!");
  const token name = in.expect_word("a predicate");
  const int guard = names.find_register(thread, name.text);
  if (guard < 0) {
    const std::string nearest = nearest_name(name.text, at(names.test.threads, thread).register_names);
    fail(name, "no earlier instruction sets the predicate " + quote(name.text) +
                   (nearest.empty() ? "" : "; did you mean " + quote(nearest) + "?"));
  }
  instruction_reader reader(in, names, thread, in.expect_word("an instruction after its predicate"));
  reader.set_predicate(sign, guard, negated);
  return reader.read();
}

}  // namespace membar::litmus_files::detail
