// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The clock that all multiprocessors of a device share: for deadlines in kernels.
#pragma once

#include <membar/detail/compilation.cuh>

namespace membar {
inline namespace v0_2 {

/// Nanoseconds of the device's clock, which all its multiprocessors share and which no change of their clock rate disturbs.
///
/// Only differences mean something. It orders no accesses of other threads; the compiler moves no memory access across it. Its
/// resolution may be as low as a microsecond. Clocks of two devices, or of host and device, are not comparable.
///
/// PTX: `mov.u64 d, %globaltimer`, one instruction. Source: PTX ISA, "%globaltimer".
[[nodiscard]] __device__ inline unsigned long long global_nanoseconds() noexcept {
  unsigned long long now = 0;
  // mov.u64 d, %globaltimer;  PTX ISA 3.1, sm_30
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now)::"memory");
  return now;
}

}  // namespace v0_2
}  // namespace membar
