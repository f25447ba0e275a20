// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What a move gained, from the pace of streams and graphs beside listed kernels that were launched in turn as the program does,
/// moved, and with a map that changes nothing.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "membar-domains/overlap.hpp"
#include "membar-domains/records.hpp"

namespace membar_domains {

/// µs per unit of work, by turn: the units of one turn run at about the same time, so they are not independent measurements.
using turns = std::vector<std::vector<double>>;

/// µs that each unit of work of a lane took.
struct lane_times {
  std::string lane;
  std::vector<double> alone;
  std::array<turns, 3> beside;  ///< by `mode`
  std::vector<double> overlap;  ///< for each concurrent unit, the share of its time during which listed kernels ran
  bool distinguished = true;    ///< which lane it is in each run
};

/// Sorts ticks by what ran beside them. A tick is alone if no listed kernel ran during it. It is beside a mode if listed kernels of
/// that mode, and of no other, ran during some of it, and during at least half of what is usual for the lane: at the edge of a turn
/// a unit is beside nothing for a part. A turn is what ran of one mode before another.
[[nodiscard]] std::vector<lane_times> sort_ticks(const records& of);

/// The lanes of each process of each run; those of one name are one in all runs. Others of that name in a run are known by their
/// order, which may be another one in each run: they are not told if they differ in their times.
[[nodiscard]] std::vector<lane_times> joined(const std::vector<std::vector<std::vector<lane_times>>>& runs);

struct estimate {
  double value = 0, low = 0, high = 0;  ///< with the interval of 95 %
};

struct lane_gain {
  std::string lane;
  std::size_t count_alone = 0;
  std::array<std::size_t, 3> count{}, turns{};
  double overlap = 0;  ///< median share
  double alone = 0;    ///< median, µs
  std::array<double, 3> p50{}, p99{};
  estimate gain;  ///< time as the program is, divided by time moved
};

struct gain_report {
  std::vector<lane_gain> lanes;       ///< those with enough of each mode, the longest time first
  std::size_t left_out = 0;           ///< lanes that had too few
  std::size_t not_distinguished = 0;  ///< lanes that `joined` could not distinguish
  estimate gain;                      ///< over all lanes, each with the weight of its time
  estimate
      control;  ///< the same of the map that changes nothing, or of halves of what ran as it is: 1 if the measurement is right
  std::size_t fewest_turns = 0;  ///< of a lane and a mode: what the intervals rest on
};

/// Units of work of each mode that a lane must have.
inline constexpr std::size_t enough_ticks = 20;

/// The fewest turns for a meaningful interval.
inline constexpr std::size_t enough_turns = 5;

/// The intervals come from 400 resamples of turns with a fixed seed, so equal input gives equal output.
[[nodiscard]] gain_report gains(const std::vector<lane_times>& lanes);

/// Whether the interval of the gain extends at most 2 % to each side, so that more runs would add little.
[[nodiscard]] bool is_narrow(const gain_report& report);

[[nodiscard]] std::string sentence(const gain_report& report, bool whole_runs = false);
[[nodiscard]] std::string table(const gain_report& report);

}  // namespace membar_domains
