// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Data races: two accesses to the same memory, at least one of them a write, that are not morally strong and that causality
/// does not order in some execution. Source: PTX ISA, "Conflict and data-races".
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/enumerate.hpp>
#include <membar/model/error.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>

#include <algorithm>
#include <array>
#include <cstdint>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Two accesses that race, each identified by its thread and its instruction's number in that thread, and data that identifies
/// an execution where they race.
struct data_race {
  struct access {
    int thread = -1;
    int instruction = -1;
  };
  /// A strong read that precedes one of the accesses in its thread, and the value that it reads there.
  struct earlier_read {
    access at{};
    std::int64_t value = 0;
  };
  static constexpr int most_reads = 4;
  std::array<access, 2> accesses{};
  std::array<earlier_read, most_reads> reads{};
  int read_count = 0;

  /// Returns whether there is a race.
  [[nodiscard]] constexpr explicit operator bool() const noexcept { return accesses[0].thread >= 0; }
};

/// A visitor that searches for a data race.
class data_race_finder final : public execution_visitor {
 public:
  [[nodiscard]] constexpr bool observes(int /*thread*/, int /*reg*/) const override { return false; }
  [[nodiscard]] constexpr std::uint64_t observed_memory() const override { return 0; }

  [[nodiscard]] constexpr bool accept(const partial_execution& execution) override {
    const event_structure& facts = execution.facts();
    const relation& cause = execution.choice().cause;
    for (event_set m = facts.memory & ~facts.initial; m != 0; m = rest(m)) {
      const int x = first(m);
      const event_set conflicting = contains(facts.writes, x) ? facts.memory : facts.writes;
      const event_set others = rest(m) & facts.overlap[x] & conflicting & ~facts.morally_strong[x] & ~cause[x];
      for (event_set n = others; n != 0; n = rest(n)) {
        if (!cause.holds(first(n), x)) {
          const event& one = at(execution.events(), x);
          const event& other = at(execution.events(), first(n));
          found_.accesses = {{{one.thread, one.instruction}, {other.thread, other.instruction}}};
          note_reads(execution, x);
          note_reads(execution, first(n));
          return false;
        }
      }
    }
    return true;
  }

  [[nodiscard]] constexpr const data_race& found() const noexcept { return found_; }

 private:
  constexpr void note_reads(const partial_execution& execution, int access) {
    for (event_set r = execution.facts().reads; r != 0; r = rest(r)) {
      const event& e = at(execution.events(), first(r));
      if (e.strong && execution.facts().po.holds(first(r), access) && execution.known(first(r)) &&
          found_.read_count < data_race::most_reads) {
        at(found_.reads, found_.read_count++) = {{e.thread, e.instruction}, execution.value(first(r))};
      }
    }
  }

  data_race found_;
};

/// Returns a data race in some execution of the program, if there is one. Throws `error` if the program exceeds a limit, if the
/// search takes more steps than the options allow, or if it found no race and a loop was cut.
template <class Rules = every_rule>
[[nodiscard]] constexpr data_race find_race(const program_view& program, Rules rules = {}, search_options options = {}) {
  data_race_finder visitor;
  options.waiting = waits::repeated_once;
  const statistics counts = enumerator<Rules>(program, visitor, rules, options).run();
  if (!visitor.found()) {
    require_whole(counts, options);
  }
  return visitor.found();
}

/// The result of a short search for data races.
struct race_answer {
  data_race found{};
  bool searched = true;  ///< false if the search was stopped or a loop was cut before a race was found
};

/// Searches for a data race for about as long as a small test takes, and for at most `limit` steps; 0 means no separate limit.
template <class Rules = every_rule>
[[nodiscard]] race_answer look_for_race(const program_view& program, std::uint64_t limit = 0, Rules rules = {}) {
  constexpr std::uint64_t few = 200'000;
  try {
    return {find_race(program, rules, limit == 0 ? few : std::min(limit, few))};
  } catch (const error&) {
    return {{}, false};
  }
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
