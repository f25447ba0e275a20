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

/// The smallest sample that at least the fraction `q` of all samples does not exceed. `sorted` is ascending and not empty.
[[nodiscard]] inline double quantile(const std::vector<double>& sorted, double q) {
  const double rank = std::ceil(q * static_cast<double>(sorted.size()));
  return sorted[static_cast<std::size_t>(std::max(rank, 1.0)) - 1];
}

/// The median of samples in any order; not empty.
[[nodiscard]] inline double median(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  return quantile(samples, 0.5);
}

/// The ends of the narrowest interval between two samples that holds the median of what they are drawn from with a probability
/// of 95 % or more, whatever their distribution. `sorted` is ascending; fewer than six samples have no such interval.
[[nodiscard]] inline std::optional<std::pair<double, double>> median_interval(const std::vector<double>& sorted) {
  // The k-th from below lies above the median if fewer than k samples are below it: the lower tail of a binomial distribution.
  const auto count = static_cast<double>(sorted.size());
  std::size_t k = 0;
  double probability = std::exp2(-count);
  for (double tail = probability; 2 * tail <= 0.05; tail += probability) {
    ++k;
    probability *= (count - static_cast<double>(k) + 1) / static_cast<double>(k);
  }
  return k == 0 ? std::nullopt : std::optional(std::pair(sorted[k - 1], sorted[sorted.size() - k]));
}

/// The width of that interval of samples in any order, relative to their median; none if they are fewer than six.
[[nodiscard]] inline std::optional<double> relative_interval(std::vector<double> samples) {
  std::sort(samples.begin(), samples.end());
  const auto ends = median_interval(samples);
  return ends ? std::optional((ends->second - ends->first) / quantile(samples, 0.5)) : std::nullopt;
}

}  // namespace support
