// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Is a final state reachable? The question behind every verdict, at compile time and at run time.
#pragma once

#include <membar/model/enumerate.hpp>
#include <membar/model/error.hpp>
#include <membar/model/program.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace membar::model {

/// A program and a condition on its final state.
struct test_view {
  program_view program{};
  std::span<const condition_node> condition{};
  quantifier quantified = quantifier::exists;
  std::span<const condition_node> filter{};  ///< executions that do not satisfy it are left out; empty: none are
};

/// What is known of a condition while some values are open.
enum class truth : std::uint8_t { no, yes, open };

/// The final values that a condition is evaluated in: registers as far as the enumeration knows them, and locations where
/// one of the last writes has been picked for each.
template <class Enumerator>
struct final_state {
  const Enumerator* execution = nullptr;
  const std::array<int, max_events>* last = nullptr;  ///< per physical location: the write picked, -1: none

  [[nodiscard]] constexpr bool known(const term& t) const noexcept {
    switch (t.kind) {
      case term::kind_t::constant:
        return true;
      case term::kind_t::register_value:
        return execution->known(t.thread, t.index);
      case term::kind_t::memory_value:
        return last != nullptr && picked(t) >= 0;
    }
    return false;
  }

  [[nodiscard]] constexpr std::int64_t value(const term& t) const noexcept {
    switch (t.kind) {
      case term::kind_t::constant:
        return t.value;
      case term::kind_t::register_value:
        return execution->register_value(t.thread, t.index);
      case term::kind_t::memory_value:
        return execution->value(picked(t));
    }
    return 0;
  }

 private:
  [[nodiscard]] constexpr int picked(const term& t) const noexcept {
    const int physical = execution->program().locations[static_cast<std::size_t>(t.index)].physical;
    return (*last)[static_cast<std::size_t>(physical)];
  }
};

/// Evaluates the condition `nodes` up to and including node `root`.
template <class State>
[[nodiscard]] constexpr truth evaluate(std::span<const condition_node> nodes, std::size_t root, const State& state) noexcept {
  const condition_node& n = nodes[root];
  const auto child = [&](int index) { return evaluate(nodes, static_cast<std::size_t>(index), state); };
  switch (n.kind) {
    case condition_node::kind_t::always:
      return truth::yes;
    case condition_node::kind_t::compare:
      if (!state.known(n.left) || !state.known(n.right)) {
        return truth::open;
      }
      return compare(n.test, state.value(n.left), state.value(n.right)) ? truth::yes : truth::no;
    case condition_node::kind_t::negation: {
      const truth inner = child(n.first);
      return inner == truth::open ? truth::open : inner == truth::yes ? truth::no : truth::yes;
    }
    case condition_node::kind_t::conjunction: {
      const truth left = child(n.first);
      if (left == truth::no) {
        return truth::no;
      }
      const truth right = child(n.second);
      return right == truth::no ? truth::no : left == truth::open ? truth::open : right;
    }
    case condition_node::kind_t::disjunction: {
      const truth left = child(n.first);
      if (left == truth::yes) {
        return truth::yes;
      }
      const truth right = child(n.second);
      return right == truth::yes ? truth::yes : left == truth::open ? truth::open : right;
    }
  }
  return truth::open;
}

/// Evaluates a whole condition; an empty one holds.
template <class State>
[[nodiscard]] constexpr truth evaluate(std::span<const condition_node> nodes, const State& state) noexcept {
  return nodes.empty() ? truth::yes : evaluate(nodes, nodes.size() - 1, state);
}

/// Calls `use(state)` for every choice of a last write at each physical location of `wanted`, each on its own, until it
/// returns false.
template <class Enumerator, class Use>
constexpr bool for_each_memory(const Enumerator& execution, std::uint64_t wanted, std::array<int, max_events>& last,
                               const Use& use) {
  if (wanted == 0) {
    return use(final_state<Enumerator>{&execution, &last});
  }
  const int physical = first(wanted);
  for (event_set w = execution.last_writes(physical); w != 0; w = rest(w)) {
    last[static_cast<std::size_t>(physical)] = first(w);
    if (!for_each_memory(execution, rest(wanted), last, use)) {
      return false;
    }
  }
  last[static_cast<std::size_t>(physical)] = -1;
  return true;
}

/// The physical locations that a condition names, as a set.
[[nodiscard]] constexpr std::uint64_t named_memory(std::span<const condition_node> nodes,
                                                   std::span<const location> locations) noexcept {
  std::uint64_t result = 0;
  for (const condition_node& n : nodes) {
    if (n.kind == condition_node::kind_t::compare) {
      for (const term* t : {&n.left, &n.right}) {
        if (t->kind == term::kind_t::memory_value) {
          result |= only(locations[static_cast<std::size_t>(t->index)].physical);
        }
      }
    }
  }
  return result;
}

