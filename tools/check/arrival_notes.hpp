// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explains arrivals at mbarriers and named barriers that do not follow the access that they should release.
#pragma once

#include <check/shown_execution.hpp>

#include <string>

namespace membar::check::detail {

/// If an mbarrier or a named barrier is meant to order two accesses of a block, but the arrival does not follow its access, says
/// where the arrival or a barrier of the warp must be. Otherwise, returns an empty string. For a race, either access may be the
/// one that should come first; for other findings, `first` is.
[[nodiscard]] std::string misplaced_arrival_note(const shown_execution& shown, const trace_event& first,
                                                 const trace_event& second);

}  // namespace membar::check::detail
