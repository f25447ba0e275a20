// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds loops that never end once a thread has executed one iteration, and the load that decides whether a thread enters the
/// loop. The compiler creates such a loop from `while (*flag == 0);` if the load is not volatile or atomic: it may assume that
/// no other thread changes the flag, and moves the load out of the loop.
#pragma once

#include <ptx/decode.hpp>

#include <cstdint>
#include <vector>

namespace membar::ptx {

/// A loop that accesses no memory, does not synchronize, and changes nothing that the end of the loop depends on.
struct endless_loop {
  std::vector<std::int32_t> body{};  ///< its instructions, in the order of the code
  std::int32_t jump = 0;             ///< its backward jump
  std::int32_t branch = -1;  ///< a branch that decides whether a thread enters the loop or leaves it; -1 if there is none
  std::int32_t load = -1;    ///< a weak load of global or shared memory whose value decides that branch; -1 if there is none
  /// Whether the loop in the source certainly ends for some value: the compiled loop has an exit, or the branch is on the
  /// source line of the loop. Otherwise, the loop may be endless on purpose, as in `if (failed)` with `while (true);` on the
  /// next line.
  bool has_condition = false;
};

[[nodiscard]] std::vector<endless_loop> endless_loops(const kernel_code& kernel);

}  // namespace membar::ptx
