// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A condition on final memory, in herd's syntax: `count[0] == 6 /\ ~(flag[1] == 0)`.
#pragma once

#include <check/named_memory.hpp>
#include <check/program.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace membar::check {

using namespace ptx;

/// A condition on memory at the end of an execution, and the memory that it reads.
struct final_condition {
  /// An element of memory, with its name in the condition, for example "count[0]".
  struct element {
    std::string name;
    std::uint64_t address = 0;
    ptx_type type = ptx_type::none;
  };
  /// A conjunct of the condition or of one of its alternatives, with the indices of its elements.
  struct conjunct {
    std::function<bool(const final_memory&)> holds{};
    std::vector<std::size_t> elements{};
  };
  std::function<bool(const final_memory&)> holds{};
  std::vector<element> elements{};
  std::vector<conjunct> conjuncts{};

  /// Returns the final values of the elements, for example "count[0] is 5, flag is 1". Lists at most eight values; if there are
  /// more, ends with their number, for example "and 2 more".
  [[nodiscard]] std::string values(const final_memory& end) const;

  /// Returns the elements of the conjuncts that do not hold.
  [[nodiscard]] std::vector<memory_range> wrong_elements(const final_memory& end) const;
};

/// Parses a condition on the final values of `memory`. The condition begins at `line` and `column` of its file. If it contains
/// an error, throws `model::error` with the error's position.
[[nodiscard]] final_condition read_condition(std::string_view text, int line, const std::vector<named_memory>& memory,
                                             int column = 1);

}  // namespace membar::check
