// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Determines what the programmatic dependent launches of a recorded program access before the preceding kernels have ended.
#pragma once

#include <membar-check/recorded_job.hpp>

#include <string>
#include <vector>

namespace membar_check {

/// Launches of one kernel after the same other kernel, with the same result.
struct dependent_row {
  enum class verdict_t : unsigned char {
    wrong,     ///< bytes were accessed early that the other kernel writes or, for early writes, reads
    possible,  ///< possible according to the launches' pointers; the kernels could not be executed
  };
  verdict_t verdict = verdict_t::wrong;
  std::string kernel{}, other{};
  bool predecessor = true;        ///< whether the other kernel is the direct predecessor and not an earlier one
  std::string reads{}, writes{};  ///< the early accesses, or "none"
  std::string sentence{};
  int launches = 1;
};

struct dependents_report {
  std::vector<dependent_row> rows{};
  int launches = 0;             ///< the number of programmatic dependent launches
  int right = 0;                ///< the number in which no data that others write was accessed early
  int without_predecessor = 0;  ///< the number whose preceding kernel is not known
  std::vector<std::string> sentences{};

  /// Formats it as the lines of a table.
  [[nodiscard]] std::string text() const;
};

/// Executes the dependent launches, and the launches that they follow, one after the other on the recorded memory.
[[nodiscard]] dependents_report dependents_of(const std::vector<recorded_job>& jobs);

}  // namespace membar_check
