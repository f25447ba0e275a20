// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The clock by which kernels of benches and tests keep their deadlines.
#pragma once

namespace support {

/// Nanoseconds of a clock that all multiprocessors share; it ticks coarsely.
__device__ inline unsigned long long device_nanoseconds() {
  unsigned long long nanoseconds = 0;
  // mov.u64 d, %globaltimer;  (PTX ISA 3.1, sm_30)
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(nanoseconds)::"memory");
  return nanoseconds;
}

}  // namespace support
