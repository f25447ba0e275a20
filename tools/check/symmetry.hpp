// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines which threads of a program can be exchanged.
///
/// Two threads are equal if they run the same launch and no instruction of their kernel can distinguish them: none reads an
/// index or a lane, none exchanges values within a warp and, if they are in different blocks, none accesses shared memory and
/// each is the only thread of its block. If two equal threads are exchanged in an execution, the result has the same values,
/// the same races and the same final memory.
#pragma once

#include <check/program.hpp>

#include <vector>

namespace membar::check {

using namespace ptx;

/// Per thread: the last preceding thread that is equal to it, or -1 if there is none.
[[nodiscard]] std::vector<int> equals_before(const program& p);

}  // namespace membar::check
