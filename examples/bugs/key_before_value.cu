// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A hash table in which a key becomes visible before its value (cudf #9317).
#include "spin.cuh"

#include <membar/load_store.cuh>

/// Inserts `key` with `value`, or finds the value that another thread has inserted. An empty key or value is 0.
template <bool Mended>
__global__ void insert_or_find(unsigned* keys, unsigned* values, unsigned key, unsigned value, unsigned* found,
                               unsigned* late) {
  using membar::thread_scope;
  if (atomicCAS(&keys[key % 2], 0U, key) == 0) {
    if constexpr (Mended) {
      membar::store<thread_scope::device>(&values[key % 2], value, membar::release);
    } else {
      values[key % 2] = value;
    }
    found[blockIdx.x] = value;
  } else if constexpr (Mended) {
    unsigned there = 0;
    spin(late, [&] { return (there = membar::load<thread_scope::device>(&values[key % 2], membar::acquire)) != 0; });
    found[blockIdx.x] = there;
  } else {
    found[blockIdx.x] = values[key % 2];
  }
}
template __global__ void insert_or_find<false>(unsigned*, unsigned*, unsigned, unsigned, unsigned*, unsigned*);
template __global__ void insert_or_find<true>(unsigned*, unsigned*, unsigned, unsigned, unsigned*, unsigned*);
