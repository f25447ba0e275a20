// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads what follows the rows of a litmus file: the quantified condition, `filter` and `locations`.
#pragma once

#include <litmus/litmus_mnemonic.hpp>
#include <litmus/litmus_names.hpp>
#include <litmus/litmus_tokens.hpp>
#include <litmus/nearest_name.hpp>
#include <membar/model/array.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace membar::litmus_files::detail {

using namespace model;

class condition_reader {
 public:
  explicit condition_reader(litmus_names& in) : in_(in) {}

  /// Whether the rows of instructions end here.
  [[nodiscard]] static bool begins(litmus_names& in) {
    return in.peek().what == token_kind::end || in.at_symbol("~") || in.at_symbol("!") || in.at_word("exists") ||
           in.at_word("forall") || in.at_word("not") || in.at_word("filter") || in.at_word("locations");
  }

  /// Reads to the end of the file.
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
        read_disjunction(in_.test.filter, 0);
        in_.test.filter_text = in_.written_since(begin);
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
        in_.test.quantified = quantifier::not_exists;
      } else if (in_.at_word("exists")) {
        in_.take();
        in_.test.quantified = quantifier::exists;
      } else if (in_.at_word("forall")) {
        in_.take();
        in_.test.quantified = quantifier::forall;
      } else {
        fail(in_.peek(), "expected exists, ~exists or forall, found " + shown(in_.peek()));
      }
      const std::size_t begin = in_.offset();
      in_.test.observed.clear();
      read_disjunction(in_.test.condition, 0);
      if (in_.test.condition.size() > 10000) {
        fail(in_.peek(), "this condition has more than 10000 parts");
      }
      in_.test.condition_text = in_.written_since(begin);
      in_.test.has_condition = true;
      ended = true;
      in_.accept(";");
    }
  }

 private:
  void read_locations() {
    in_.expect("[", "after 'locations'");
    names_count_ = !in_.test.has_condition;
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
      fail(in_.peek(), "this condition is nested too deeply");
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
    in_.refuse_multimem(word, name);
    t.index = in_.find_location(name);
    if (t.index < 0) {
      fail(word, "'" + name + "' is no location of this test" + meant(name));
    }
    if (at(in_.test.locations, t.index).arrivals != 0) {
      fail(word, "'" + name + "' is an mbarrier and has no value");
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

  // A register, or shared memory of the thread's block.
  term register_term(const token& word, int number) {
    const int thread = in_.thread_index(number);
    if (thread < 0) {
      fail(word, "there is no thread P" + std::to_string(number));
    }
    const token reg = in_.expect_word("a register");
    term t;
    t.kind = term::kind_t::register_value;
    t.thread = thread;
    t.index = in_.find_register(thread, reg.text);
    if (t.index < 0) {
      const std::string name = in_.location_name(reg);
      if (const int shared = in_.find_location_of(thread, name); shared >= 0) {
        t.kind = term::kind_t::memory_value;
        t.thread = 0;
        t.index = shared;
        observe("P" + std::to_string(number) + ":" + name, t);
        return t;
      }
      const std::string nearest = nearest_name(reg.text, at(in_.test.threads, thread).register_names);
      fail(reg, "nothing in P" + std::to_string(number) + " names the register '" + std::string(reg.text) + "'" +
                    (nearest.empty() ? "" : "; the nearest is '" + nearest + "'"));
    }
    observe("P" + std::to_string(number) + ":" + std::string(reg.text), t);
    return t;
  }

  // What the name of no location may have been meant to be.
  [[nodiscard]] std::string meant(const std::string& name) const {
    for (int t = 0; t < count_of(in_.test.threads); ++t) {
      if (in_.find_location_of(t, name) >= 0) {
        return ", but shared memory of several blocks: name one with a thread, as in 'P" +
               std::to_string(at(in_.test.threads, t).number) + ":" + name + "'";
      }
    }
    for (int t = 0; t < count_of(in_.test.threads); ++t) {
      if (in_.known_register(t, name)) {
        return "; a register is named with its thread, as in 'P" + std::to_string(at(in_.test.threads, t).number) + ":" + name +
               "'";
      }
    }
    const std::string nearest = nearest_name(name, in_.test.location_names);
    return nearest.empty() ? "" : "; the nearest is '" + nearest + "'";
  }

  void observe(const std::string& name, const term& t) {
    if (!names_count_) {
      return;
    }
    for (const observable& o : in_.test.observed) {
      if (o.name == name) {
        return;
      }
    }
    in_.test.observed.push_back({name, t});
  }

  litmus_names& in_;
  bool names_count_ = true;  ///< what is named is observed
};

}  // namespace membar::litmus_files::detail
