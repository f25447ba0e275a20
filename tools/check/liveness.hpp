// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Which registers can still matter where a loop begins again.
///
/// A loop waits if a round of it only reads and ends in the state in which it began. Registers that nothing depends on are left
/// out of that comparison: most loops count their rounds, to look at a clock now and then. Three steps, for one thread with its
/// arguments:
///  1. values: the few constants that each register can hold, with a clock that stands still. They decide branches that a
///     time-out would take.
///  2. needed instructions: events, what their operands are computed from, and the branches that decide whether a needed
///     instruction runs (control dependence, by post-dominators). Where no path leads to the end, every branch is needed.
///  3. liveness of registers, by the uses of needed instructions alone.
/// A register that is not live can be changed without changing any event or its operands.
#pragma once

#include <check/thread_context.hpp>

#include <cstdint>
#include <vector>

namespace membar::check {

using namespace ptx;

/// Per instruction that a jump backward leads to: the registers that can still matter there, as a set of words.
[[nodiscard]] std::vector<std::vector<std::uint64_t>> live_at_heads(const thread_context& context);

}  // namespace membar::check
