// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explores every execution of a program that the PTX memory model allows, each exactly once.
#pragma once

#include <check/program.hpp>

namespace membar::check {

/// Explores a program until the first finding. `property` is evaluated at the end of every complete execution.
///
/// `verified` means that in every execution in which clocks stand still, there is no data race, trap, hang, read of memory that
/// was never written, or out-of-bounds access, and the property holds at the end. If any part of the exploration was cut short,
/// the result is `gave_up`.
[[nodiscard]] check_result explore(const program& checked, const check_property& property = {},
                                   const check_options& options = {});

}  // namespace membar::check
