// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Two collectives in two streams use the same signal for their barriers (pytorch #188005, #189228).
#include "spin.cuh"

#include <cuda/atomic>

/// Sends a signal once the peer has consumed the last one, then consumes its own. A pad has a signal for each channel.
__device__ bool exchange_signals(unsigned* pads, int self, int channel, unsigned* late) {
  using signal_ref = cuda::atomic_ref<unsigned, cuda::thread_scope_system>;
  signal_ref theirs(pads[2 * (1 - self) + channel]);
  signal_ref mine(pads[2 * self + channel]);
  const auto change = [](signal_ref signal, unsigned from, unsigned to, cuda::memory_order order) {
    return signal.compare_exchange_strong(from, to, order, cuda::memory_order_relaxed);
  };
  return spin(late, [&] { return change(theirs, 0, 1, cuda::memory_order_release); }) &&
         spin(late, [&] { return change(mine, 1, 0, cuda::memory_order_acquire); });
}

extern "C" __global__ void add_with_signals(unsigned* vector, unsigned* pads, int self, int channel, unsigned* sum,
                                            unsigned* late) {
  vector[self] = 1;
  if (exchange_signals(pads, self, channel, late)) {
    *sum = vector[0] + vector[1];
  }
}
