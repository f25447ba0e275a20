// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The findings of all runs. Findings of the same kind at the same pair of instructions are stored once.
#pragma once

#include <check/program.hpp>

#include <cstdint>
#include <string>
#include <vector>

namespace membar::sanitize {

/// A finding from one or more runs.
struct sanitizer_finding {
  check::finding found{};         ///< its thread numbers are indices in `found.whole`
  std::string object{};           ///< the name of the memory object involved; empty if there is none
  std::string reading{};          ///< the reading of the PTX ISA on which the finding depends; empty if there is none
  std::uint64_t count = 0;        ///< the number of times it was found
  std::uint64_t seed = 0;         ///< the seed of the first schedule that showed it
  std::uint64_t key = 0;          ///< a hash; findings with the same key are the same finding
  bool after_another = false;     ///< whether another finding comes first in every schedule that shows this one
  bool polls = false;             ///< whether the schedule was cut short because its threads only poll; they may wait forever
  std::uint64_t last_change = 0;  ///< if `polls` is set: the number of instructions executed before the last change of
                                  ///< memory
};

}  // namespace membar::sanitize
