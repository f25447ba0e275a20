// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Decides when a case has been repeated often enough.
#pragma once

#include <bench/common/statistics.hpp>

#include <algorithm>
#include <random>
#include <vector>

namespace fence_interference {

/// The ratio of two cases counts as known if its spread (the square root of the sum of the squares of the two cases' intervals)
/// is at most this value.
inline constexpr double most_spread = 0.05;

/// Returns whether the ratio of any two cases with such medians is known.
[[nodiscard]] inline bool is_steady(const std::vector<double>& medians) {
  const auto interval = support::relative_interval(medians);
  return interval && 2 * *interval * *interval <= most_spread * most_spread;
}

/// Repeats cases in rounds until each case's medians are steady or the time is up. `medians_of(each)` returns the medians so
/// far; `again(each, left)` adds a median while `left` cases remain, or returns false if the case cannot be measured further.
template <class Case, class MediansOf, class Again, class IsOver>
void settle(std::vector<Case> cases, const MediansOf& medians_of, const Again& again, const IsOver& is_over) {
  std::mt19937 random;
  while (std::erase_if(cases, [&](const Case& each) { return is_steady(medians_of(each)); }), !cases.empty() && !is_over()) {
    std::shuffle(cases.begin(), cases.end(), random);  // Machine drift then affects all cases equally.
    const auto left = cases.size();
    std::erase_if(cases, [&](const Case& each) { return is_over() || !again(each, left); });
  }
}

}  // namespace fence_interference
