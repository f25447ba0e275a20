// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Executes all threads of a sequence of launches, once per schedule, and looks for data races by what happens before what.
///
/// A schedule is sequentially consistent: a read returns the last write. What a finding shows is an execution of the PTX memory model; that nothing
/// is found says nothing of other schedules, or of executions in which a read returns an older write.
#pragma once

#include <check/launch.hpp>
#include <check/program.hpp>
#include <sanitize/findings.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace membar::sanitize {

/// What the device holds at once. The defaults are those of an H200.
struct device_limits {
  std::uint64_t multiprocessors = 132;
  std::uint64_t threads = 2048;             ///< of a multiprocessor
  std::uint64_t blocks = 32;                ///< likewise
  std::uint64_t shared_bytes = 228 * 1024;  ///< likewise
};

/// Something that a thread of a launch, or a copy of it, does.
struct observed_event {
  enum class kind_t : std::uint8_t { read, write, launch_dependents, wait_for_launches };
  kind_t kind = kind_t::read;
  int launch = 0;  ///< its number
  const check::instruction* by = nullptr;
  std::uint64_t address = 0, bytes = 0;
  bool strong = false;
  bool early = false;  ///< the launches before its own need not have ended
};

struct sanitize_options {
  std::uint64_t schedules = 10;
  std::uint64_t seed = 1;                            ///< of the first one
  int jobs = 1;                                      ///< threads of the host: for schedules, and for parts of a schedule
  std::uint64_t most_instructions = 20'000'000'000;  ///< of one schedule
  bool stop_at_first = false;                        ///< a schedule that shows something is the last one
  model::other_readings readings{};                  ///< of what the PTX ISA leaves open: docs/readings.md
  device_limits device{};
  std::function<void(const observed_event&)> observe{};  ///< called for each event, from as many threads as there are jobs
};

/// Counts of one schedule or of several.
struct sanitize_statistics {
  std::uint64_t schedules = 0;
  std::uint64_t instructions = 0;
  std::uint64_t accesses = 0;
  std::uint64_t clock_bytes = 0;  ///< the most of a schedule
  std::uint64_t parts = 0;        ///< groups of blocks that ran apart from the others
};

struct sanitize_result {
  std::vector<sanitizer_finding> findings{};
  sanitize_statistics counts{};
};

/// Runs `launches`, which `p` has the memory of.
[[nodiscard]] sanitize_result sanitize(const check::program& p, const std::vector<check::planned_launch>& launches,
                                       const check::check_property& property, const sanitize_options& options);

/// The schedule that has shown a finding, up to there, for `check::explore` to follow. Its threads are those of the scenario's program. If threads
/// only polled, that is up to the last change of memory, and a hang is looked for.
[[nodiscard]] check::replayed_schedule schedule_of(const check::program& p, const std::vector<check::planned_launch>& launches,
                                                   const check::check_property& property, const sanitizer_finding& f,
                                                   const sanitize_options& options);

/// The blocks of a launch that the device holds at once; 0: not one.
[[nodiscard]] std::uint64_t resident_blocks(const check::planned_launch& launch, const device_limits& device);

}  // namespace membar::sanitize
