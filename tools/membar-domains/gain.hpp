// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Computes what a move gained. It compares the pace of streams and graphs that run concurrently with listed kernels, which are
/// launched in turn as in the program, moved, and with a map that changes nothing.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "membar-domains/overlap.hpp"
#include "membar-domains/records.hpp"

namespace membar_domains {

/// Times in µs per unit of work, by turn. The units of one turn run at about the same time, so they are not independent
/// measurements.
using turns = std::vector<std::vector<double>>;

/// The times in µs of the units of work of a lane.
struct lane_times {
  std::string lane;
  std::vector<double> alone;
  std::array<turns, 3> beside;  ///< concurrent with listed kernels, by `mode`
  std::vector<double> overlap;  ///< for each concurrent unit, the share of its time during which listed kernels ran
  bool distinguished = true;    ///< whether the lane could be identified in each run
};

/// Sorts ticks by the kernels that ran concurrently with them. A tick is alone if no listed kernel ran during it. It belongs to
/// a mode if listed kernels of that mode, and of no other mode, ran during at least half of the share that is usual for the
/// lane: at the edge of a turn, kernels overlap with only a part of a unit. A turn consists of the kernels of one mode before
/// another mode follows.
[[nodiscard]] std::vector<lane_times> sort_ticks(const records& of);

/// Joins the lanes of each process of each run. Lanes with the same name are one lane in all runs. If a run has several lanes
/// of that name, they are identified by their order, which may differ from run to run. They are not distinguished if their
/// times differ.
[[nodiscard]] std::vector<lane_times> joined(const std::vector<std::vector<std::vector<lane_times>>>& runs);

struct estimate {
  double value = 0, low = 0, high = 0;  ///< with the 95 % interval
};

struct lane_gain {
  std::string lane;
  std::size_t count_alone = 0;
  std::array<std::size_t, 3> count{}, turns{};
  double overlap = 0;  ///< the median share
  double alone = 0;    ///< median, µs
  std::array<double, 3> p50{}, p99{};
  estimate gain;  ///< the time as in the program, divided by the time when moved
};

struct gain_report {
  std::vector<lane_gain> lanes;       ///< the lanes with enough units of each mode, the longest time first
  std::size_t left_out = 0;           ///< the number of lanes with too few units
  std::size_t not_distinguished = 0;  ///< the number of lanes that `joined` could not distinguish
  estimate gain;                      ///< over all lanes, each weighted by its time
  /// the same for the map that changes nothing, or for halves of the unmoved turns: 1 if the measurement is sound
  estimate control;
  std::size_t fewest_turns = 0;  ///< the smallest number of turns of a lane in a mode, on which the intervals are based
};

/// The number of units of work of each mode that a lane must have.
inline constexpr std::size_t enough_ticks = 20;

/// The minimum number of turns for a meaningful interval.
inline constexpr std::size_t enough_turns = 5;

/// The intervals are computed from 400 resamples of turns with a fixed seed, so equal input gives equal output.
[[nodiscard]] gain_report gains(const std::vector<lane_times>& lanes);

/// Returns whether the interval of the gain extends at most 2 % to each side, so that more runs would add little.
[[nodiscard]] bool is_narrow(const gain_report& report);

[[nodiscard]] std::string sentence(const gain_report& report, bool whole_runs = false);
[[nodiscard]] std::string table(const gain_report& report);

}  // namespace membar_domains
