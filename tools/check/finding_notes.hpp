// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explains a finding in more detail than its message does.
#pragma once

#include <check/program.hpp>

#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Returns sentences about load buffering in the finding's execution (buffering_cycle.hpp), about what is missing between two
/// racing accesses (race_notes.hpp), and about a loop that polls memory in
/// the source but loads nothing in the compiled code (endless_loop.hpp).
[[nodiscard]] std::vector<std::string> finding_notes(const program& launched, const finding& f);

/// Returns the races that the scenario accepts and that occur in some execution, one sentence for each pair of lines.
[[nodiscard]] std::vector<std::string> accepted_races(const program& p, const check_result& r);

/// Returns the position of a loop that is involved in the finding and that loads nothing, although it polls memory in the
/// source. Returns an empty string if there is no such loop.
[[nodiscard]] std::string loop_that_loads_nothing(const program& launched, const finding& f);

}  // namespace membar::check
