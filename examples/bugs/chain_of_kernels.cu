// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Three kernels, each launched to overlap the previous one. The last waits for the second, which does not wait for the first
// (CCCL #3131).
#include <membar/dependent_launch.cuh>

__global__ void write_value(unsigned* value) {
  membar::launch_dependents();
  *value = 1;
}

template <bool Mended>
__global__ void work_between(unsigned* other) {
  if constexpr (Mended) {
    membar::wait_for_prerequisites();
  }
  membar::launch_dependents();
  *other = 1;
}
template __global__ void work_between<false>(unsigned*);
template __global__ void work_between<true>(unsigned*);

__global__ void read_value(const unsigned* value, unsigned* wrong) {
  membar::wait_for_prerequisites();
  *wrong += *value != 1 ? 1 : 0;
}
