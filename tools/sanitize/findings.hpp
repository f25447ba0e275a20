// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The findings of all runs. Each pair of places is stored once.
#pragma once

#include <check/program.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace membar::sanitize {

/// A finding of the runs.
struct sanitizer_finding {
  check::finding found{};             ///< its threads are indices of `found.whole`
  std::vector<std::string> places{};  ///< the source lines involved, in order
  std::uint64_t count = 0;            ///< the number of times it was found
  std::uint64_t seed = 0;             ///< the seed of the first schedule that showed it
  std::uint64_t key = 0;              ///< equal for equal findings
  bool polls = false;                 ///< the schedule was cut short because threads only poll: together, they may wait forever
};

}  // namespace membar::sanitize
