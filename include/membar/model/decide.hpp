// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Decides whether a final state is reachable, at compile time and at run time. Every verdict is based on this decision.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/condition.hpp>
#include <membar/model/enumerate.hpp>
#include <membar/model/error.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/morally_strong.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

/// A visitor that searches for an execution whose final state satisfies the filter and satisfies (for `forall`: violates) the
/// condition. The test must outlive the finder.
class state_finder final : public execution_visitor {
 public:
  constexpr explicit state_finder(const test_view& test) noexcept
      : test_(&test),
        asked_(test.quantified == quantifier::forall ? truth::no : truth::yes),
        named_(named_memory(test.condition, test.program.locations) | named_memory(test.filter, test.program.locations)) {
    last_.fill(-1);
  }

  [[nodiscard]] constexpr bool viable(const partial_execution& execution) override {
    const final_state state{&execution, nullptr};
    return evaluate(test_->filter, state) != truth::no && evaluate(test_->condition, state) != excluded();
  }

  [[nodiscard]] constexpr bool observes(int thread, int reg) const override {
    return names(test_->condition, thread, reg) || names(test_->filter, thread, reg);
  }

  [[nodiscard]] constexpr std::uint64_t observed_memory() const override { return named_; }

  [[nodiscard]] constexpr bool accept(const partial_execution& execution) override {
    found_ = !for_each_memory(execution, named_, last_, [&](const final_state& state) {
      return evaluate(test_->filter, state) != truth::yes || evaluate(test_->condition, state) != asked_;
    });
    return !found_;
  }

  [[nodiscard]] constexpr bool found() const noexcept { return found_; }
  /// Per physical location: the write that gives its final value in the execution that was found, or -1 if the value is not
  /// needed.
  [[nodiscard]] constexpr const std::array<int, max_events>& last() const noexcept { return last_; }

 private:
  [[nodiscard]] constexpr truth excluded() const noexcept { return asked_ == truth::yes ? truth::no : truth::yes; }

  const test_view* test_;
  truth asked_;
  std::uint64_t named_;
  std::array<int, max_events> last_{};
  bool found_ = false;
};

/// A visitor that searches for a mixed-size data race: conflicting accesses that overlap only partially and that causality does
/// not order. Source: PTX ISA, "Limitations on mixed-size data-races".
class race_finder final : public execution_visitor {
 public:
  [[nodiscard]] constexpr bool accept(const partial_execution& execution) override {
    const auto events = execution.events();
    const event_structure& facts = execution.facts();
    for (event_set m = facts.memory & ~facts.initial; m != 0; m = rest(m)) {
      const int x = first(m);
      if (strays(execution.program(), at(events, x))) {
        strays_ = true;
        return false;
      }
      for (event_set n = facts.overlap[x] & ~facts.initial; n != 0; n = rest(n)) {
        const int y = first(n);
        if (at(events, x).bytes == at(events, y).bytes) {
          continue;
        }
        if ((contains(facts.writes, x) || contains(facts.writes, y)) && !execution.choice().cause.holds(x, y) &&
            !execution.choice().cause.holds(y, x)) {
          if (!serial_atomics(every_rule{}, execution.program(), at(events, x), at(events, y))) {
            race_ = true;
            return false;
          }
          atomics_ = true;
        }
        joins_ = joins_ || (contains(facts.reads, y) && at(execution.choice().source, y) == x && joins(execution, x, y));
      }
    }
    return true;
  }

  [[nodiscard]] constexpr bool race() const noexcept { return race_; }
  /// Returns whether there is a race between atomics of different sizes whose scopes include each other.
  [[nodiscard]] constexpr bool atomics() const noexcept { return atomics_; }
  [[nodiscard]] constexpr bool joins() const noexcept { return joins_; }
  /// Returns whether an access is outside the state space that it names, or is made from outside the cluster that the memory
  /// belongs to.
  [[nodiscard]] constexpr bool strays() const noexcept { return strays_; }

 private:
  [[nodiscard]] static constexpr bool strays(const program_view& program, const event& e) noexcept {
    const int owner = at(program.locations, e.location).owner;
    const state_space space = e.space;
    if (owner < 0) {
      return space == state_space::shared || space == state_space::shared_cluster;
    }
    const place& here = program.threads[e.thread].where;
    const place& there = program.threads[owner].where;
    return space == state_space::global || !same_cluster(here, there) ||
           (space == state_space::shared && !same_block(here, there));
  }

