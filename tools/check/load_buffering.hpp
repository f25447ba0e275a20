// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explores the executions with load buffering, in which program order and reads-from have a cycle, but dependencies and
/// reads-from do not.
#pragma once

#include <check/program.hpp>

namespace membar::check::detail {

/// Explores the executions with load buffering that have at most 64 events. `so_far` is the result of the exploration without
/// load buffering.
[[nodiscard]] check_result explore_load_buffering(const program& checked, const check_property& property,
                                                  const check_options& options, check_result so_far);

}  // namespace membar::check::detail
