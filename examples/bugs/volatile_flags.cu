// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two GPUs sum each other's vectors between two barriers made of volatile flags (vllm #8404).
#include "spin.cuh"

#include <membar/load_store.cuh>

/// Sets the peer's flag to `step` and waits until its own flag reaches `step`.
template <bool Mended>
__device__ bool meet_peer(unsigned* flags, int self, unsigned step, unsigned* late) {
  using membar::thread_scope;
  if constexpr (Mended) {
    membar::store<thread_scope::system>(&flags[1 - self], step, membar::release);
    return spin(late, [&] { return membar::load<thread_scope::system>(&flags[self], membar::acquire) >= step; });
  } else {
    static_cast<volatile unsigned*>(flags)[1 - self] = step;
    return spin(late, [&] { return static_cast<volatile unsigned*>(flags)[self] >= step; });
  }
}

template <bool Mended>
__global__ void add_both(unsigned* in, unsigned* flags, int self, unsigned rounds, unsigned* wrong, unsigned* late) {
  for (unsigned r = 1; r <= rounds; ++r) {
    in[self] = r;
    if (!meet_peer<Mended>(flags, self, 2 * r - 1, late)) {
      return;
    }
    wrong[self] += in[0] + in[1] != 2 * r ? 1 : 0;
    if (!meet_peer<Mended>(flags, self, 2 * r, late)) {
      return;
    }
  }
}
template __global__ void add_both<false>(unsigned*, unsigned*, int, unsigned, unsigned*, unsigned*);
template __global__ void add_both<true>(unsigned*, unsigned*, int, unsigned, unsigned*, unsigned*);
