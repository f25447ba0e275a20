// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Conditions on the final state of an execution, and their evaluation while some values are unknown.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>

#include <array>
#include <cstdint>
#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

/// The truth of a condition, which is `open` while it depends on unknown values.
enum class truth : std::uint8_t { no, yes, open };

/// The final values that are used to evaluate a condition: the registers whose values the enumeration has determined, and the
/// locations for which one of the possible last writes has been chosen.
struct final_state {
  const partial_execution* execution = nullptr;
  const std::array<int, max_events>* last = nullptr;  ///< per physical location: the chosen write, or -1

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

  [[nodiscard]] constexpr std::int64_t value(const term& t) const {
    switch (t.kind) {
      case term::kind_t::constant:
        return t.value;
      case term::kind_t::register_value:
        return execution->register_value(t.thread, t.index);
      case term::kind_t::memory_value:
        return execution->memory_after(picked(t));
    }
    return 0;
  }

 private:
  [[nodiscard]] constexpr int picked(const term& t) const noexcept {
    const int physical = at(execution->program().locations, t.index).physical;
    return at(*last, physical);
  }
};

/// Evaluates node `root` of a condition.
template <class State>
[[nodiscard]] constexpr truth evaluate(std::span<const condition_node> nodes, int root, const State& state) {
  const condition_node& n = at(nodes, root);
  const auto child = [&](int index) { return evaluate(nodes, index, state); };
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

/// Evaluates a whole condition. An empty condition holds.
template <class State>
[[nodiscard]] constexpr truth evaluate(std::span<const condition_node> nodes, const State& state) {
  return nodes.empty() ? truth::yes : evaluate(nodes, count_of(nodes) - 1, state);
}

/// Calls `use(state)` for every combination of a last write at each physical location of `named`, until `use` returns false. In
/// that case, `last` contains the combination; otherwise, `last` is restored.
template <class Use>
constexpr bool for_each_memory(const partial_execution& execution, std::uint64_t named, std::array<int, max_events>& last,
                               const Use& use) {
  if (named == 0) {
    return use(final_state{&execution, &last});
  }
  const int physical = first(named);
  for (event_set w = execution.last_writes(physical); w != 0; w = rest(w)) {
    at(last, physical) = first(w);
    if (!for_each_memory(execution, rest(named), last, use)) {
      return false;
    }
  }
  at(last, physical) = -1;
  return true;
}

/// Returns whether a condition names a register.
[[nodiscard]] constexpr bool names(std::span<const condition_node> nodes, int thread, int reg) noexcept {
  for (const condition_node& n : nodes) {
    for (const term* t : {&n.left, &n.right}) {
      if (n.kind == condition_node::kind_t::compare && t->kind == term::kind_t::register_value && t->thread == thread &&
          t->index == reg) {
        return true;
      }
    }
  }
  return false;
}

/// Returns the physical locations that a condition names, as a set.
[[nodiscard]] constexpr std::uint64_t named_memory(std::span<const condition_node> nodes,
                                                   std::span<const location> locations) noexcept {
  std::uint64_t result = 0;
  for (const condition_node& n : nodes) {
    if (n.kind == condition_node::kind_t::compare) {
      for (const term* t : {&n.left, &n.right}) {
        if (t->kind == term::kind_t::memory_value) {
          result |= only(at(locations, t->index).physical);
        }
      }
    }
  }
  return result;
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
