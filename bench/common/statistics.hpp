// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Order statistics of sample sets.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
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

}  // namespace support
