// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Compile-time proofs. If a proof fails, the compiler's message shows an execution that contradicts it.
///
/// ```cpp
/// static_assert(model::require_forbidden<mp>());
/// // error: static assertion failed: membar: the model allows the condition: ...
/// // the_model_allows<{"P0 writes x=1, y=1; P1 reads y=1 of P0, x=0 initially"}>
/// ```
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/decide.hpp>
#include <membar/model/enumerate.hpp>
#include <membar/model/event_structure.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/races.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/test.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Text that is built at compile time and can be used as a template argument, so that compilers print the text.
struct witness_text {
  static constexpr int room = 400;
  char letters[room] = {};

  /// Appends `more` to the text. A text that does not fit is cut and ends in "...".
  constexpr void append(const char* more) noexcept {
    int end = 0;
    while (letters[end] != 0) {
      ++end;
    }
    for (; *more != 0 && end < room - 4; ++more) {
      letters[end++] = *more;
    }
    for (int dots = 0; *more != 0 && dots < 3; ++dots) {
      letters[room - 4 + dots] = '.';
    }
  }
  constexpr void append(std::int64_t number) noexcept {
    char digits[21] = {};
    int at_digit = 20;
    const bool negative = number < 0;
    std::uint64_t rest_of = negative ? 0 - static_cast<std::uint64_t>(number) : static_cast<std::uint64_t>(number);
    do {
      digits[--at_digit] = static_cast<char>('0' + rest_of % 10);
      rest_of /= 10;
    } while (rest_of != 0);
    if (negative) {
      append("-");
    }
    append(digits + at_digit);
  }
};

namespace detail {

/// Appends the name of location `index` of a test, as `named_test` names it.
constexpr void append_location(witness_text& out, int index) noexcept {
  if (index < location_letters) {
    const char name[] = {first_location_names[index], 0};
    out.append(name);
  } else {
    out.append("v");
    out.append(std::int64_t{index});
  }
}

/// A visitor that describes the first execution whose final state satisfies a test's condition.
class telling_visitor final : public execution_visitor {
 public:
  constexpr explicit telling_visitor(const test_view& test) : state_(test), named_(state_.observed_memory()) {}

  [[nodiscard]] constexpr bool viable(const partial_execution& execution) override { return state_.viable(execution); }
  [[nodiscard]] constexpr bool observes(int thread, int reg) const override { return state_.observes(thread, reg); }
  [[nodiscard]] constexpr std::uint64_t observed_memory() const override { return named_; }

  [[nodiscard]] constexpr bool accept(const partial_execution& execution) override {
    const bool more = state_.accept(execution);
    if (!more) {
      tell(execution);
    }
    return more;
  }

  [[nodiscard]] constexpr const witness_text& told() const noexcept { return told_; }

 private:
  constexpr void tell(const partial_execution& execution) {
    const std::span<const event> events = execution.events();
    int thread = -1;
    event_kind last = event_kind::barrier;
    for (int i = 0; i < count_of(events); ++i) {
      const event& e = at(events, i);
      if (e.thread < 0 || (e.kind != event_kind::read && e.kind != event_kind::write)) {
        continue;
      }
      if (e.thread != thread) {
        told_.append(thread < 0 ? "P" : "; P");
        told_.append(std::int64_t{e.thread});
        last = event_kind::barrier;
      }
      thread = e.thread;
      told_.append(e.kind == last ? ", " : e.kind == event_kind::read ? " reads " : " writes ");
      last = e.kind;
      append_location(told_, e.location);
      told_.append("=");
      told_.append(execution.value(i));
      if (e.kind == event_kind::read) {
        const int writer = at(events, at(execution.choice().source, i)).thread;
        told_.append(writer < 0 ? " initially" : " of P");
        if (writer >= 0) {
          told_.append(std::int64_t{writer});
        }
      }
    }
    bool ends = false;
    for (int l = 0; l < count_of(execution.program().locations); ++l) {
      const int physical = at(execution.program().locations, l).physical;
      if ((named_ & only(physical)) != 0 && at(state_.last(), physical) >= 0) {
        told_.append(ends ? ", " : "; in the end ");
        ends = true;
        append_location(told_, l);
        told_.append("=");
        told_.append(execution.value(at(state_.last(), physical)));
      }
    }
  }

  state_finder state_;
  std::uint64_t named_;
  witness_text told_{};
};

template <const auto& Test>
[[nodiscard]] consteval witness_text witness_of() {
  return Test.with_view([](const test_view& test) {
    telling_visitor visitor(test);
    enumerator<every_rule>(test.program, visitor, every_rule{}, search_options{}).run();
    return visitor.told();
  });
}

/// Describes the two accesses of a data race.
template <const auto& Test>
[[nodiscard]] consteval witness_text race_of() {
  return Test.with_view([](const test_view& test) {
    const data_race found = find_race(test.program);
    witness_text text;
    for (const data_race::access& a : found.accesses) {
      text.append(&a == &found.accesses[0] ? "P" : " and P");
      text.append(std::int64_t{a.thread});
      text.append("'s instruction ");
      text.append(std::int64_t{a.instruction} + 1);
    }
    return text;
  });
}

}  // namespace detail

/// The name that a compiler prints if `require_forbidden` fails: an execution that satisfies the condition.
template <witness_text Execution, bool Forbidden = false>
struct the_model_allows {
  static_assert(
      Forbidden,
      "membar: the model allows the condition: the argument of the_model_allows<> is an execution that satisfies it, and "
      "model::explain(model::named_test(test, \"name\")) prints it at run time");
  static constexpr bool reported = true;
};

/// The name that a compiler prints if `require_race_free` fails: the two accesses of a data race.
template <witness_text Accesses, bool RaceFree = false>
struct the_model_finds_a_race {
  static_assert(RaceFree,
                "membar: an execution has a data race: the argument of the_model_finds_a_race<> names the two accesses, and "
                "model::explain(model::named_test(test, \"name\")) prints them at run time");
  static constexpr bool reported = true;
};

/// Returns true if the model forbids the test's condition, as `forbidden(Test)` decides. Otherwise, the call causes a compile
/// error that shows an execution: what each thread writes, and what it reads from which thread. `Test` must be a `constexpr`
/// variable at namespace scope or a static member. g++ prints the execution as text. For compilers that print the characters as
/// numbers, the error names `explain` instead.
template <const auto& Test>
[[nodiscard]] consteval bool require_forbidden() {
  if constexpr (!forbidden(Test)) {
    return the_model_allows<detail::witness_of<Test>()>::reported;
  }
  return true;
}

/// Returns true if no execution has a data race, as `race_free(Test)` decides. Otherwise, the call causes a compile error that
/// names the two accesses of a race by their threads and instructions. The instructions of each thread are counted from 1.
template <const auto& Test>
[[nodiscard]] consteval bool require_race_free() {
  if constexpr (!race_free(Test)) {
    return the_model_finds_a_race<detail::race_of<Test>()>::reported;
  }
  return true;
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
