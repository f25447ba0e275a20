// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// The limits of a search, its statistics, and the error that a search throws when it reaches a limit.
#pragma once

#include <membar/model/error.hpp>
#include <membar/model/partial_execution.hpp>
#include <membar/model/thread_paths.hpp>

#include <cstdint>
#include <string>

namespace membar {
inline namespace v0_3 {
namespace model {

/// The statistics of an enumeration.
struct statistics {
  std::uint64_t paths = 0;       ///< the number of combinations of one path through every thread
  std::uint64_t candidates = 0;  ///< the number of coherence orders and other complete choices that were checked
  std::uint64_t executions = 0;  ///< the number of choices of paths, reads-from, barrier groups and Fence-SC order that the
                                 ///< rules allow
  std::uint64_t steps = 0;       ///< the number of partial choices and candidates, as `search_options::limit` counts them
  cut_loop cut{};                ///< a loop whose longer runs were omitted
};

/// The error that is thrown when a search is stopped at its limit of steps, memory or time.
class limit_reached : public error {
 public:
  limit_reached() : error("undecided: the search was stopped at its step limit") {}
  explicit limit_reached(const std::string& why) : error("undecided: the search was stopped " + why) {}
};

/// The limits of a search.
struct search_options {
  std::uint64_t limit = 0;   ///< the maximum number of steps (partial choices and candidates); 0 means no limit
  std::uint64_t memory = 0;  ///< the maximum size in bytes of the states that the search stores; 0 means no limit
  bool bounded = false;      ///< whether a loop that was cut is accepted rather than treated as an error
  /// if false, executions that add no final state are omitted, such as those that differ only in unused loads
  bool every_execution = true;
  search_control* control = nullptr;  ///< its `is_repeated` is called if not every execution is needed
  waits waiting = waits::left_at_once;
  std::uint64_t few_choices = 256;  ///< on a path with fewer choices of reads-from than this, axioms are checked only at the
                                    ///< end

  constexpr search_options() = default;
  constexpr search_options(std::uint64_t steps, bool only_bounded = false) noexcept  // NOLINT: most callers set only a limit
      : limit(steps), bounded(only_bounded) {}

  /// Throws `limit_reached` if this number of steps or bytes exceeds the limit, or if the search takes too long.
  constexpr void check(std::uint64_t steps, std::uint64_t bytes = 0) const {
    constexpr std::uint64_t now_and_then = 512;
    if (limit != 0 && steps > limit) {
      throw limit_reached();
    }
    if (memory != 0 && bytes > memory) {
      throw limit_reached("because its states need more than " + std::to_string(memory >> 20U) + " MiB");
    }
    if (control != nullptr && steps % now_and_then == 0 && control->is_over()) {
      throw limit_reached("at its time limit");
    }
  }
};

/// Throws `error` if a loop was cut, unless the search is bounded.
constexpr void require_whole(const statistics& counts, const search_options& options) {
  if (counts.cut.thread >= 0 && !options.bounded) {
    throw error("the loop that jumps back" + (counts.cut.line > 0 ? " at line " + std::to_string(counts.cut.line) : "") +
                " does more than wait, and the model follows only one jump back: use --bounded to check only the shorter runs");
  }
}

}  // namespace model
}  // namespace v0_3
}  // namespace membar
