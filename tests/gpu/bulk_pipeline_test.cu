// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
// The pipeline of bulk copies: no tile is lost, torn or overwritten while it is read, and its waits end.
#include <membar/sync/bulk_pipeline.cuh>

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/stress.hpp>
#include <tests/common/sync.cuh>

#include <algorithm>
#include <cstddef>

namespace membar_test {
namespace {

constexpr unsigned tile_words = 256;
constexpr unsigned tile_bytes = tile_words * sizeof(unsigned);
using pipeline = membar::bulk_pipeline<4, tile_bytes>;

struct outcome {
  unsigned long long tiles;
  unsigned long long wrong;
  unsigned late;
};

[[nodiscard]] MEMBAR_HOST_DEVICE inline unsigned word_of(unsigned tile, unsigned word) { return tile * 2654435761U + word; }

/// One thread fills, a warp consumes: each lane checks its words of every tile, and writes over them.
__global__ void check_tiles(outcome* seen, const unsigned* from, unsigned tiles, unsigned rounds) {
  __shared__ pipeline ring;
  if (threadIdx.x == 0) {
    ring.init(32);
  }
  __syncthreads();
  const unsigned long long all = static_cast<unsigned long long>(tiles) * rounds;
  bool late = false;
  unsigned long long wrong = 0;
  unsigned long long done = 0;
  if (threadIdx.x == 32) {
    pipeline::producer fills(ring);
    for (; done < all && !late; ++done) {
      late = fills.fill(from + (done + blockIdx.x) % tiles * tile_words, tile_bytes, generous) != wait_result::done;
    }
  } else if (threadIdx.x < 32) {
    pipeline::consumer takes(ring);
    for (; done < all && !late; ++done) {
      const pipeline::tile tile = takes.take(generous);
      if (tile.result != wait_result::done) {
        late = true;
        break;
      }
      auto* const words = static_cast<unsigned*>(tile.memory);
      for (unsigned word = threadIdx.x; word < tile_words; word += 32) {
        wrong += checked(words[word] != word_of(static_cast<unsigned>((done + blockIdx.x) % tiles), word));
        words[word] = ~0U;  // must not come after the next tile
      }
      takes.give_back();
    }
    if (threadIdx.x == 0) {
      atomicAdd(&seen->tiles, done);
    }
  }
  if (wrong != 0) {
    atomicAdd(&seen->wrong, wrong);
  }
  if (late) {
    atomicExch(&seen->late, 1U);
  }
}

/// A copy: one thread fills, another one copies each stage out in bulk and gives the one before back.
__global__ void copy_tiles(outcome* seen, const unsigned* from, unsigned* to, unsigned tiles) {
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

/// A producer that nobody consumes of, and a consumer that nobody fills for.
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
  for (int i = 0; i < pipeline::stages; ++i) {  // a block does not end while a copy writes its memory
    static_cast<void>(takes.take(generous));
  }
}

class bulk_pipeline : public gpu_test {
 protected:
  void prepare() override { need_compute_capability(9, "bulk copies"); }

  static std::vector<unsigned> words_of(unsigned tiles) {
    std::vector<unsigned> words(static_cast<std::size_t>(tiles) * tile_words);
    for (unsigned tile = 0; tile < tiles; ++tile) {
      for (unsigned word = 0; word < tile_words; ++word) {
        words[static_cast<std::size_t>(tile) * tile_words + word] = word_of(tile, word);
      }
    }
    return words;
  }
};

TEST_F(bulk_pipeline, hands_over_every_tile_whole) {
  constexpr unsigned tiles = 1'024;
  constexpr unsigned blocks = 264;
  const unsigned rounds = std::max(1U, static_cast<unsigned>(stress_count("MEMBAR_STRESS_TILES", 20'000'000) / tiles / blocks));
  const device_copy<unsigned> from(words_of(tiles));
  const support::device_memory<outcome> seen(1);
  membar::launch({blocks, 64}, check_tiles, seen.get(), static_cast<const unsigned*>(from.get()), tiles, rounds);
  const outcome got = copied(seen)[0];
  EXPECT_EQ(got.late, 0U);
  EXPECT_EQ(got.wrong, 0U);
  EXPECT_EQ(got.tiles, static_cast<unsigned long long>(tiles) * rounds * blocks);
}

TEST_F(bulk_pipeline, copies_every_tile) {
  constexpr unsigned tiles = 65'536;
  const std::vector<unsigned> words = words_of(tiles);
  const device_copy<unsigned> from(words);
  const support::device_memory<unsigned> to(words.size());
  const support::device_memory<outcome> seen(1);
  membar::launch({264, 64}, copy_tiles, seen.get(), static_cast<const unsigned*>(from.get()), to.get(), tiles);
  const outcome got = copied(seen)[0];
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
  EXPECT_EQ(got[7], wait_result::done) << "a stage was given back";
}

}  // namespace
}  // namespace membar_test