  // Returns whether a read is wider than the store that wrote its low bytes. An atomic leaves the other bytes unchanged.
  [[nodiscard]] static constexpr bool joins(const partial_execution& execution, int write, int read) noexcept {
    const auto events = execution.events();
    for (int n = 0; n < max_events && at(events, write).thread >= 0 && at(events, write).bytes < at(events, read).bytes; ++n) {
      if (at(events, write).partner < 0) {
        return true;
      }
      write = at(execution.choice().source, at(events, write).partner);
    }
    return false;
  }

  bool race_ = false;
  bool atomics_ = false;
  bool joins_ = false;
  bool strays_ = false;
};

/// The part of the model that applies to a program.
enum class defined : std::uint8_t {
  by_the_axioms,
  by_atomicity_alone  ///< atomics of different sizes race: PTX guarantees only that they are performed one after the other
};

/// Throws `error` for a program that has no verdict: a program with a mixed-size data race that is not between atomics, or a
/// program with a read that takes its bytes from several stores.
template <class Rules = every_rule>
constexpr defined require_defined(const program_view& program, Rules rules = {}, search_options options = {}) {
  int bytes = 0;
  bool mixed = false;
  bool shared = false;
  for (const location& l : program.locations) {
    shared = shared || l.owner >= 0;
  }
  for (const thread_view& t : program.threads) {
    for (const instruction& i : t.code) {
      if (accesses_memory(i.code) || i.code == opcode::async_copy) {
        mixed = mixed || (bytes != 0 && bytes != i.bytes);
        bytes = i.bytes;
      }
    }
  }
  if (!mixed && !shared) {
    return defined::by_the_axioms;
  }
  race_finder visitor;
  options.waiting = waits::repeated_once;
  enumerator<Rules>(program, visitor, rules, options).run();
  if (visitor.strays()) {
    throw error(
        "undefined behaviour: an access reaches the shared memory of another cluster, or a state space other than the one it "
        "names");
  }
  if (visitor.race()) {
    throw error("mixed-size data race: the program's behaviour is undefined");
  }
  if (visitor.joins()) {
    throw error("a read is wider than the write it reads from: the model does not cover reads that combine several writes");
  }
  return visitor.atomics() ? defined::by_atomicity_alone : defined::by_the_axioms;
}

/// The rules that PTX guarantees for every program, with or without a mixed-size data race: the effects of instructions, and
/// the serial execution of atomics.
[[nodiscard]] constexpr every_rule_but atomicity_alone() noexcept {
  every_rule_but rules;
  for (const rule one : {rule::axiom_causality_reads_from, rule::axiom_causality_from_reads, rule::cause_orders_writes,
                         rule::morally_strong_writes_are_ordered, rule::axiom_fence_sc, rule::fence_sc_synchronizes,
                         rule::axiom_atomicity, rule::axiom_sc_per_location}) {
    rules.drop(one);
  }
  return rules;
}

/// The error for a program whose mixed-size data race makes the answer undefined.
[[nodiscard]] inline error left_open() {
  return error(
      "mixed-size data race between atomics: PTX states that they are performed one after the other, but does not define the "
      "result");
}

/// The verdict on a test.
struct decision {
  bool holds = false;      ///< whether the quantified condition holds
  bool reachable = false;  ///< whether a state that satisfies the condition (for `forall`: violates it) is reachable
  statistics counts{};
};

/// Decides a test. `exists` holds if some execution satisfies the condition, `~exists` if no execution does, and `forall` if
/// all executions do. If atomics of different sizes race, a state that the axioms forbid counts as forbidden only if atomicity
/// forbids it. Throws `error` if the test exceeds a limit or has no defined behaviour, if the search takes more steps than the
/// options allow, or if the state was not found and a loop was cut.
template <class Rules = every_rule>
[[nodiscard]] constexpr decision decide(const test_view& test, Rules rules = {}, search_options options = {}) {
  const defined by = require_defined(test.program, rules, options);
  options.every_execution = false;
  state_finder visitor(test);
  decision result;
  result.counts = enumerator<Rules>(test.program, visitor, rules, options).run();
  result.reachable = visitor.found();
  if (Rules::complete && !result.reachable) {
    require_whole(result.counts, options);
    if (by == defined::by_atomicity_alone) {
      state_finder other(test);
      enumerator<every_rule_but>(test.program, other, atomicity_alone(), options).run();
      if (other.found()) {
        throw left_open();
      }
    }
  }
  result.holds = test.quantified == quantifier::exists ? result.reachable : !result.reachable;
  return result;
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
