// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The bulk-copy pipeline: no tile is lost, torn, or overwritten during a read, and all waits end.
#include <membar/sync/bulk_pipeline.cuh>

#include <tests/common/gpu_test.hpp>
#include <tests/common/stress.hpp>
#include <tests/common/sync.cuh>
#include <tests/common/tiles.cuh>

#include <algorithm>
#include <cstddef>

namespace membar_test {
namespace {

using pipeline = membar::bulk_pipeline<4, tile_bytes>;

/// One thread fills the ring and a warp consumes the tiles: each lane checks its words in every tile, and overwrites them.
__global__ void check_tiles(tile_outcome* seen, const unsigned* from, unsigned tiles, unsigned rounds) {
  __shared__ pipeline ring;
  if (threadIdx.x == 0) {
    ring.init(32);
  }
  __syncthreads();
  const unsigned long long all = static_cast<unsigned long long>(tiles) * rounds;
  const bool late = threadIdx.x == 32  ? fill_all(ring, from, tiles, blockIdx.x, all)
                    : threadIdx.x < 32 ? check_all(ring, seen, threadIdx.x, tiles, blockIdx.x, all)
                                       : false;
  if (late) {
    atomicExch(&seen->late, 1U);
  }
}

/// A copy: one thread fills the stages; another thread copies each stage out in bulk and returns the previous stage.
__global__ void copy_tiles(tile_outcome* seen, const unsigned* from, unsigned* to, unsigned tiles) {
  __shared__ pipeline ring;
  if (threadIdx.x == 0) {
    ring.init(1);
  }
  __syncthreads();
  bool late = false;
  unsigned long long done = 0;
  if (threadIdx.x == 32) {
    pipeline::producer fills(ring);
    for (unsigned tile = blockIdx.x; tile < tiles && !late; tile += gridDim.x) {
      late = fills.fill(from + static_cast<std::size_t>(tile) * tile_words, tile_bytes, generous) != wait_result::done;
    }
  } else if (threadIdx.x == 0) {
    pipeline::consumer takes(ring);
    for (unsigned tile = blockIdx.x; tile < tiles && !late; tile += gridDim.x, ++done) {
      const pipeline::tile here = takes.take(generous);
      late = here.result != wait_result::done;
      if (!late) {
        membar::bulk_commit(membar::bulk_store(to + static_cast<std::size_t>(tile) * tile_words, here.memory, tile_bytes));
        if (done > 0) {
          membar::bulk_wait_read<1>();
          takes.give_back();
        }
      }
    }
    membar::bulk_wait();
    atomicAdd(&seen->tiles, done);
  }
  if (late) {
    atomicExch(&seen->late, 1U);
  }
}

/// A producer without a consumer, and a consumer without a producer.
__global__ void wait_in_vain(wait_result* results, const unsigned* from) {
  __shared__ pipeline ring;
  ring.init(1);
  pipeline::producer fills(ring);
  pipeline::consumer takes(ring);
  results[0] = takes.take(short_one).result;
  for (int i = 0; i < pipeline::stages; ++i) {
    results[1 + i] = fills.fill(from, tile_bytes, short_one);
  }
  results[5] = fills.fill(from, tile_bytes, short_one);
  results[6] = takes.take(generous).result;
  takes.give_back();
  results[7] = fills.fill(from, tile_bytes, generous);
  for (int i = 0; i < pipeline::stages; ++i) {  // A block must not end while a copy writes to its memory.
    static_cast<void>(takes.take(generous));
  }
}

class bulk_pipeline : public gpu_test {
 protected:
  void prepare() override { need_compute_capability(9, "bulk copies"); }
};

TEST_F(bulk_pipeline, hands_over_every_tile_whole) {
  constexpr unsigned tiles = 1'024;
  constexpr unsigned blocks = 264;
  const unsigned rounds = std::max(1U, static_cast<unsigned>(stress_count("MEMBAR_STRESS_TILES", 20'000'000) / tiles / blocks));
  const device_copy<unsigned> from(words_of(tiles));
  const support::device_memory<tile_outcome> seen(1);
  membar::launch({blocks, 64}, check_tiles, seen.get(), static_cast<const unsigned*>(from.get()), tiles, rounds);
  const tile_outcome got = copied(seen)[0];
  EXPECT_EQ(got.late, 0U);
  EXPECT_EQ(got.wrong, 0U);
  EXPECT_EQ(got.tiles, static_cast<unsigned long long>(tiles) * rounds * blocks);
}

TEST_F(bulk_pipeline, copies_every_tile) {
  constexpr unsigned tiles = 65'536;
  const std::vector<unsigned> words = words_of(tiles);
  const device_copy<unsigned> from(words);
  const support::device_memory<unsigned> to(words.size());
  const support::device_memory<tile_outcome> seen(1);
  membar::launch({264, 64}, copy_tiles, seen.get(), static_cast<const unsigned*>(from.get()), to.get(), tiles);
  const tile_outcome got = copied(seen)[0];
  EXPECT_EQ(got.late, 0U);
  EXPECT_EQ(got.tiles, tiles);
  EXPECT_EQ(copied(to), words);
}

TEST_F(bulk_pipeline, waits_end) {
  const device_copy<unsigned> from(words_of(1));
  const support::device_memory<wait_result> results(8);
  membar::launch({1, 1}, wait_in_vain, results.get(), static_cast<const unsigned*>(from.get()));
  const auto got = copied(results);
  EXPECT_EQ(got[0], wait_result::timed_out) << "nothing was filled";
  for (int i = 1; i <= 4; ++i) {
    EXPECT_EQ(got[static_cast<std::size_t>(i)], wait_result::done) << "stage " << i;
  }
  EXPECT_EQ(got[5], wait_result::timed_out) << "all stages are full";
  EXPECT_EQ(got[6], wait_result::done);
  EXPECT_EQ(got[7], wait_result::done) << "a stage was returned";
}

}  // namespace
}  // namespace membar_test
