// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explains races between updates that are not atomic.
#pragma once

#include <check/shown_execution.hpp>

#include <string>

namespace membar::check::detail {

/// If the threads of both accesses read the same memory and then write it, depending on the value that they have read, says which
/// atomic operation to use. Otherwise, returns an empty string.
[[nodiscard]] std::string lost_update_note(const shown_execution& shown, const trace_event& x, const trace_event& y);

}  // namespace membar::check::detail
