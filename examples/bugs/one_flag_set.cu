// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two GPUs repeatedly pass a barrier with one flag each, and wait until the flag equals the round's number (vllm #8410).
#include "spin.cuh"

#include <membar/load_store.cuh>

/// A fast peer overwrites the number that a slow GPU waits for. With two alternating flags, it sets the other flag.
template <bool Mended>
__global__ void meet_repeatedly(unsigned* flags, int self, unsigned rounds, unsigned* late) {
  using membar::thread_scope;
  for (unsigned r = 1; r <= rounds; ++r) {
    unsigned* const set = flags + (Mended ? 2 * (r % 2) : 0);
    membar::store<thread_scope::system>(&set[1 - self], r, membar::release);
    if (!spin(late, [&] { return membar::load<thread_scope::system>(&set[self], membar::acquire) == r; })) {
      return;
    }
  }
}
template __global__ void meet_repeatedly<false>(unsigned*, int, unsigned, unsigned*);
template __global__ void meet_repeatedly<true>(unsigned*, int, unsigned, unsigned*);
