// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Writes a litmus test in the text format that reader.hpp reads.
#pragma once

#include <membar/model/litmus_test.hpp>
#include <membar/model/program.hpp>

#include <string>

namespace membar::litmus_files {

/// Returns the text of a test. Parsing this text gives an equal test.
[[nodiscard]] std::string write_litmus(const model::litmus_test& test);

/// Returns the place of a thread in the syntax of litmus files, for example "cta 0,gpu 0".
[[nodiscard]] std::string place_text(const model::place& where);

}  // namespace membar::litmus_files
