// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a move gained, from the pace of streams and graphs beside listed kernels that were launched in turn as the program does,
/// moved, and with a map that changes nothing.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "membar-domains/records.hpp"

namespace membar_domains {

/// µs that each unit of work of a lane took.
struct lane_times {
  std::string lane;
  std::vector<double> alone;
  std::array<std::vector<double>, 3> beside;  ///< by `mode`
};

/// Sorts ticks by what ran beside them. A tick counts as beside a mode if listed kernels of that mode, and of no other, ran during
/// some of it, and as alone if none ran.
[[nodiscard]] std::vector<lane_times> sort_ticks(const records& of);

struct estimate {
  double value = 0, low = 0, high = 0;  ///< with the interval of 95 %
};

struct lane_gain {
  std::string lane;
  std::size_t count_alone = 0;
  std::array<std::size_t, 3> count{};
  double alone = 0;  ///< median, µs
  std::array<double, 3> p50{}, p99{};
  estimate gain;  ///< time as the program is, divided by time moved
};

struct gain_report {
  std::vector<lane_gain> lanes;  ///< those with enough of each mode, the longest time first
  std::size_t left_out = 0;      ///< lanes that had too few
  estimate gain;                 ///< over all lanes, each with the weight of its time
  estimate control;              ///< the same of the map that changes nothing: 1 if the measurement is right
};

/// Units of work of each mode that a lane must have.
inline constexpr std::size_t enough_ticks = 20;

/// The intervals come from 400 resamples with a fixed seed, so equal input gives equal output.
[[nodiscard]] gain_report gains(const std::vector<lane_times>& lanes);

[[nodiscard]] std::string sentence(const gain_report& report);
[[nodiscard]] std::string table(const gain_report& report);
/// JSON for other programs.
[[nodiscard]] std::string json(const gain_report& report);

}  // namespace membar_domains
