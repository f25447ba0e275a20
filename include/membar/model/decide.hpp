// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Decides whether a final state is reachable, at compile time and at run time. Every verdict rests on it.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/condition.hpp>
#include <membar/model/enumerate.hpp>
#include <membar/model/error.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace membar::inline v0_2::model {

/// Visitor that looks for one execution whose final state satisfies the filter, and satisfies the condition (or, for `forall`,
/// violates it). The test must live as long as the finder.
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
  /// Per physical location: the write that gave its final value in the execution found, -1 where nothing asks for it.
  [[nodiscard]] constexpr const std::array<int, max_events>& last() const noexcept { return last_; }

 private:
  [[nodiscard]] constexpr truth excluded() const noexcept { return asked_ == truth::yes ? truth::no : truth::yes; }

  const test_view* test_;
  truth asked_;
  std::uint64_t named_;
  std::array<int, max_events> last_{};
  bool found_ = false;
};

/// Visitor that looks for a mixed-size data race: conflicting accesses that overlap in part and that causality leaves
/// unordered. Source: PTX ISA, "Mixed-size data races".
class race_finder final : public execution_visitor {
 public:
  [[nodiscard]] constexpr bool accept(const partial_execution& execution) override {
    const auto events = execution.events();
    const event_structure& facts = execution.facts();
    for (event_set m = facts.memory & ~facts.initial; m != 0; m = rest(m)) {
      const int x = first(m);
      for (event_set n = facts.overlap[x] & ~facts.initial; n != 0; n = rest(n)) {
        const int y = first(n);
        if (at(events, x).bytes == at(events, y).bytes) {
          continue;
        }
        if ((contains(facts.writes, x) || contains(facts.writes, y)) && !execution.choice().cause.holds(x, y) &&
            !execution.choice().cause.holds(y, x)) {
          race_ = true;
          return false;
        }
        joins_ = joins_ || (contains(facts.reads, y) && at(execution.choice().source, y) == x &&
                            at(events, y).bytes > at(events, x).bytes);
      }
    }
    return true;
  }

  [[nodiscard]] constexpr bool race() const noexcept { return race_; }
  [[nodiscard]] constexpr bool joins() const noexcept { return joins_; }

 private:
  bool race_ = false;
  bool joins_ = false;
};

/// Throws `error` for a program that no verdict can be given for: one with a mixed-size data race, or with a read that takes
/// its bytes from several writes.
template <class Rules = every_rule>
constexpr void require_defined(const program_view& program, Rules rules = {}, search_options options = {}) {
  int bytes = 0;
  bool mixed = false;
  for (const thread_view& t : program.threads) {
    for (const instruction& i : t.code) {
      if (accesses_memory(i.code)) {
        mixed = mixed || (bytes != 0 && bytes != i.bytes);
        bytes = i.bytes;
      }
    }
  }
  if (!mixed) {
    return;
  }
  race_finder visitor;
  options.waiting = waits::repeated_once;
  enumerator<Rules>(program, visitor, rules, options).run();
  if (visitor.race()) {
    throw error("mixed-size data race: the program's behaviour is undefined");
  }
  if (visitor.joins()) {
    throw error("a read is wider than the write it reads from: a value made of several writes is not decided");
  }
}

/// The verdict on a test.
struct decision {
  bool holds = false;      ///< the quantified condition
  bool reachable = false;  ///< a state that satisfies the condition; for `forall`: one that does not
  statistics counts{};
};

/// Decides a test: `exists` holds if some execution satisfies the condition, `~exists` if none does, `forall` if all do.
/// Throws `error` if the test exceeds a limit or has no defined behaviour, if the search takes more steps than the options
/// allow, or if the state was not found and a loop was cut.
template <class Rules = every_rule>
[[nodiscard]] constexpr decision decide(const test_view& test, Rules rules = {}, search_options options = {}) {
  require_defined(test.program, rules, options);
  state_finder visitor(test);
  decision result;
  result.counts = enumerator<Rules>(test.program, visitor, rules, options).run();
  result.reachable = visitor.found();
  if (Rules::complete && !result.reachable) {
    require_whole(result.counts, options);
  }
  result.holds = test.quantified == quantifier::exists ? result.reachable : !result.reachable;
  return result;
}

}  // namespace membar::inline v0_2::model
