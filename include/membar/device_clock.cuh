// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The clock that all multiprocessors of a device share, for deadlines in kernels.
#pragma once

#include <membar/detail/compilation.cuh>

namespace membar {
inline namespace v0_3 {

/// Returns the time of the device's clock in nanoseconds. All multiprocessors share this clock, and changes in their clock rate
/// do not affect it.
///
/// Only differences are meaningful. The call does not order the accesses of other threads, but the compiler does not move
/// memory accesses across it. The clock's resolution may be as coarse as a microsecond. The clocks of two devices, or of host
/// and device, are not comparable.
///
/// PTX: `mov.u64 d, %globaltimer`, one instruction. Source: PTX ISA, "%globaltimer".
[[nodiscard]] __device__ inline unsigned long long global_nanoseconds() noexcept {
  unsigned long long now = 0;
  // mov.u64 d, %globaltimer;  PTX ISA 3.1, sm_30
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

}  // namespace v0_3
}  // namespace membar
