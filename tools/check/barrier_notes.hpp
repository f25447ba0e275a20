// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explains the barrier that is missing between two accesses.
#pragma once

#include <check/shown_execution.hpp>

#include <string>

namespace membar::check::detail {

/// Says which barrier is missing between two accesses by threads of one block, and where it must be.
[[nodiscard]] std::string missing_barrier_note(const shown_execution& shown, const trace_event& first,
                                               const trace_event& second);

/// Says how threads of different blocks can order two accesses.
[[nodiscard]] std::string between_blocks_note(const shown_execution& shown, const trace_event& first,
                                              const trace_event& second);

}  // namespace membar::check::detail
