// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Finds smaller grids for launches that are too large to explore.
#pragma once

#include <check/scenario.hpp>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace membar_check {

namespace check = membar::check;

struct smaller_grids {
  std::vector<std::array<std::uint32_t, 3>> grids{};  ///< the grid of each launch; empty if there are no suitable grids
  std::string why_not{};                              ///< the reason, as a clause
};

/// Searches for the smallest grids with which the scenario can be explored and its blocks still work. The search tries 2, 4, 8
/// and so on blocks along each dimension. The blocks work if no argument equals the number of blocks, and if the sanitizer
/// finds no thread that waits forever, no out-of-bounds access and no long loop.
[[nodiscard]] smaller_grids smaller_grids_of(const check::scenario& s, std::string_view ptx);

}  // namespace membar_check
