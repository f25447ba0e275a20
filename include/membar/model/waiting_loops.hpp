// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines which loops only wait, insofar as the instructions show this.
///
/// A backward jump at instruction j to instruction i only waits on a path if
///  1. no instruction outside i..j jumps to one of i+1..j,
///  2. no register that an instruction of i..j sets is read after i, or at the thread's end, before it is set again,
///  3. the instructions between i and j that the path ran are branches, register arithmetic, loads, fences, mbarrier tests that
///     found their phase incomplete, and read-modify-writes that left the value as it was, in memory whose accesses are all
///     morally strong with each other.
/// In that case, the path without these instructions has an execution with the same final state (docs/model.md has the proof),
/// so such a jump need not be followed. This file checks 1 and 2 and bounds the values of a location; thread_paths.hpp checks
/// 3.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/morally_strong.hpp>
#include <membar/model/program.hpp>
#include <membar/model/rules.hpp>

#include <cstdint>
#include <optional>
#include <vector>

namespace membar {
inline namespace v0_3 {
namespace model {

/// A set of one thread's registers.
using register_set = std::uint64_t;
static_assert(max_registers <= 64);

/// Properties of a program's loops that follow from its instructions.
class waiting_loops {
 public:
  constexpr explicit waiting_loops(const program_view& program) : program_(program) {}

  /// Returns whether the jump from instruction `back` to `head` satisfies 1 and 2 above. `head` must not be after `back`.
  [[nodiscard]] constexpr bool repeats_itself(int thread, int back, int head) const {
    const std::span<const instruction> code = program_.threads[thread].code;
    register_set set = 0;
    for (int k = 0; k < count_of(code); ++k) {
      const instruction& i = at(code, k);
      const bool inside = head <= k && k <= back;
      if (!inside && jumps(i) && head < i.target && i.target <= back) {
        return false;
      }
      set |= inside ? written(i) : 0;
    }
    return (set & live_at(code, head)) == 0;
  }

  /// Returns whether all accesses to the memory are morally strong with each other, or are performed by a single thread.
  [[nodiscard]] constexpr bool is_coherent(int physical) const {
    const instruction* one = nullptr;
    bool coherent = true;
    for_each_access(physical, [&](int thread, const instruction& x) {
      one = one == nullptr ? &x : one;
      coherent = coherent && !x.indirect && x.strong && x.via == proxy::generic && x.bytes == one->bytes &&
                 address(x) == address(*one);
      for_each_access(physical, [&](int other, const instruction& y) {
        coherent = coherent && (thread == other || includes(every_rule{}, x.scope, place_of(thread), place_of(other)));
        (void)y;
      });
    });
    return coherent;
  }

  /// Returns every value that the memory may hold, or nothing if the instructions do not determine this.
  [[nodiscard]] constexpr bounded<std::int64_t, 16> values_of(int physical) const {
    bounded<std::int64_t, 16> values;
    values.push(at(program_.locations, physical).initial, "");
    bool known = true;
    const auto add = [&](std::int64_t value) {
      for (const std::int64_t v : values) {
        if (v == value) {
          return;
        }
      }
      known = values.size() < 16;
      if (known) {
        values.push(value, "");
      }
    };
    for (int before = 0; known && before != values.size();) {
      before = values.size();
      for_each_access(physical, [&](int thread, const instruction& i) {
        if (i.code == opcode::load) {
          return;
        }
        const std::optional<std::int64_t> by = constant(thread, i.what == operation::compare_exchange ? i.b : i.a);
        if (!by.has_value()) {
          known = false;
        } else if (i.code == opcode::store) {
          add(by.value());
        } else {
          for (int v = 0; known && v < values.size(); ++v) {
            add(apply(i.what, values[v], by.value()));
          }
        }
      });
    }
    if (!known) {
      values.shrink(0);
    }
    return values;
  }

 private:
  [[nodiscard]] static constexpr bool jumps(const instruction& i) noexcept {
    return i.code == opcode::branch || i.code == opcode::jump;
  }

  [[nodiscard]] static constexpr register_set written(const instruction& i) noexcept {
    return one(i.destination) | one(i.predicate);
  }

  // Returns the set that contains only this register, or the empty set.
  [[nodiscard]] static constexpr register_set one(int reg) noexcept {
    return reg >= 0 ? register_set{1} << static_cast<unsigned>(reg) : 0;
  }

  [[nodiscard]] static constexpr register_set read(const instruction& i) noexcept {
    register_set result = one(i.indirect ? i.target : -1) | one(i.source_indirect ? i.source : -1) | one(i.guard);
    for (const operand* o : {&i.a, &i.b, &i.c}) {
      result |= one(o->is_register ? o->index : -1);
    }
    // if the instruction has no effect, its result register stays unchanged
    return i.guard >= 0 ? result | written(i) : result;
  }

  // Returns the registers whose values at instruction `index` matter for later instructions. At the thread's end, all of them
  // matter.
  [[nodiscard]] static constexpr register_set live_at(std::span<const instruction> code, int index) {
    std::vector<register_set> live(code.size() + 1, 0);
    live.back() = ~register_set{0};
    for (std::vector<register_set> before; before != live;) {
      before = live;
      for (int k = count_of(code) - 1; k >= 0; --k) {
        const instruction& i = at(code, k);
        register_set after = i.code == opcode::jump ? 0 : at(live, k + 1);
        after |= jumps(i) ? at(live, i.target) : 0;
        at(live, k) = read(i) | (after & ~written(i));
      }
    }
    return at(live, index);
  }

  [[nodiscard]] constexpr const place& place_of(int thread) const noexcept { return program_.threads[thread].where; }

  [[nodiscard]] constexpr int address(const instruction& i) const noexcept { return at(program_.locations, i.target).address; }

  // Calls `use` for every instruction that may access the memory.
  template <class Use>
  constexpr void for_each_access(int physical, const Use& use) const {
    for (int t = 0; t < program_.threads.size(); ++t) {
      for (const instruction& i : program_.threads[t].code) {
        if ((accesses_memory(i.code) || i.code == opcode::async_copy) &&
            (i.indirect || at(program_.locations, i.target).physical == physical)) {
          use(t, i);
        }
      }
    }
  }

  // Returns the value of an operand if it is the same on every path.
  [[nodiscard]] constexpr std::optional<std::int64_t> constant(int thread, const operand& o) const {
    if (!o.is_register) {
      return o.value;
    }
    for (const instruction& i : program_.threads[thread].code) {
      if (i.destination == o.index || i.predicate == o.index) {
        return std::nullopt;
      }
    }
    return at(program_.threads[thread].registers, o.index);
  }

  const program_view& program_;
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
