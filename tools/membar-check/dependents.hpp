// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// What the programmatic dependent launches of a recorded program access before the kernels before them have ended.
#pragma once

#include <membar-check/recorded_job.hpp>

#include <string>
#include <vector>

namespace membar_check {

/// Launches of one kernel after one other, with the same result.
struct dependent_row {
  enum class verdict_t : unsigned char {
    wrong,     ///< bytes were accessed early that the other kernel writes or, for early writes, reads
    possible,  ///< by the launches' pointers that may be so; the kernels could not be executed
  };
  verdict_t verdict = verdict_t::wrong;
  std::string kernel{}, other{};
  bool predecessor = true;        ///< the other kernel is the one before, and not an earlier one
  std::string reads{}, writes{};  ///< what is accessed early, or "none"
  std::string sentence{};
  int launches = 1;
};

struct dependents_report {
  std::vector<dependent_row> rows{};
  int launches = 0;             ///< that were programmatic dependents
  int right = 0;                ///< in which nothing that others write was accessed early
  int without_predecessor = 0;  ///< whose kernel before is not known
  std::vector<std::string> sentences{};

  /// As lines of a table.
  [[nodiscard]] std::string text() const;
};

/// Executes the launches that are dependents, and those that they follow, one after the other on the recorded memory.
[[nodiscard]] dependents_report dependents_of(const std::vector<recorded_job>& jobs);

}  // namespace membar_check
