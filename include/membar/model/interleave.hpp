// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Computes every final state that some interleaving of a test's threads produces, that is, the final states on a sequentially
/// consistent machine.
///
/// An outcome that the memory model allows but no interleaving produces is weak: observing it shows that the hardware reorders
/// accesses.
#pragma once

#include <membar/model/error.hpp>
#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Explores all interleavings of a test and visits each reachable state once.
class interleaving {
 public:
  explicit interleaving(const litmus_test& test) : test_(&test) {}

  /// Returns the values that the test observes at the end of each interleaving. Fences have no effect here. Throws `error` for
  /// a test with barriers, and for a test with more than a million states.
  [[nodiscard]] std::set<std::vector<std::int64_t>> outcomes() {
    state first;
    for (const litmus_test::thread& t : test_->threads) {
      first.at.push_back(0);
      first.registers.push_back(t.registers);
    }
    for (const location& l : test_->locations) {
      first.memory.push_back(l.initial);
    }
    std::vector<state> open = {first};
    seen_.insert(first);
    while (!open.empty()) {
      const state here = std::move(open.back());
      open.pop_back();
      bool ended = true;
      for (std::size_t t = 0; t < test_->threads.size(); ++t) {
        if (static_cast<std::size_t>(here.at[t]) < test_->threads[t].code.size()) {
          ended = false;
          state next = here;
          step(next, t);
          if (seen_.insert(next).second) {
            open.push_back(std::move(next));
          }
        }
      }
      if (ended) {
        ends_.insert(observed(here));
      }
      constexpr std::size_t most_states = 1'000'000;
      if (seen_.size() > most_states) {
        throw error("the interleavings of the test have more than a million states");
      }
    }
    return ends_;
  }

 private:
  struct state {
    std::vector<int> at;  // the next instruction of each thread
    std::vector<std::vector<std::int64_t>> registers;
    std::vector<std::int64_t> memory;  // the value of each physical location

    friend auto operator<=>(const state&, const state&) = default;
  };

  void step(state& s, std::size_t t) const {
    const instruction& i = at(test_->threads[t].code, s.at[t]);
    std::vector<std::int64_t>& registers = s.registers[t];
    const auto value = [&](const operand& o) { return o.is_register ? at(registers, o.index) : o.value; };
    const auto set = [&](std::int64_t result) {
      if (i.destination >= 0) {
        at(registers, i.destination) = result;
      }
    };
    ++s.at[t];
    if (i.guard >= 0 && (at(registers, i.guard) != 0) == i.guard_negated) {
      return;
    }
    switch (i.code) {
      case opcode::load:
        set(memory(s, registers, i));
        break;
      case opcode::store:
        memory(s, registers, i) = value(i.a);
        break;
      case opcode::atomic:
      case opcode::reduction: {
        std::int64_t& cell = memory(s, registers, i);
        const std::int64_t old = cell;
        if (i.what != operation::compare_exchange) {
          cell = apply(i.what, old, value(i.a));
        } else if (old == value(i.a)) {
          cell = value(i.b);
        }
        set(old);
        break;
      }
      case opcode::compute:
        set(apply(i.what, value(i.a), value(i.b)));
        break;
      case opcode::branch:
        s.at[t] = compare(i.test, value(i.a), value(i.b)) ? i.target : s.at[t];
        break;
      case opcode::jump:
        s.at[t] = i.target;
        break;
      case opcode::fence:
      case opcode::proxy_fence:
        break;
      case opcode::shuffle:
      case opcode::barrier:
      case opcode::mbarrier_init:
      case opcode::mbarrier_arrive:
      case opcode::mbarrier_wait:
      case opcode::async_copy:
      case opcode::async_arrive:
      case opcode::async_commit:
      case opcode::async_wait:
      case opcode::grid_wait:
      case opcode::grid_launch:
        throw error("interleavings cannot be enumerated for a test with barriers, shuffles or asynchronous copies");
    }
  }

  [[nodiscard]] std::int64_t& memory(state& s, const std::vector<std::int64_t>& registers, const instruction& i) const {
    std::size_t index = static_cast<std::size_t>(i.target);
    if (i.indirect) {
      const std::int64_t address = registers[index];
      for (index = 0; index < test_->locations.size() && address != address_value(static_cast<int>(index)); ++index) {
      }
      if (index == test_->locations.size()) {
        throw error("an interleaving accesses an address that does not belong to a location");
      }
    }
    return at(s.memory, test_->locations[index].physical);
  }

  [[nodiscard]] std::vector<std::int64_t> observed(const state& s) const {
    std::vector<std::int64_t> values;
    for (const observable& o : test_->observed) {
      const auto index = static_cast<std::size_t>(o.what.index);
      values.push_back(o.what.kind == term::kind_t::memory_value ? at(s.memory, test_->locations[index].physical)
                                                                 : at(s.registers, o.what.thread)[index]);
    }
    return values;
  }

  const litmus_test* test_;
  std::set<state> seen_;
  std::set<std::vector<std::int64_t>> ends_;
};

/// Returns the values that `test` observes at the end of each interleaving of its threads.
[[nodiscard]] inline std::set<std::vector<std::int64_t>> interleaved_outcomes(const litmus_test& test) {
  return interleaving(test).outcomes();
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
