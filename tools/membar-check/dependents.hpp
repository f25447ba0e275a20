// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines what the programmatic dependent launches of a recorded program access before the preceding kernels have ended.
#pragma once

#include <membar-check/recorded_job.hpp>

#include <string>
#include <vector>

namespace membar_check {

/// Launches of one kernel that have the same preceding kernel and the same result.
struct dependent_row {
  enum class verdict_t : unsigned char {
    wrong,     ///< an early read of bytes that the other kernel writes, or an early write of bytes that it accesses
    possible,  ///< an early access is possible according to the launches' pointers; at least one kernel could not be executed
  };
  verdict_t verdict = verdict_t::wrong;
  std::string kernel{}, other{};
  bool predecessor = true;        ///< whether the other kernel is the direct predecessor, not an earlier launch
  std::string reads{}, writes{};  ///< the early accesses, or "none"
  std::string sentence{};
  int launches = 1;
};

struct dependents_report {
  std::vector<dependent_row> rows{};
  int launches = 0;             ///< the number of programmatic dependent launches
  int right = 0;                ///< the number of launches for which no wrong or possible early access was found
  int without_predecessor = 0;  ///< the number of launches whose preceding kernel is not known
  std::vector<std::string> sentences{};

  /// Formats the report as a table.
  [[nodiscard]] std::string text() const;
};

/// Executes the dependent launches, and the launches that precede them, one after another on the recorded memory.
[[nodiscard]] dependents_report dependents_of(const std::vector<recorded_job>& jobs);

}  // namespace membar_check
