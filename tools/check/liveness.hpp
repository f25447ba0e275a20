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
///
/// Whether a loop without an event ends depends only on its branches. Where there is one, what is live is found once more with every branch
/// needed: a thread that comes back with these registers equal never leaves the loop.
///
/// A weak load into registers that are not live after it is discarded: the compiler moved it above the branch or `selp` that decides,
/// and the source does not look at the memory in this thread.
#pragma once

#include <check/thread_context.hpp>

#include <memory>

namespace membar::check {

using namespace ptx;

/// Finds which registers of a thread matter. Loads are discarded only in code that a compiler wrote: what an author writes by hand is there
/// to be looked at.
[[nodiscard]] std::shared_ptr<const register_use> register_use_of(const thread_context& context, bool compiled);

}  // namespace membar::check
