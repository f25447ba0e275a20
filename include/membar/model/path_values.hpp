// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The values that a path through the threads computes, and the path's assumptions about them.
#pragma once

#include <membar/model/array.hpp>
#include <membar/model/execution.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/program.hpp>

#include <cstdint>

namespace membar {
inline namespace v0_3 {
namespace model {

/// Appends events, values and assumptions to a path.
class path_values : public partial_execution {
 protected:
  using partial_execution::partial_execution;
  ~path_values() = default;

  constexpr int push(const event& e) { return events_.push(e, "an execution has more than 64 events"); }

  constexpr int add(const expression& e) { return expressions_.push(e, "a test computes more than 1024 values"); }

  constexpr int constant(std::int64_t value) {
    expression e;
    e.value = value;
    return add(e);
  }

  constexpr int read_result(int event_index) {
    expression e;
    e.kind = expression::kind_t::read;
    e.left = event_index;
    e.depends = only(event_index);
    return add(e);
  }

  constexpr int combine(operation what, int left, int right) {
    if (what == operation::move) {
      return right;
    }
    expression e;
    e.kind = expression::kind_t::apply;
    e.what = what;
    e.left = left;
    e.right = right;
    e.depends = depends(left) | depends(right);
    return add(e);
  }

  constexpr int operand_value(int thread, const operand& o) {
    return o.is_register ? at(at(registers_, thread), o.index) : constant(o.value);
  }

  // Returns false if an assumption of the path about the same two values contradicts this one.
  [[nodiscard]] constexpr bool assume(comparison test, int left, int right, bool expected) {
    for (const assumption& a : assumptions_) {
      if (same_value(a.left, left) && same_value(a.right, right) &&
          (outcomes(a.test, a.expected) & outcomes(test, expected)) == 0) {
        return false;
      }
    }
    assumptions_.push({test, left, right, expected}, "a path has more than 128 branch decisions");
    return true;
  }

  // Returns whether two expressions are the same constant or the result of the same read.
  [[nodiscard]] constexpr bool same_value(int x, int y) const noexcept {
    const expression& a = expressions_[x];
    const expression& b = expressions_[y];
    return x == y || (a.kind == b.kind && ((a.kind == expression::kind_t::constant && a.value == b.value) ||
                                           (a.kind == expression::kind_t::read && a.left == b.left)));
  }

  // Returns which of less, equal and greater are possible after a comparison.
  [[nodiscard]] static constexpr int outcomes(comparison test, bool expected) noexcept {
    return (compare(test, 0, 1) == expected ? 1 : 0) | (compare(test, 0, 0) == expected ? 2 : 0) |
           (compare(test, 1, 0) == expected ? 4 : 0);
  }
};

}  // namespace model
}  // namespace v0_3
}  // namespace membar
