// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines which threads of a program are interchangeable.
///
/// Two threads are equal if they belong to the same launch and no instruction of their kernel can distinguish them, that is, no
/// instruction reads an index or a lane number, and none exchanges values within a warp. If the threads are in different
/// blocks, no instruction may access shared memory either, and each of the two threads must be the only thread in its block.
/// Exchanging two equal threads in an execution yields an execution with the same values, the same races and the same final
/// memory.
#pragma once

#include <check/program.hpp>

#include <vector>

namespace membar::check {

using namespace ptx;

/// Returns, for each thread, the last preceding thread that is equal to it, or -1 if there is none.
[[nodiscard]] std::vector<int> equals_before(const program& p);

}  // namespace membar::check
