// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Which threads of a program may change places.
///
/// Two threads are equal if they run the same launch, and no instruction of their kernel can distinguish them: none reads an index or a
/// lane, none exchanges values in a warp, and, if they are in different blocks, none accesses shared memory and each is alone in its
/// block. If two equal threads change places in an execution, it has the same values, the same races and the same memory at its end.
#pragma once

#include <check/program.hpp>

#include <vector>

namespace membar::check {

using namespace ptx;

/// Per thread: the last before it that is equal to it; -1 if there is none.
[[nodiscard]] std::vector<int> equals_before(const program& p);

}  // namespace membar::check
