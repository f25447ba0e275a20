// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel reads a table of pointers before it waits for the kernel that writes the table (CUTLASS #2962).
#include <membar/dependent_launch.cuh>

__global__ void write_table(const unsigned** table, const unsigned* entry) {
  membar::launch_dependents();
  *table = entry;
}

template <bool Mended>
__global__ void follow_table(const unsigned* const* table, unsigned* out) {
  if constexpr (Mended) {
    membar::wait_for_prerequisites();
    *out = **table;
  } else {
    const unsigned* const entry = *table;
    membar::wait_for_prerequisites();
    *out = *entry;
  }
}
template __global__ void follow_table<false>(const unsigned* const*, unsigned*);
template __global__ void follow_table<true>(const unsigned* const*, unsigned*);
