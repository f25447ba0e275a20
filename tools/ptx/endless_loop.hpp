// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds loops that never end once a thread has executed one iteration. For each such loop, finds the load that decides whether
/// a thread enters the loop. The compiler creates such a loop from `while (*flag == 0);` if the load is not volatile or atomic:
/// the compiler may assume that no other thread changes the flag, so it moves the load out of the loop.
#pragma once

#include <ptx/decode.hpp>

#include <cstdint>
#include <vector>

namespace membar::ptx {

/// A loop that accesses no memory, does not synchronize, and changes nothing that the end of the loop depends on.
struct endless_loop {
  std::vector<std::int32_t> body{};  ///< the loop's instructions, in code order
  std::int32_t jump = 0;             ///< the loop's backward jump
  std::int32_t branch = -1;  ///< a branch that decides whether a thread enters the loop or leaves it; -1 if there is none
  std::int32_t load = -1;    ///< a weak load of global or shared memory whose value decides that branch; -1 if there is none
  /// Whether the loop in the source is known to end for some value, because the compiled loop has an exit or because the branch
  /// is on the loop's source line. Otherwise, the loop may be endless on purpose, as when the line `if (failed)` is followed by
  /// the line `while (true);`.
  bool has_condition = false;
};

[[nodiscard]] std::vector<endless_loop> endless_loops(const kernel_code& kernel);

}  // namespace membar::ptx
