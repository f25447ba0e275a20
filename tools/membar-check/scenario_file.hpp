// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Scenario files and the PTX of their sources.
#pragma once

#include <check/scenario.hpp>

#include <string>

namespace membar_check {

namespace check = membar::check;

/// The scenario in the text of a file, with the files that it names.
[[nodiscard]] check::scenario scenario_of(const std::string& path, const std::string& text);

/// The PTX of a scenario's source. Scenarios of one source and the same options share it.
[[nodiscard]] const std::string& ptx_of(const check::scenario& s);

}  // namespace membar_check
