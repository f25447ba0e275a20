// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explores every execution of a program that the PTX memory model allows, each exactly once.
#pragma once

#include <check/program.hpp>

namespace membar::check {

/// Explores a program. It ends at the first finding. `property` is evaluated at the end of every complete execution.
///
/// `verified` means that none of the executions in which clocks stand still has a data race, a trap, a hang, a read of memory
/// that was never written, or an access outside of memory, and that the property holds at the end of each. If anything was cut
/// short, the result is `gave_up`.
[[nodiscard]] check_result explore(const program& checked, const check_property& property = {},
                                   const check_options& options = {});

}  // namespace membar::check
