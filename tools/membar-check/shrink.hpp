// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Smaller grids for launches that are too large to explore.
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
  std::vector<std::array<std::uint32_t, 3>> grids{};  ///< of each launch; empty: there are none
  std::string why_not{};                              ///< a clause
};

/// The smallest grids, of 2, 4, 8 and so on blocks along each dimension, with which the scenario can be explored and its blocks still work. That is
/// so if no argument is the number of blocks, and if the sanitizer sees no thread that waits for ever, no access out of bounds and no long loop.
[[nodiscard]] smaller_grids smaller_grids_of(const check::scenario& s, std::string_view ptx);

}  // namespace membar_check
