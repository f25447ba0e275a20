// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// A limit on processor time.
#pragma once

#include <ctime>
#include <limits>
#include <string>

namespace membar::check {

/// A limit on the processor time that this process spends after the limit's construction.
class time_limit {
 public:
  /// No limit.
  time_limit() = default;
  explicit time_limit(double seconds) noexcept : seconds_(seconds), end_(now() + seconds) {}

  [[nodiscard]] double seconds() const noexcept { return seconds_; }
  /// Returns the limit in words; there must be one.
  [[nodiscard]] std::string text() const {
    const std::string number = std::to_string(static_cast<long long>(seconds_));
    return number + (number == "1" ? " second" : " seconds");
  }
  [[nodiscard]] bool is_reached() const noexcept { return now() >= end_; }

 private:
  [[nodiscard]] static double now() noexcept { return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC); }

  double seconds_ = std::numeric_limits<double>::infinity();
  double end_ = std::numeric_limits<double>::infinity();
};

}  // namespace membar::check
