// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The address of a message affects its time, because its line is in a near or a far slice of L2. The time of a round trip is
/// therefore the mean over several places, at the same distances for every variant except NCCL's, so that no variant is
/// favoured by chance.
#pragma once

#include <membar/symmetric/heap.hpp>

#include <cstddef>

namespace symmetric_bench {

inline constexpr std::size_t places = 8;
/// The distance in bytes from one place to the next, chosen so that the places are in different lines and in different pages of
/// several sizes.
inline constexpr std::size_t place_distance = std::size_t{33} << 10;

/// Rounds at each place.
[[nodiscard]] constexpr unsigned rounds_of(std::size_t bytes) noexcept { return bytes > 65536 ? 50 : 300; }

/// For all-reduces: the largest vector in bytes, and the number of all-reduces of a size that are timed together.
inline constexpr std::size_t largest_all_reduce = std::size_t{64} << 20;
[[nodiscard]] constexpr int all_reduces_in_a_row(std::size_t bytes) noexcept {
  return bytes <= std::size_t{1} << 20 ? 100 : 20;
}

/// Returns the mean of `measure(distance)`, called with the distance of each place from the first.
template <class Measure>
[[nodiscard]] double over_places(Measure measure) {
  double sum = 0;
  for (std::size_t place = 0; place != places; ++place) {
    sum += measure(place * place_distance);
  }
  return sum / places;
}

/// Returns the mean of `measure(value...)`, which allocates its memory from `heap`, so that the memory is at each place in
/// turn.
template <class Heap, class Measure, class... Values>
[[nodiscard]] double over_places_of(Heap& heap, Measure measure, Values&... values) {
  return over_places([&](std::size_t distance) {
    const membar::symmetric::scoped_array before(heap.template allocate<unsigned char>(place_distance + distance));
    return measure(values...);
  });
}

}  // namespace symmetric_bench
