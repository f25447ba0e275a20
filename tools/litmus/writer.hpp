// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Writes a litmus test in the text format that reader.hpp reads.
#pragma once

#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>

#include <string>

namespace membar::litmus_files {

/// The text of a test: reading it again gives an equal test.
[[nodiscard]] std::string write_litmus(const model::litmus_test& test);

/// A thread's place as a litmus file writes it: "cta 0,gpu 0".
[[nodiscard]] std::string place_text(const model::place& where);

}  // namespace membar::litmus_files
