// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Computes the gain of a move by comparing the pace of streams and graphs that run concurrently with listed kernels. The
/// listed kernels are launched in turns: as in the program, moved, and with a domain map that changes nothing. A lane is a
/// stream or graph whose pace is measured.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "membar-domains/overlap.hpp"
#include "membar-domains/records.hpp"

namespace membar_domains {

/// Times in µs per unit of work, grouped by turn. The units of one turn run at about the same time, so they are not independent
/// measurements.
using turns = std::vector<std::vector<double>>;

/// A lane's times per unit of work, in µs.
struct lane_times {
  std::string lane;
  std::vector<double> alone;
  std::array<turns, 3> beside;  ///< for each `mode`: the times of units that ran concurrently with listed kernels
  std::vector<double> overlap;  ///< for each concurrent unit, the fraction of its time during which listed kernels ran
  bool distinguished = true;    ///< whether the lane could be identified in each run
};

/// Groups ticks, which are the recorded units of work, by the kernels that ran concurrently with them. A tick is alone if no
/// listed kernel ran during it. A tick belongs to a mode if the only listed kernels that ran during it were of this mode, and
/// they ran for at least half of the lane's usual fraction of time. This excludes units at the edge of a turn, because kernels
/// overlap only part of such a unit. A turn consists of the kernels of one mode up to the next change of mode.
[[nodiscard]] std::vector<lane_times> sort_ticks(const records& of);

/// Joins the lanes of all processes and runs. Lanes with the same name are the same lane in all runs. If a run has several
/// lanes with the same name, they are identified by their order, which may differ from run to run. Therefore, such lanes count
/// as indistinguishable if their times differ.
[[nodiscard]] std::vector<lane_times> joined(const std::vector<std::vector<std::vector<lane_times>>>& runs);

struct estimate {
  double value = 0, low = 0, high = 0;  ///< `low` and `high` are the limits of the 95 % confidence interval
};

struct lane_gain {
  std::string lane;
  std::size_t count_alone = 0;
  std::array<std::size_t, 3> count{}, turns{};
  double overlap = 0;  ///< the median fraction of a concurrent unit's time during which listed kernels ran
  double alone = 0;    ///< the median time, in µs, of a unit without concurrent listed kernels
  std::array<double, 3> p50{}, p99{};
  estimate gain;  ///< the time with the listed kernels as in the program, divided by the time with the kernels moved
};

struct gain_report {
  std::vector<lane_gain> lanes;       ///< the lanes with enough units of each mode, longest time first
  std::size_t left_out = 0;           ///< the number of lanes with too few units
  std::size_t not_distinguished = 0;  ///< the number of lanes that `joined` could not distinguish
  estimate gain;                      ///< over all lanes, weighted by their times
  /// the gain of the domain map that changes nothing, or of one half of the unmoved turns relative to the other half; it is 1
  /// if the measurement is sound
  estimate control;
  /// the minimum number of turns over all lanes and modes; the intervals are computed by resampling turns
  std::size_t fewest_turns = 0;
};

/// The minimum number of units of work that a lane needs in each mode.
inline constexpr std::size_t enough_ticks = 20;

/// The minimum number of turns for a meaningful interval.
inline constexpr std::size_t enough_turns = 5;

/// Computes the gains. The intervals come from 400 resamples of the turns with a fixed seed, so equal input gives equal output.
[[nodiscard]] gain_report gains(const std::vector<lane_times>& lanes);

/// Returns whether the gain's interval extends at most 2 % to each side. More runs would then add little.
[[nodiscard]] bool is_narrow(const gain_report& report);

[[nodiscard]] std::string sentence(const gain_report& report, bool whole_runs = false);
[[nodiscard]] std::string table(const gain_report& report);

}  // namespace membar_domains
