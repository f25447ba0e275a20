// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads one instruction of a litmus file.
#pragma once

#include <litmus/litmus_mnemonic.hpp>
#include <litmus/litmus_names.hpp>
#include <litmus/litmus_synchronization.hpp>
#include <litmus/litmus_tokens.hpp>
#include <litmus/nearest_name.hpp>
#include <membar/memory_order.hpp>
#include <membar/model/array.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>
#include <membar/thread_scope.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace membar::litmus_files::detail {

using namespace model;

/// Reads the operands after the mnemonic `word`, and appends the instruction to its thread.
class instruction_reader : private synchronization_reader {
 public:
  instruction_reader(litmus_names& in, int thread, const token& word)
      : synchronization_reader(in, thread, word), begin_(word) {}

  /// Reads from the '@' on that an instruction with a predicate begins with.
  [[nodiscard]] static instruction_reader with_predicate(litmus_names& in, int thread) {
    const token sign = in.take();
    const bool negated = in.accept("!");
    const token name = in.expect_word("a predicate");
    const int guard = in.find_register(thread, name.text);
    if (guard < 0) {
      const std::string nearest = nearest_name(name.text, at(in.test.threads, thread).register_names);
      fail(name, "nothing sets the predicate '" + std::string(name.text) + "' before" +
                     (nearest.empty() ? "" : "; the nearest register is '" + nearest + "'"));
    }
    instruction_reader result(in, thread, in.expect_word("an instruction after its predicate"));
    result.begin_ = sign;
    result.i_.guard = guard;
    result.i_.guard_negated = negated;
    return result;
  }

  /// The label that the instruction jumps to, if it does.
  std::optional<token> read() {
    litmus_test::thread& t = at(in_.test.threads, thread_);
    if (t.where.host && (head_ == "bar" || head_ == "barrier" || head_ == "mbarrier")) {
      fail(word_, "a host thread takes part in no barrier");
    }
    if (t.where.host && is_asynchronous()) {
      fail(word_, "a host thread starts no asynchronous copy and waits for no grid");
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
      fail(word_, "a thread has more than 1000 instructions");
    }
    return label_;
  }

 private:
  static constexpr meaning<comparison> branch_tests[] = {{"beq", comparison::equal},   {"bne", comparison::not_equal},
                                                         {"blt", comparison::less},    {"ble", comparison::less_equal},
                                                         {"bgt", comparison::greater}, {"bge", comparison::greater_equal}};

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

