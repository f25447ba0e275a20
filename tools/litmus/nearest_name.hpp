// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The name that a mistyped word was most likely meant to be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace membar::litmus_files {

using namespace model;

/// How many letters must be inserted, removed, replaced or exchanged with their neighbour to make `right` of `left`.
[[nodiscard]] inline std::size_t edit_distance(std::string_view left, std::string_view right) {
  std::vector<std::vector<std::size_t>> table(left.size() + 1, std::vector<std::size_t>(right.size() + 1));
  for (std::size_t i = 0; i <= left.size(); ++i) {
    for (std::size_t j = 0; j <= right.size(); ++j) {
      if (i == 0 || j == 0) {
        table[i][j] = i + j;
        continue;
      }
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1,
                              table[i - 1][j - 1] + (left[i - 1] == right[j - 1] ? std::size_t{0} : std::size_t{1})});
      if (i > 1 && j > 1 && left[i - 1] == right[j - 2] && left[i - 2] == right[j - 1]) {
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
      }
    }
  }
  return table[left.size()][right.size()];
}

/// The first of `names` that is nearest to `word`; empty if there are none.
template <class Names>
[[nodiscard]] std::string nearest_name(std::string_view word, const Names& names) {
  const auto nearer = [&](const auto& x, const auto& y) { return edit_distance(word, x) < edit_distance(word, y); };
  const auto found = std::min_element(std::begin(names), std::end(names), nearer);
  return found == std::end(names) ? std::string() : std::string(*found);
}

}  // namespace membar::litmus_files
