// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A GPU clears its signals when a peer may already have sent one (pytorch #196546, apache/tvm #16797).
#include "spin.cuh"

#include <membar/load_store.cuh>

/// GPU 0 clears its signal, which has a value left by an older program, and waits. GPU 1 sends.
template <bool Mended>
__global__ void clear_and_wait(unsigned* signal, unsigned* cleared, int self, unsigned* late) {
  using membar::thread_scope;
  if (self == 0) {
    membar::store<thread_scope::system>(signal, 0U, membar::relaxed);
    membar::store<thread_scope::system>(cleared, 1U, membar::release);
    spin(late, [&] { return membar::load<thread_scope::system>(signal, membar::acquire) == 1; });
  } else {
    if constexpr (Mended) {
      spin(late, [&] { return membar::load<thread_scope::system>(cleared, membar::acquire) == 1; });
    }
    membar::store<thread_scope::system>(signal, 1U, membar::release);
  }
}
template __global__ void clear_and_wait<false>(unsigned*, unsigned*, int, unsigned*);
template __global__ void clear_and_wait<true>(unsigned*, unsigned*, int, unsigned*);
