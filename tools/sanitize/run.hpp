// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Runs one schedule.
#pragma once

#include <sanitize/crew.hpp>
#include <sanitize/findings.hpp>
#include <sanitize/program_code.hpp>
#include <sanitize/sanitize.hpp>

#include <cstdint>
#include <vector>

namespace membar::sanitize {

/// Runs one schedule and sets `counts` to its statistics. The host threads of `all` may help.
[[nodiscard]] std::vector<sanitizer_finding> run_schedule(const check::program& p,
                                                          const std::vector<check::planned_launch>& launches,
                                                          program_code& code, const check::check_property& property,
                                                          std::uint64_t seed, const sanitize_options& options, crew& all,
                                                          sanitize_statistics& counts);

}  // namespace membar::sanitize
