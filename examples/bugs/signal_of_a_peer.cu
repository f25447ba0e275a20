// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A kernel waits for another GPU's signal with device-scope loads (ROCm/aiter #4786).
#include "spin.cuh"

#include <membar/load_store.cuh>

template <bool Mended>
__global__ void pass_to_peer(unsigned* data, unsigned* signal, int self, unsigned* result, unsigned* late) {
  using membar::thread_scope;
  constexpr thread_scope scope = Mended ? thread_scope::system : thread_scope::device;
  if (self == 0) {
    *data = 7;
    membar::store<thread_scope::system>(signal, 1U, membar::release);
  } else if (spin(late, [&] { return membar::load<scope>(signal, membar::acquire) == 1; })) {
    *result = *data;
  }
}
template __global__ void pass_to_peer<false>(unsigned*, unsigned*, int, unsigned*, unsigned*);
template __global__ void pass_to_peer<true>(unsigned*, unsigned*, int, unsigned*, unsigned*);
