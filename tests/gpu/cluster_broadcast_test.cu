// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// Tests the broadcast of tiles to a cluster: no tile is lost, torn, or overwritten while a block reads it, and all waits end.
#include <membar/sync/cluster_broadcast.cuh>

#include <tests/common/gpu_test.hpp>
#include <tests/common/stress.hpp>
#include <tests/common/sync.cuh>
#include <tests/common/tiles.cuh>

#include <algorithm>

namespace membar_test {
namespace {

using membar::cluster_copies;
template <cluster_copies Copies>
using broadcast = membar::cluster_broadcast<4, tile_bytes, Copies>;

/// Relays `all` tiles. Returns whether it timed out.
template <cluster_copies Copies>
__device__ bool relay_all(broadcast<Copies>& ring, unsigned long long all) {
  bool late = false;
  if constexpr (Copies == cluster_copies::relayed) {
    typename broadcast<Copies>::relay passes(ring);
    for (unsigned long long done = 0; done < all && !late; ++done) {
      late = passes.pass_on(tile_bytes, generous) != wait_result::done;
    }
  }
  return late;
}

/// In the first block, one thread fills the ring and one thread relays tiles. In each block, a warp consumes the tiles: each
/// lane checks its words in every tile, and overwrites them except in the stages from which tiles are relayed.
template <cluster_copies Copies>
__global__ void check_broadcast(tile_outcome* seen, const unsigned* from, unsigned tiles, unsigned rounds) {
  __shared__ broadcast<Copies> ring;
  if (threadIdx.x == 0) {
    ring.init(32);
  }
  membar::cluster_sync();
  const unsigned long long all = static_cast<unsigned long long>(tiles) * rounds;
  const unsigned first = blockIdx.x / membar::cluster_block_count();
  bool late = false;
  if (threadIdx.x < 32) {
    const bool passed_on = Copies == cluster_copies::relayed && membar::cluster_block_rank() == 0;
    late = check_all(ring, seen, threadIdx.x, tiles, first, all, !passed_on);
  } else if (membar::cluster_block_rank() == 0) {
    late = threadIdx.x == 32 ? fill_all(ring, from, tiles, first, all) : threadIdx.x == 64 ? relay_all(ring, all) : false;
  }
  if (late) {
    atomicExch(&seen->late, 1U);
  }
  membar::cluster_sync();  // The first block's barriers are in use until all blocks have finished.
}

/// Tests a producer whose tiles one of the two blocks does not consume, and consumers without a producer. Both tests use one
/// thread per block.
template <cluster_copies Copies>
__global__ void wait_in_vain(wait_result* results, const unsigned* from) {
  __shared__ broadcast<Copies> ring;
  ring.init(1);
  membar::cluster_sync();
  const bool leads = membar::cluster_block_rank() == 0;
  wait_result* const mine = results + (leads ? 0 : 8);
  typename broadcast<Copies>::producer fills(ring);
  typename broadcast<Copies>::consumer takes(ring);
  mine[0] = takes.take(short_one).result;
  membar::cluster_sync();
  if (leads) {
    for (int i = 0; i < 4; ++i) {
      mine[1 + i] = fills.fill(from, tile_bytes, short_one);
    }
    static_cast<void>(relay_all(ring, 4));
    mine[5] = takes.take(generous).result;
    takes.give_back();
    mine[6] = fills.fill(from, tile_bytes, short_one);
  }
  membar::cluster_sync();
  if (!leads) {
    mine[5] = takes.take(generous).result;
    takes.give_back();
  }
  membar::cluster_sync();
  if (leads) {
    mine[7] = fills.fill(from, tile_bytes, generous);
  }
  membar::cluster_sync();
  // No block may end while a copy writes to it. The last tile is not relayed, and is therefore only in the first block.
  for (int i = 0; i < (leads || Copies == cluster_copies::multicast ? 4 : 3); ++i) {
    static_cast<void>(takes.take(generous));
  }
  membar::cluster_sync();
}

class cluster_broadcast : public gpu_test {
 protected:
  void prepare() override { need_compute_capability(9, "clusters and bulk copies"); }

  template <cluster_copies Copies>
  static void expect_every_tile(unsigned cluster) {
    constexpr unsigned tiles = 1'024;
    constexpr unsigned blocks = 128;
    const unsigned rounds =
        std::max(1U, static_cast<unsigned>(stress_count("MEMBAR_STRESS_TILES", 5'000'000) / tiles / blocks));
    const device_copy<unsigned> from(words_of(tiles));
    const support::device_memory<tile_outcome> seen(1);
    membar::launch(launch_config{blocks, 96}.with(membar::cluster_dimensions{cluster, 1, 1}), check_broadcast<Copies>,
                   seen.get(), static_cast<const unsigned*>(from.get()), tiles, rounds);
    const tile_outcome got = copied(seen)[0];
    EXPECT_EQ(got.late, 0U);
    EXPECT_EQ(got.wrong, 0U);
    EXPECT_EQ(got.tiles, static_cast<unsigned long long>(tiles) * rounds * blocks);
  }

  template <cluster_copies Copies>
  static void expect_waits_end() {
    const device_copy<unsigned> from(words_of(1));
    const support::device_memory<wait_result> results(16);
    membar::launch(launch_config{2, 1}.with(membar::cluster_dimensions{2, 1, 1}), wait_in_vain<Copies>, results.get(),
                   static_cast<const unsigned*>(from.get()));
    const auto got = copied(results);
    EXPECT_EQ(got[0], wait_result::timed_out) << "nothing was filled";
    EXPECT_EQ(got[8], wait_result::timed_out) << "nothing was filled, in the other block";
    for (std::size_t i = 1; i <= 4; ++i) {
      EXPECT_EQ(got[i], wait_result::done) << "stage " << i;
    }
    EXPECT_EQ(got[5], wait_result::done);
    EXPECT_EQ(got[6], wait_result::timed_out) << "the other block has not returned the stage";
    EXPECT_EQ(got[13], wait_result::done) << "the tile has reached the other block";
    EXPECT_EQ(got[7], wait_result::done) << "both blocks have returned the stage";
  }
};

TEST_F(cluster_broadcast, relays_every_tile_whole_to_two_blocks) { expect_every_tile<cluster_copies::relayed>(2); }
TEST_F(cluster_broadcast, relays_every_tile_whole_to_eight_blocks) { expect_every_tile<cluster_copies::relayed>(8); }
TEST_F(cluster_broadcast, sends_every_tile_whole_to_two_blocks_at_once) { expect_every_tile<cluster_copies::multicast>(2); }
TEST_F(cluster_broadcast, sends_every_tile_whole_to_eight_blocks_at_once) { expect_every_tile<cluster_copies::multicast>(8); }
TEST_F(cluster_broadcast, serves_clusters_of_one_block) { expect_every_tile<cluster_copies::relayed>(1); }
TEST_F(cluster_broadcast, waits_end_where_tiles_are_relayed) { expect_waits_end<cluster_copies::relayed>(); }
TEST_F(cluster_broadcast, waits_end_where_tiles_are_multicast) { expect_waits_end<cluster_copies::multicast>(); }

}  // namespace
}  // namespace membar_test
