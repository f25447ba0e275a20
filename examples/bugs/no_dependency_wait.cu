// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel that overlaps its predecessor does not wait for it, and relies on the predecessor's store before
// launch_dependents (llama.cpp #23690).
#include <membar/dependent_launch.cuh>

__global__ void store_and_launch(unsigned* value) {
  *value = 1;
  membar::launch_dependents();
}

template <bool Mended>
__global__ void read_stored(const unsigned* value, unsigned* wrong) {
  if constexpr (Mended) {
    membar::wait_for_prerequisites();
  }
  *wrong += *value != 1 ? 1 : 0;
}
template __global__ void read_stored<false>(const unsigned*, unsigned*);
template __global__ void read_stored<true>(const unsigned*, unsigned*);
