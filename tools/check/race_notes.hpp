// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explains what is missing between two racing accesses whose threads have partly synchronized.
#pragma once

#include <check/program.hpp>

#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Explains a race with a handover between its accesses. Returns sentences that say whether the handover's writes release,
/// whether its reads acquire, whether a fence is in the wrong place or has too narrow a scope, and whether a barrier of the block
/// is missing. For a race within a block without a handover, returns a sentence about an arrival at a barrier that does not
/// follow the access, or about the missing barrier. For other races without a handover, returns a sentence about a missing wait
/// for a copy, about a flag that is written before the access that it should release, or about a read and a write that must be
/// one atomic operation. Also explains a read of memory that was never written, if the finding shows
/// a write that nothing orders before the read. Returns only the place of the proxy fence if only a proxy fence is missing, and
/// nothing for other findings.
[[nodiscard]] std::vector<std::string> race_notes(const program& launched, const finding& f);

/// Returns how to write a race's accesses in C++ so that they no longer race. The result covers each access that is weak or has
/// a scope that does not include the other thread. Returns nothing if both accesses are weak.
[[nodiscard]] std::vector<std::string> access_notes(const program& launched, const finding& f);

}  // namespace membar::check
