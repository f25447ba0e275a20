// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Computes which registers can still matter at the head of a loop.
///
/// A loop waits if an iteration only reads and ends in the state in which it began. Registers on which nothing depends are
/// excluded from that comparison, because most loops count their iterations to check a clock from time to time. There are three
/// steps, for one thread with its arguments:
///  1. values: the few constants that each register can hold, assuming that clocks stand still. They decide branches that a
///  time-out would take.
///  2. needed instructions: events, the computations of their operands, and the branches that decide whether a needed
///  instruction runs (control dependence, by post-dominators). If no path leads to the end, every branch is needed.
///  3. liveness of registers, considering only the uses of needed instructions.
/// A register that is not live can be changed without changing any event or its operands.
///
/// Whether a loop without an event ends depends only on its branches. If there is such a loop, the live registers are computed
/// once more with every branch needed: a thread that returns with these registers unchanged never leaves the loop.
///
/// A weak load into registers that are not live after it is discarded: the compiler moved it above the branch or `selp` that
/// decides, and the source does not read the memory in this thread.
#pragma once

#include <check/thread_context.hpp>

#include <memory>

namespace membar::check {

using namespace ptx;

/// Computes which registers of a thread matter. Loads are discarded only in compiler-generated code, because an author who
/// writes a load by hand wants it to be checked.
[[nodiscard]] std::shared_ptr<const register_use> register_use_of(const thread_context& context, bool compiled);

}  // namespace membar::check
