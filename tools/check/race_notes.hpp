// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Explains what is missing between two accesses that race if their threads have synchronized in part.
#pragma once

#include <check/program.hpp>

#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// The handover between the two accesses of a race: a write by the thread or block of the first access, and a read of it by the
/// thread or block of the second. Null if there is none.
struct handover {
  const trace_event* first = nullptr;
  const trace_event* second = nullptr;
  const trace_event* write = nullptr;
  const trace_event* read = nullptr;
};

/// The accesses of a race, which are null unless both are by threads of kernels, and the handover between them.
[[nodiscard]] handover handover_of(const program& whole, const finding& f);

/// Returns sentences about a race whose second access follows a read of a value that the first access's block has written
/// afterwards: whether that write releases, whether the read acquires, whether a fence is in the wrong place or has too narrow
/// a scope, and whether a barrier of the block is missing. Empty for other findings.
[[nodiscard]] std::vector<std::string> race_notes(const program& launched, const finding& f);

}  // namespace membar::check
