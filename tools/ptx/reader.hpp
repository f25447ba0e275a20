// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Parses PTX text, which nvcc, NVRTC or a person may have written.
#pragma once

#include <ptx/module.hpp>

#include <string_view>

namespace membar::ptx {

/// Parses a PTX module. Throws `model::error` with line and column for text that is not valid PTX or is not supported.
[[nodiscard]] ptx_module read_ptx(std::string_view text);

}  // namespace membar::ptx
