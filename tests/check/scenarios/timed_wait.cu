// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A thread waits for a flag, but only for BUDGET_NS nanoseconds. One of the two kernels forgets that the wait may have timed out.
#include <membar/device_clock.cuh>
#include <membar/load_store.cuh>

#ifndef BUDGET_NS
#define BUDGET_NS 100'000'000
#endif

__device__ bool wait_for(const int* flag, unsigned long long budget_ns) {
  const unsigned long long begin = membar::global_nanoseconds();
  while (membar::load<membar::thread_scope::device>(flag, membar::acquire) == 0) {
    if (membar::global_nanoseconds() - begin >= budget_ns) {
      return false;
    }
  }
  return true;
}

template <bool Fixed>
__global__ void pass_on(int* data, int* flag, int* result) {
  if (blockIdx.x == 0) {
    *data = 7;
    membar::store<membar::thread_scope::device>(flag, 1, membar::release);
    return;
  }
  const bool arrived = wait_for(flag, BUDGET_NS);
  if (arrived || !Fixed) {
    *result = *data;
  }
}
template __global__ void pass_on<false>(int*, int*, int*);
template __global__ void pass_on<true>(int*, int*, int*);
