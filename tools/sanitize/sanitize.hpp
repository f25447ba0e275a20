// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Executes all threads of a sequence of launches, once per schedule, and detects data races with the happens-before relation.
///
/// Every schedule is sequentially consistent: a read returns the value of the last write. Every finding is an execution that
/// the PTX memory model allows. If there are no findings, this says nothing about other schedules, or about executions in which
/// a read returns an older value.
#pragma once

#include <check/launch.hpp>
#include <check/program.hpp>
#include <sanitize/findings.hpp>

#include <cstdint>
#include <functional>
#include <vector>

namespace membar::sanitize {

/// The limits on what the device can run at once. The defaults are those of an H200.
struct device_limits {
  std::uint64_t multiprocessors = 132;
  std::uint64_t threads = 2048;             ///< per multiprocessor
  std::uint64_t blocks = 32;                ///< per multiprocessor
  std::uint64_t shared_bytes = 228 * 1024;  ///< per multiprocessor
};

/// An operation by a thread of a launch, or by one of its asynchronous copies.
struct observed_event {
  enum class kind_t : std::uint8_t { read, write, launch_dependents, wait_for_launches };
  kind_t kind = kind_t::read;
  int launch = 0;  ///< the number of the launch in the sequence
  const check::instruction* by = nullptr;
  std::uint64_t address = 0, bytes = 0;
  bool strong = false;
  bool early = false;  ///< whether the event may precede the end of the earlier launches
};

struct sanitize_options {
  std::uint64_t schedules = 10;
  std::uint64_t seed = 1;                            ///< the seed of the first schedule
  int jobs = 1;                                      ///< the number of host threads, which run schedules and parts of schedules
  std::uint64_t most_instructions = 20'000'000'000;  ///< the limit for one schedule
  bool stop_at_first = false;                        ///< whether to stop after the first schedule with a finding
  model::other_readings readings{};                  ///< the readings to use where the PTX ISA is ambiguous: docs/readings.md
  device_limits device{};
  std::function<void(const observed_event&)> observe{};  ///< called for each event, concurrently by up to `jobs` host threads
};

/// The statistics of one schedule or of several.
struct sanitize_statistics {
  std::uint64_t schedules = 0;
  std::uint64_t instructions = 0;
  std::uint64_t accesses = 0;
  std::uint64_t clock_bytes = 0;  ///< the maximum over the schedules
  std::uint64_t parts = 0;        ///< the number of groups of blocks that ran separately
};

struct sanitize_result {
  std::vector<sanitizer_finding> findings{};
  sanitize_statistics counts{};
};

/// Runs `launches`, whose memory and kernels are in `p`.
[[nodiscard]] sanitize_result sanitize(const check::program& p, const std::vector<check::planned_launch>& launches,
                                       const check::check_property& property, const sanitize_options& options);

/// Returns the schedule that showed a finding, up to the finding, so that `check::explore` can follow it. Its thread numbers
/// refer to the scenario's program. If threads only polled, the schedule extends to the last change of memory, and
/// `check::explore` searches for a hang.
[[nodiscard]] check::replayed_schedule schedule_of(const check::program& p, const std::vector<check::planned_launch>& launches,
                                                   const check::check_property& property, const sanitizer_finding& f,
                                                   const sanitize_options& options);

/// Returns the number of blocks of a launch that the device can run at once. This is 0 if not even one block fits.
[[nodiscard]] std::uint64_t resident_blocks(const check::planned_launch& launch, const device_limits& device);

}  // namespace membar::sanitize
