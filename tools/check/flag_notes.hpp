// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explains flags that do not order two racing accesses.
#pragma once

#include <check/handover.hpp>
#include <check/shown_execution.hpp>

#include <string>
#include <vector>

namespace membar::check::detail {

/// Says what is missing in a handover: a release, an acquire, a wider scope or a barrier of the block.
[[nodiscard]] std::vector<std::string> handover_notes(const shown_execution& shown, const handover& passed);

/// If the thread of one access writes a flag before that access, although the other thread waits for the flag before its access,
/// says where the write of the flag must be. Otherwise, returns an empty string.
[[nodiscard]] std::string early_flag_note(const shown_execution& shown, const trace_event& x, const trace_event& y);

}  // namespace membar::check::detail
