// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Order statistics of sample sets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

namespace support {

/// Returns the smallest sample that is at least as large as the fraction `q` of all samples. `sorted` is ascending and not
/// empty.
[[nodiscard]] inline double quantile(const std::vector<double>& sorted, double q) {
  const double rank = std::ceil(q * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

/// Returns the median of samples in any order. At least one sample is required.
[[nodiscard]] inline double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return quantile(samples, 0.5);
}

/// Returns the bounds of the narrowest interval between two samples that contains the median of their distribution with a
/// probability of at least 95 %, for any distribution. `sorted` is ascending; with fewer than six samples there is no such
/// interval.
[[nodiscard]] inline std::optional<std::pair<double, double>> median_interval(const std::vector<double>& sorted) {
  // The k-th smallest sample is above the median if fewer than k samples are below the median. The probability of this is the
  // lower tail of a binomial distribution.
  const auto count = static_cast<double>(sorted.size());
  std::size_t k = 0;
  double probability = std::exp2(-count);
  for (double tail = probability; 2 * tail <= 0.05; tail += probability) {
    ++k;
    probability *= (count - static_cast<double>(k) + 1) / static_cast<double>(k);
  }
  return k == 0 ? std::nullopt : std::optional(std::pair(sorted[k - 1], sorted[sorted.size() - k]));
}

/// Returns the width of the `median_interval` divided by the median, for samples in any order, or nothing for fewer than six
/// samples.
[[nodiscard]] inline std::optional<double> relative_interval(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto ends = median_interval(samples);
  return ends ? std::optional((ends->second - ends->first) / quantile(samples, 0.5)) : std::nullopt;
}

}  // namespace support
