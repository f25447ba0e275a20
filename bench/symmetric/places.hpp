// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A message's address affects its time, because its line is in a slice of L2 that is near or far. A round trip is the mean
/// over several places, at the same distances for every variant except NCCL's, so that none is favoured by chance.
#pragma once

#include <membar/symmetric/heap.hpp>

#include <cstddef>

namespace symmetric_bench {

inline constexpr std::size_t places = 8;
/// The distance from one to the next, in bytes, which varies lines and pages of several sizes.
inline constexpr std::size_t place_distance = std::size_t{33} << 10;

/// Rounds at each place.
[[nodiscard]] constexpr unsigned rounds_of(std::size_t bytes) noexcept { return bytes > 65536 ? 50 : 300; }

/// All-reduces: the largest vector in bytes, and how many of a size are timed together.
inline constexpr std::size_t largest_all_reduce = std::size_t{64} << 20;
[[nodiscard]] constexpr int all_reduces_in_a_row(std::size_t bytes) noexcept {
  return bytes <= std::size_t{1} << 20 ? 100 : 20;
}

/// The mean of `measure(distance)`, with the distance of each place from the first.
template <class Measure>
[[nodiscard]] double over_places(Measure measure) {
  double sum = 0;
  for (std::size_t place = 0; place != places; ++place) {
    sum += measure(place * place_distance);
  }
  return sum / places;
}

/// The mean of `measure(value...)`, which allocates its memory from `heap`, so that it is at each place in turn.
template <class Heap, class Measure, class... Values>
[[nodiscard]] double over_places_of(Heap& heap, Measure measure, Values&... values) {
  return over_places([&](std::size_t distance) {
    const membar::symmetric::scoped_array before(heap.template allocate<unsigned char>(place_distance + distance));
    return measure(values...);
  });
}

}  // namespace symmetric_bench
