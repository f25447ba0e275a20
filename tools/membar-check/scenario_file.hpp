// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads scenario files and the PTX of their sources.
#pragma once

#include <check/scenario.hpp>

#include <string>

namespace membar_check {

namespace check = membar::check;

/// Parses the scenario in the text of a file, including the files that it refers to.
[[nodiscard]] check::scenario scenario_of(const std::string& path, const std::string& text);

/// Returns the PTX of a scenario's source. It is shared between scenarios with the same source and options.
[[nodiscard]] const std::string& ptx_of(const check::scenario& s);

}  // namespace membar_check
