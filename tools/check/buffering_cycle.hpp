// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds load buffering in the execution of a finding: a cycle of program order and reads-from.
#pragma once

#include <check/program.hpp>

#include <string>
#include <vector>

namespace membar::check {

using namespace ptx;

/// The part of a cycle in one thread: it begins with a read of another thread's value, and it ends with a later write whose value
/// another thread reads.
struct cycle_part {
  const trace_event* read = nullptr;
  const trace_event* write = nullptr;
};

/// Returns the parts of a shortest cycle of program order and reads-from, or nothing if the finding's execution has no cycle. The
/// first part's write takes effect before its read. Each part's write is read at the start of the next part.
[[nodiscard]] std::vector<cycle_part> buffering_cycle(const finding& f);

/// Explains the cycle: which read takes its value from a write that comes after it, and which fences rule this out. Returns
/// nothing if there is no cycle.
[[nodiscard]] std::vector<std::string> buffering_notes(const program& launched, const finding& f);

}  // namespace membar::check
