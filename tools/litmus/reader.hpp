// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Parses litmus tests in the text format of public PTX tests. docs/litmus_files.md describes the format.
#pragma once

#include <membar/model/litmus_test.hpp>

#include <string_view>

namespace membar::litmus_files {

/// Parses one litmus test. Throws `model::error` with line and column if the text is not a litmus test.
[[nodiscard]] model::litmus_test read_litmus(std::string_view text);

}  // namespace membar::litmus_files
