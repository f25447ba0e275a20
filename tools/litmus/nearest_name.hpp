// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds the name that was most likely meant by a mistyped word.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string>
#include <string_view>

namespace membar::litmus_files {

/// Returns how many characters must be inserted, removed, replaced or swapped with a neighbour to turn `left` into `right`.
[[nodiscard]] std::size_t edit_distance(std::string_view left, std::string_view right);

/// Returns the name with the smallest edit distance to `word`, or the first such name if there are several. Returns an empty
/// string if `names` is empty.
template <class Names>
[[nodiscard]] std::string nearest_name(std::string_view word, const Names& names) {
  const auto nearer = [&](const auto& x, const auto& y) { return edit_distance(word, x) < edit_distance(word, y); };
  const auto found = std::min_element(std::begin(names), std::end(names), nearer);
  return found == std::end(names) ? std::string() : std::string(*found);
}

}  // namespace membar::litmus_files
