// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The findings of all runs, with each pair of places once.
#pragma once

#include <check/program.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace membar::sanitize {

/// Something that a run has found.
struct sanitizer_finding {
  check::finding found{};             ///< its threads are numbers in `found.whole`
  std::vector<std::string> places{};  ///< the lines that it is about, in order
  std::uint64_t count = 0;            ///< how often
  std::uint64_t seed = 0;             ///< of the first schedule that showed it
  std::uint64_t key = 0;              ///< equal for what is the same finding
  bool polls = false;                 ///< the schedule was cut as threads only poll: they may wait for ever, together
};

}  // namespace membar::sanitize
