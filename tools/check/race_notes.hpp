// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explains what is missing between two racing accesses whose threads have partly synchronized.
#pragma once

#include <check/program.hpp>

#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Explains a race. If flags are meant to order the accesses, returns sentences that say what is missing in this handover
/// (flag_notes.hpp). Otherwise, returns one sentence, about the first of these that applies: a missing wait for a copy
/// (copy_notes.hpp), a flag that is written before the access that it should release (flag_notes.hpp), a read and a write that
/// must be one atomic operation (update_notes.hpp), an arrival at a barrier that does not follow its access (arrival_notes.hpp),
/// or a missing barrier (barrier_notes.hpp). Also explains a read of memory that was never written, if the finding shows a write
/// that nothing orders before the read. Returns only the place of the proxy fence if only a proxy fence is missing, and nothing
/// for other findings.
[[nodiscard]] std::vector<std::string> race_notes(const program& launched, const finding& f);

/// Returns how to write a race's accesses in C++ so that they no longer race. The result covers each access that is weak or has
/// a scope that does not include the other thread. If both accesses are weak, returns nothing, unless both store the same value:
/// then says which assumption accepts the race.
[[nodiscard]] std::vector<std::string> access_notes(const program& launched, const finding& f);

}  // namespace membar::check
