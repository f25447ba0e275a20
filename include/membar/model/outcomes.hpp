// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Computes every final state that the model allows for a litmus test.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/condition.hpp>
#include <membar/model/decide.hpp>
#include <membar/model/enumerate.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>
#include <membar/model/relation.hpp>
#include <membar/model/rules.hpp>
#include <membar/model/search_options.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace model {

/// A visitor that collects the final values that a test observes, over all executions. The collector must not outlive the test.
class outcome_collector final : public execution_visitor {
 public:
  /// Throws `limit_reached` if the states would need more than `memory` bytes; 0 means no limit.
  explicit outcome_collector(const litmus_test& test, std::uint64_t memory = 0)
      : test_(&test), named_(named_memory(test.filter, test.locations)), memory_(memory) {
    for (const observable& o : test.observed) {
      if (o.what.kind == term::kind_t::memory_value) {
        named_ |= only(at(test.locations, o.what.index).physical);
      }
    }
  }

  [[nodiscard]] bool viable(const partial_execution& execution) override {
    return evaluate(test_->filter, final_state{&execution, nullptr}) != truth::no;
  }

  [[nodiscard]] bool observes(int thread, int reg) const override {
    const auto is_this = [&](const observable& o) {
      return o.what.kind == term::kind_t::register_value && o.what.thread == thread && o.what.index == reg;
    };
    return std::any_of(test_->observed.begin(), test_->observed.end(), is_this) || names(test_->filter, thread, reg);
  }

  [[nodiscard]] std::uint64_t observed_memory() const override { return named_; }

  [[nodiscard]] bool accept(const partial_execution& execution) override {
    std::array<int, max_events> last{};
    last.fill(-1);
    return for_each_memory(execution, named_, last, [&](const final_state& state) {
      if (evaluate(test_->filter, state) == truth::yes) {
        std::vector<std::int64_t> values;
        for (const observable& o : test_->observed) {
          values.push_back(state.value(o.what));
        }
        found_.insert(std::move(values));
        // the size of a node and of the memory that it points to
        const std::uint64_t bytes = 4 * sizeof(values) + sizeof(std::int64_t) * test_->observed.size();
        if (memory_ != 0 && found_.size() > memory_ / bytes) {
          throw limit_reached("because its states need more than " + std::to_string(memory_ >> 20U) + " MiB");
        }
      }
      return true;
    });
  }

  /// Returns the values of each final state, in the order of the test's observations.
  [[nodiscard]] const std::set<std::vector<std::int64_t>>& found() const noexcept { return found_; }

 private:
  const litmus_test* test_;
  std::uint64_t named_;
  std::uint64_t memory_;
  std::set<std::vector<std::int64_t>> found_;
};

/// Returns the final states of `test`, sorted as byte strings. A state is a text such as "P0:r0=1 P1:r1=0 x=1", with the values
/// that the test's condition and its `locations` name, in that order. Throws `error` if the test exceeds a limit or has no
/// defined behaviour, if the search takes more steps than the options allow, or if a loop was cut. `counts`, if given, receives
/// the statistics of the search.
template <class Rules = every_rule>
[[nodiscard]] std::vector<std::string> outcomes(const litmus_test& test, search_options options = {},
                                                statistics* counts = nullptr, Rules rules = {}) {
  outcome_collector visitor(test, options.memory);
  const test_view view = test.view();
  const defined by = require_defined(view.program, rules, options);
  options.every_execution = false;
  const statistics found = enumerator(view.program, visitor, rules, options).run();
  require_whole(found, options);
  if (by == defined::by_atomicity_alone) {
    outcome_collector other(test);
    enumerator<every_rule_but>(view.program, other, atomicity_alone(), options).run();
    if (other.found() != visitor.found()) {
      throw left_open();
    }
  }
  if (counts != nullptr) {
    *counts = found;
  }
  std::vector<std::string> lines;
  for (const std::vector<std::int64_t>& values : visitor.found()) {
    std::string line;
    for (std::size_t i = 0; i < values.size(); ++i) {
      line += (i == 0 ? "" : " ") + test.observed[i].name + "=" + value_text(test, values[i]);
    }
    lines.push_back(std::move(line));
  }
  std::sort(lines.begin(), lines.end());
  return lines;
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
