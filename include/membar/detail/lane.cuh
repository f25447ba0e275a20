// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The calling thread's place in its warp.
#pragma once

namespace membar::detail {

[[nodiscard]] __device__ inline unsigned lane_id() noexcept {
  unsigned lane = 0;
  // mov.u32 d, %laneid;  PTX ISA 1.3
  asm volatile("mov.u32 %0, %%laneid;" : "=r"(lane)::"memory");
  return lane;
}

}  // namespace membar::detail
