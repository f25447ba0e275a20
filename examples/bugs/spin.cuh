// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The wait loop that the kernels in this folder use. On a GPU, every hang must end, so the wait has a time limit.
#pragma once

#include <membar/device_clock.cuh>

/// Calls `done` until it returns true. After 0.2 seconds, adds one to `*late` and returns false.
///
/// In membar-check, clocks do not advance, so the time limit is never reached and the checker finds the endless loop.
template <class Done>
__device__ bool spin(unsigned* late, Done done) {
  const unsigned long long begin = membar::global_nanoseconds();
  while (!done()) {
    if (membar::global_nanoseconds() - begin > 200'000'000) {
      atomicAdd(late, 1U);
      return false;
    }
  }
  return true;
}
