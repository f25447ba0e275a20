// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What is missing between two accesses that race, where their threads have synchronized in part.
#pragma once

#include <check/program.hpp>

#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// How the first of two accesses that race is followed by the second: a write of the first one's thread or block, and a read of it by the second
/// one's. Null where there is none.
struct handover {
  const trace_event* first = nullptr;
  const trace_event* second = nullptr;
  const trace_event* write = nullptr;
  const trace_event* read = nullptr;
};

/// Of a race: its accesses, which are null if there are not two by kernels' threads, and the handover between them.
[[nodiscard]] handover handover_of(const program& whole, const finding& f);

/// Sentences on a race of which the second access comes after a read of what the first one's block has written afterwards: whether that write
/// releases, whether the read acquires, where a fence is that is in the wrong place or of too small a scope, and whether a barrier of the block
/// is missing. Empty for other findings.
[[nodiscard]] std::vector<std::string> race_notes(const program& launched, const finding& f);

}  // namespace membar::check
