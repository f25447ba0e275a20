// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A bounds check on a channel number multiplies where it should divide (pytorch #191618).
#include <membar/load_store.cuh>

/// A pad has `size` signals, `world` per channel.
template <bool Mended>
__global__ void send_on_channel(unsigned* pad, unsigned size, unsigned world, unsigned rank, unsigned channel) {
  const unsigned channels = Mended ? size / world : size * world;
  if (channel < channels) {
    membar::store<membar::thread_scope::system>(&pad[channel * world + rank], 1U, membar::release);
  }
}
template __global__ void send_on_channel<false>(unsigned*, unsigned, unsigned, unsigned, unsigned);
template __global__ void send_on_channel<true>(unsigned*, unsigned, unsigned, unsigned, unsigned);
