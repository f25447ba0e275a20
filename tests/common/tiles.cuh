// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Tiles whose contents show whether they are lost, torn or overwritten, for the tests of stage rings.
#pragma once

#include <tests/common/checked.cuh>
#include <tests/common/gpu_test.hpp>
#include <tests/common/sync.cuh>

#include <cstddef>
#include <vector>

namespace membar_test {

inline constexpr unsigned tile_words = 256;
inline constexpr unsigned tile_bytes = tile_words * sizeof(unsigned);

struct tile_outcome {
  unsigned long long tiles;
  unsigned long long wrong;
  unsigned late;
};

[[nodiscard]] MEMBAR_HOST_DEVICE inline unsigned word_of(unsigned tile, unsigned word) { return tile * 2654435761U + word; }

/// Returns the words of this many tiles, one tile after another.
[[nodiscard]] inline std::vector<unsigned> words_of(unsigned tiles) {
  std::vector<unsigned> words(static_cast<std::size_t>(tiles) * tile_words);
  for (unsigned tile = 0; tile < tiles; ++tile) {
    for (unsigned word = 0; word < tile_words; ++word) {
      words[static_cast<std::size_t>(tile) * tile_words + word] = word_of(tile, word);
    }
  }
  return words;
}

/// Fills the ring with `all` tiles, starting with tile `first` of `tiles`. Returns whether it timed out.
template <class Ring>
__device__ bool fill_all(Ring& ring, const unsigned* from, unsigned tiles, unsigned first, unsigned long long all) {
  typename Ring::producer fills(ring);
  bool late = false;
  for (unsigned long long done = 0; done < all && !late; ++done) {
    late = fills.fill(from + (done + first) % tiles * tile_words, tile_bytes, generous) != wait_result::done;
  }
  return late;
}

/// A lane of a consuming warp: checks its words in every tile, overwrites them if `overwrites` is true, and counts the tiles.
/// Returns whether it timed out.
template <class Ring>
__device__ bool check_all(Ring& ring, tile_outcome* seen, unsigned lane, unsigned tiles, unsigned first, unsigned long long all,
                          bool overwrites = true) {
  typename Ring::consumer takes(ring);
  unsigned long long wrong = 0;
  unsigned long long done = 0;
  bool late = false;
  for (; done < all; ++done) {
    const typename Ring::tile tile = takes.take(generous);
    if (tile.result != wait_result::done) {
      late = true;
      break;
    }
    auto* const words = static_cast<unsigned*>(tile.memory);
    for (unsigned word = lane; word < tile_words; word += 32) {
      wrong += checked(words[word] != word_of(static_cast<unsigned>((done + first) % tiles), word));
      if (overwrites) {
        words[word] = ~0U;  // This store must not take effect after the next tile has arrived.
      }
    }
    takes.give_back();
  }
  if (lane == 0) {
    atomicAdd(&seen->tiles, done);
  }
  if (wrong != 0) {
    atomicAdd(&seen->wrong, wrong);
  }
  return late;
}

}  // namespace membar_test