/// Visitor that looks for one execution whose final state satisfies the filter and makes the condition `wanted`.
class seeker {
 public:
  constexpr seeker(const test_view& test, bool wanted) noexcept
      : test_(test),
        wanted_(wanted),
        named_(named_memory(test.condition, test.program.locations) | named_memory(test.filter, test.program.locations)) {}

  template <class Enumerator>
  [[nodiscard]] constexpr bool viable(const Enumerator& execution) const noexcept {
    const final_state<Enumerator> state{&execution, nullptr};
    return evaluate(test_.filter, state) != truth::no && evaluate(test_.condition, state) != (wanted_ ? truth::no : truth::yes);
  }

  template <class Enumerator>
  [[nodiscard]] constexpr bool accept(const Enumerator& execution) {
    std::array<int, max_events> last{};
    last.fill(-1);
    found_ = !for_each_memory(execution, named_, last, [&](const auto& state) {
      const bool hit =
          evaluate(test_.filter, state) == truth::yes && evaluate(test_.condition, state) == (wanted_ ? truth::yes : truth::no);
      return !hit;
    });
    return !found_;
  }

  [[nodiscard]] constexpr bool found() const noexcept { return found_; }

 private:
  test_view test_;
  bool wanted_;
  std::uint64_t named_;
  bool found_ = false;
};

/// Visitor that looks for a mixed-size data race: conflicting accesses that overlap in part and that causality leaves
/// unordered. Source: PTX ISA, "Mixed-size data races".
class race_seeker {
 public:
  template <class Enumerator>
  [[nodiscard]] constexpr bool viable(const Enumerator&) const noexcept {
    return true;
  }

  template <class Enumerator>
  [[nodiscard]] constexpr bool accept(const Enumerator& execution) {
    const auto events = execution.events();
    const frame& facts = execution.facts();
    for (event_set m = facts.memory & ~facts.initial; m != 0; m = rest(m)) {
      const int x = first(m);
      for (event_set n = facts.overlap[x] & ~facts.initial; n != 0; n = rest(n)) {
        const int y = first(n);
        if (events[static_cast<std::size_t>(x)].bytes == events[static_cast<std::size_t>(y)].bytes) {
          continue;
        }
        if ((contains(facts.writes, x) || contains(facts.writes, y)) && !execution.choice().cause.holds(x, y) &&
            !execution.choice().cause.holds(y, x)) {
          race_ = true;
          return false;
        }
        joins_ = joins_ || (contains(facts.reads, y) && execution.choice().source[static_cast<std::size_t>(y)] == x &&
                            events[static_cast<std::size_t>(y)].bytes > events[static_cast<std::size_t>(x)].bytes);
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
constexpr void require_defined(const program_view& program, Rules rules = {}) {
  int bytes = 0;
  bool mixed = false;
  for (const thread_view& t : program.threads) {
    for (const instruction& i : t.code) {
      if (i.code == opcode::load || i.code == opcode::store || i.code == opcode::atomic || i.code == opcode::reduction) {
        mixed = mixed || (bytes != 0 && bytes != i.bytes);
        bytes = i.bytes;
      }
    }
  }
  if (!mixed) {
    return;
  }
  race_seeker visitor;
  enumerator<race_seeker, Rules>(program, visitor, rules).run();
  if (visitor.race()) {
    throw error("mixed-size data race: the program's behaviour is undefined");
  }
  if (visitor.joins()) {
    throw error("a read is wider than the write it reads from: a value made of several writes is not decided");
  }
}

/// What was found out about a test.
struct decision {
  bool holds = false;      ///< the quantified condition
  bool reachable = false;  ///< a state that satisfies the condition; for `forall`: one that does not
  statistics counts{};
};

/// Decides a test: `exists` holds if some execution satisfies the condition, `~exists` if none does, `forall` if all do.
/// Throws `error` if the test exceeds a limit or has no defined behaviour.
template <class Rules = every_rule>
[[nodiscard]] constexpr decision decide(const test_view& test, Rules rules = {}) {
  require_defined(test.program, rules);
  seeker visitor(test, test.quantified != quantifier::forall);
  decision result;
  result.counts = enumerator<seeker, Rules>(test.program, visitor, rules).run();
  result.reachable = visitor.found();
  result.holds = test.quantified == quantifier::exists ? result.reachable : !result.reachable;
  return result;
}

}  // namespace membar::model
