// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// A one-stage ring in two blocks of a cluster, with tiles that are relayed and tiles that are multicast. Each block has a
// consumer.
#include <membar/cluster_barrier.cuh>
#include <membar/sync/cluster_broadcast.cuh>

constexpr membar::wait_budget long_enough = membar::wait_budget::milliseconds(10'000);

template <membar::cluster_copies Copies>
__device__ void broadcast(const unsigned* from, unsigned tiles, unsigned* sums, bool writes) {
  using ring_of_tiles = membar::cluster_broadcast<1, 16, Copies>;
  __shared__ ring_of_tiles ring;
  if (threadIdx.x == 0) {
    ring.init(1);
  }
  membar::cluster_sync();
  const bool leads = membar::cluster_block_rank() == 0;
  if (threadIdx.x == 0) {
    typename ring_of_tiles::consumer takes(ring);
    for (unsigned i = 0; i < tiles; ++i) {
      const auto tile = takes.take(long_enough);
      if (tile.result != membar::wait_result::done) {
        __trap();
      }
      unsigned& word = *static_cast<unsigned*>(tile.memory);
      sums[membar::cluster_block_rank()] += word;
      if (writes || !leads) {
        word = 0;
      }
      takes.give_back();
    }
  } else if (leads && threadIdx.x == 1) {
    typename ring_of_tiles::producer fills(ring);
    for (unsigned i = 0; i < tiles; ++i) {
      if (fills.fill(from + 4 * i, 16, long_enough) != membar::wait_result::done) {
        __trap();
      }
    }
  } else if (leads) {
    if constexpr (Copies == membar::cluster_copies::relayed) {
      typename ring_of_tiles::relay passes(ring);
      for (unsigned i = 0; i < tiles; ++i) {
        if (passes.pass_on(16, long_enough) != membar::wait_result::done) {
          __trap();
        }
      }
    }
  }
  membar::cluster_sync();
}

extern "C" __global__ void relayed(const unsigned* from, unsigned tiles, unsigned* sums) {
  broadcast<membar::cluster_copies::relayed>(from, tiles, sums, false);
}

/// The consumer of the first block writes to the stage from which data is relayed, which the contract forbids.
extern "C" __global__ void relayed_and_written(const unsigned* from, unsigned tiles, unsigned* sums) {
  broadcast<membar::cluster_copies::relayed>(from, tiles, sums, true);
}

extern "C" __global__ void multicast(const unsigned* from, unsigned tiles, unsigned* sums) {
  broadcast<membar::cluster_copies::multicast>(from, tiles, sums, true);
}