  // A jump with a predicate is a branch on it.
  void use_predicate() {
    if (i_.code == opcode::branch) {
      fail(word_, "'" + std::string(word_.text) + "' has a condition of its own, so that it takes no predicate");
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

  /// Strength, order and scope of a load or a store.
  void set_order(mnemonic m, bool is_store) {
    const std::string name(word_.text);
    if (m.read_only && head_ == "ld") {
      if (m.order || m.scope || m.is_volatile || m.mmio) {
        fail(word_, "'" + name + "': a load through the read-only path (nc) takes no order and no scope");
      }
      if (m.space && *m.space != state_space::global) {
        fail(word_, "'" + name + "': the read-only path (nc) leads to global memory");
      }
      i_.via = proxy::read_only;
      m.read_only = false;
    }
    no_others(word_, m);
    if (m.is_volatile) {
      if (m.order || m.scope || m.weak) {
        fail(word_, "'" + name + "': volatile takes no order and no scope");
      }
      i_.strong = true;
      i_.scope = thread_scope::system;
      return;
    }
    if (m.mmio) {
      if ((m.order && *m.order != memory_order::relaxed) || (m.scope && *m.scope != thread_scope::system) || m.weak) {
        fail(word_, "'" + name + "': mmio is relaxed and of system scope");
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
      fail(word_, std::string(is_store ? "a store" : "a load") + " is weak, relaxed or " + (is_store ? "release" : "acquire") +
                      ", not '" + name + "'");
    }
    if (!m.scope) {
      fail(word_, "'" + name + "' needs a scope: cta, cluster, gpu or sys");
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
      fail(word_, "'" + std::string(word_.text) + "': a load computes nothing");
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
    // ld r0, 1 and ld r0, r1 are moves, and so is ld.weak r0, 1, whatever its order; ld.weak r0, r1 loads from the address in
    // r1
    const bool bare = m.parts.size() == 1;
    if (in_.peek().what == token_kind::number ||
        (bare && in_.peek().what == token_kind::word && in_.names_register(thread_, in_.peek().text))) {
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
      fail(word_, "'" + std::string(word_.text) + "': a store computes nothing");
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

  /// The address of a vector access and its elements after the first.
  void read_vector(const mnemonic& m, std::size_t given) {
    if (given != static_cast<std::size_t>(m.elements)) {
      fail(word_, "'" + std::string(word_.text) + "' takes " + std::to_string(m.elements) + " registers");
    }
    const token address = in_.peek();
    read_address();
    if (i_.indirect) {
      fail(address, "the address of a vector access is a location here");
    }
    const std::string base = at(in_.test.location_names, i_.target);
    if (base.find('[') != std::string::npos) {
      fail(address, "a vector access starts at element 0 here");
    }
    for (int k = 1; k < m.elements; ++k) {
      instruction element = i_;
      element.element = static_cast<std::uint8_t>(k);
      element.target = in_.location_for(address, base + "[" + std::to_string(k) + "]");
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
      fail(word_, "'" + std::string(word_.text) + "' does not say what it does: add, exch, cas, ...");
    }
    if (m.weak || m.is_volatile || m.mmio || (m.order && *m.order == memory_order::seq_cst) || m.elements > 1) {
      fail(word_, "'" + std::string(word_.text) + "': an atomic is relaxed, acquire, release or acq_rel");
    }
    i_.strong = true;
    i_.what = *m.what;
    i_.order = m.order.value_or(memory_order::relaxed);
    i_.scope = m.scope.value_or(thread_scope::device);  // PTX: .gpu where none is given
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
    if (at(in_.test.threads, thread_).where.host) {
      fail(word_, "a host thread has no multimem address");
    }
    m.others.erase(m.others.begin());  // the kind
    const std::string name = "'" + std::string(word_.text) + "'";
    if (m.is_volatile || m.mmio || m.elements > 1 || (m.space && *m.space != state_space::global)) {
      fail(word_, name + ": a multimem operation here is of one value in global memory, and neither volatile nor mmio");
    }
    const bool computes = m.what == operation::add || m.what == operation::minimum || m.what == operation::maximum ||
                          m.what == operation::bit_and || m.what == operation::bit_or || m.what == operation::bit_xor;
    if (kind == "st" ? m.what.has_value() : !computes) {
      fail(word_, kind == "st" ? name + ": a multimem store computes nothing" : name + " takes add, min, max, and, or or xor");
    }
    i_.code = loads ? opcode::load : kind == "st" ? opcode::store : opcode::reduction;
    set_bytes(m);
    if (kind == "red") {
      no_others(word_, m);
      if (m.weak || (m.order && *m.order != memory_order::relaxed && *m.order != memory_order::release)) {
        fail(word_, name + ": a multimem reduction is relaxed or release");
      }
      i_.strong = true;
      i_.order = m.order.value_or(memory_order::relaxed);
      i_.scope = m.scope.value_or(thread_scope::device);  // as for red
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

  // One access of each object of the multimem address, as elements of one access. A load then computes its result.
  void access_each_object() {
    const int first = i_.target;
    std::vector<instruction> sums;
    for (int k = 1; first + k < count_of(in_.test.locations) && at(in_.test.locations, first + k).multimem == first; ++k) {
      instruction element = i_;
      element.element = static_cast<std::uint8_t>(k);
      element.target = first + k;
      if (i_.code == opcode::load && i_.destination >= 0) {
        element.destination = in_.register_for(word_, thread_, "multimem_" + std::to_string(k));
        instruction sum;
        sum.code = opcode::compute;
        sum.what = i_.what;
        sum.multimem = true;
        sum.guard = i_.guard;
        sum.guard_negated = i_.guard_negated;
        sum.element = element.element;  // it is no instruction of its own in the text
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
    const int first = in_.find_multimem(word.text);
    if (first < 0) {
      fail(word, "'" + std::string(word.text) + "' is no multimem address: declare it, as in 'm @ multimem aliases x, y'");
    }
    if (bracketed) {
      in_.expect("]", "after an address");
    }
    return first;
  }

  void read_jump() {
    if (lower(word_.text) != head_) {
      fail(word_, shown(word_) + " is no instruction");
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
    if (at(in_.test.threads, thread_).where.host) {
      fail(word_, "a host thread takes part in no shuffle");
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
      fail(word_, shown(word_) + " is no instruction");
    }
    for (const std::string& part : split(lower(word_.text))) {
      if (part != head_ && part != "lo" && type_bytes(part) == 0) {
        fail(word_, shown(word_) + " is no instruction");
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

  token begin_;  ///< where the instruction begins: its predicate, or its mnemonic
  std::optional<token> label_;
};

}  // namespace membar::litmus_files::detail
