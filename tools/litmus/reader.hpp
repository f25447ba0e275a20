// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads litmus tests in the text format that public PTX tests use. docs/litmus_files.md describes it.
#pragma once

#include <membar/model/litmus_test.hpp>

#include <string_view>

namespace membar::litmus_files {

/// Reads one litmus test. Throws `model::error` with line and column for text that is not a litmus test.
[[nodiscard]] model::litmus_test read_litmus(std::string_view text);

}  // namespace membar::litmus_files
