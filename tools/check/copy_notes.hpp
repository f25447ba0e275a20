// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explains races with the accesses of asynchronous copies.
#pragma once

#include <check/shown_execution.hpp>

#include <string>
#include <vector>

namespace membar::check::detail {

/// Names the proxy fence that is missing between a thread's access and a later copy that its block starts, and says why it is
/// needed. Returns nothing if a different fence is missing.
[[nodiscard]] std::vector<std::string> proxy_fence_notes(const shown_execution& shown, const trace_event& first,
                                                         const trace_event& second);

/// If one of the two accesses belongs to a copy that starts before the other access and is incomplete when that access is
/// performed, says how to wait for the copy. Otherwise, returns an empty string.
[[nodiscard]] std::string missing_wait_note(const shown_execution& shown, const trace_event& x, const trace_event& y);

/// Says how to wait for the copy that performs the first access and may be incomplete when the second access is performed. Only the
/// first `until` events of the thread that starts the copy precede the second access.
[[nodiscard]] std::string unfinished_copy_note(const shown_execution& shown, const trace_event& first,
                                               const trace_event& second, int until);

}  // namespace membar::check::detail
