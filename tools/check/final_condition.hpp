// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A condition on final memory, in herd's syntax: `count[0] == 6 /\ ~(flag[1] == 0)`.
#pragma once

#include <check/named_memory.hpp>
#include <check/program.hpp>

#include <functional>
#include <string_view>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Returns whether a condition holds at the end of an execution.
using final_condition = std::function<bool(const final_memory&)>;

/// Parses a condition on the final values of `memory`. The condition begins at `line` and `column` of its file. Throws
/// `model::error` with the position of an error.
[[nodiscard]] final_condition read_condition(std::string_view text, int line, const std::vector<named_memory>& memory,
                                             int column = 1);

}  // namespace membar::check
