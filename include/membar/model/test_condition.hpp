// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Locations, registers and values of a C++ litmus test, and conditions on its final state.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/program.hpp>

#include <cstdint>

namespace membar {
inline namespace v0_3 {
namespace model {

/// A location of a test. Its initial value is 0 unless `litmus_program::with_initial` sets another.
struct variable {
  int index = 0;
  bool in_shared_memory = false;  ///< whether each block has its own copy
  int thread = -1;                ///< for shared memory: a thread of the block that contains it; -1 for the block of the
                                  ///< accessing thread
};
/// A location in shared memory. Each block that accesses it has its own copy. No other variable may have the same index. A
/// condition names the location together with a thread of its block: `in(1, x)`.
[[nodiscard]] constexpr variable shared(int index) noexcept { return {index, true}; }
/// Returns the shared variable in the block of thread `number`, counted from 0, for use by the cluster's other threads. An
/// access to the variable uses an address (`mapa`) in the state space `.shared::cluster`.
[[nodiscard]] constexpr variable remote(variable v, int number) noexcept { return {v.index, v.in_shared_memory, number}; }

/// A register of a thread. The initial value of every register is 0.
struct reg {
  int index = 0;
};

/// A constant or a register, for instructions that accept either.
struct source {
  operand value{};
  constexpr source(std::int64_t constant) noexcept : value{false, 0, constant} {}  // NOLINT: constants are sources
  constexpr source(int constant) noexcept : value{false, 0, constant} {}           // NOLINT
  constexpr source(reg r) noexcept : value{true, r.index, 0} {}                    // NOLINT: registers are sources

 private:
  friend constexpr source address_of(variable v) noexcept;
};
/// The address of a variable in global memory, for a tensor map or for storing a pointer.
[[nodiscard]] constexpr source address_of(variable v) noexcept {
  source result(0);
  result.value.index = v.index + 1;
  return result;
}

/// A condition on the final state, built with `==`, `!=`, `&&`, `||` and `!`.
struct condition {
  bounded<condition_node, 32> nodes{};

  [[nodiscard]] friend constexpr condition operator&&(const condition& left, const condition& right) {
    return join(condition_node::kind_t::conjunction, left, right);
  }
  [[nodiscard]] friend constexpr condition operator||(const condition& left, const condition& right) {
    return join(condition_node::kind_t::disjunction, left, right);
  }
  [[nodiscard]] friend constexpr condition operator!(condition inner) {
    condition_node n;
    n.kind = condition_node::kind_t::negation;
    n.first = inner.nodes.size() - 1;
    inner.nodes.push(n, too_long);
    return inner;
  }

 private:
  static constexpr const char* too_long = "a condition has more than 32 parts";

  [[nodiscard]] static constexpr condition join(condition_node::kind_t kind, condition left, const condition& right) {
    const int shift = left.nodes.size();
    for (condition_node n : right.nodes) {
      n.first += shift;
      n.second += shift;
      left.nodes.push(n, too_long);
    }
    condition_node n;
    n.kind = kind;
    n.first = shift - 1;
    n.second = left.nodes.size() - 1;
    left.nodes.push(n, too_long);
    return left;
  }
};

/// A final value that a condition compares.
struct final_value {
  term what{};

  [[nodiscard]] friend constexpr condition operator==(const final_value& left, std::int64_t right) {
    return compared(comparison::equal, left, right);
  }
  [[nodiscard]] friend constexpr condition operator!=(const final_value& left, std::int64_t right) {
    return compared(comparison::not_equal, left, right);
  }

 private:
  [[nodiscard]] static constexpr condition compared(comparison test, const final_value& left, std::int64_t right) {
    condition_node n;
    n.kind = condition_node::kind_t::compare;
    n.test = test;
    n.left = left.what;
    n.right.value = right;
    condition c;
    c.nodes.push(n, "a condition has more than 32 parts");
    return c;
  }
};

/// Returns the final value of a register in thread `number`, counted from 0.
[[nodiscard]] constexpr final_value in(int number, reg r) noexcept {
  return {{term::kind_t::register_value, number, r.index, 0}};
}
/// Returns the final value of a location.
[[nodiscard]] constexpr final_value in_memory(variable v) noexcept { return {{term::kind_t::memory_value, -1, v.index, 0}}; }
/// Returns the final value of a location; for shared memory, the location in the block of thread `number`.
[[nodiscard]] constexpr final_value in(int number, variable v) noexcept {
  return {{term::kind_t::memory_value, number, v.index, 0}};
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
