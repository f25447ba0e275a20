// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Reads PTX text, as nvcc and NVRTC write it and as people do.
#pragma once

#include <ptx/module.hpp>

#include <string_view>

namespace membar::ptx {

/// Reads a PTX module. Throws `model::error` with line and column for text that is not PTX, or that is not supported.
[[nodiscard]] ptx_module read_ptx(std::string_view text);

}  // namespace membar::ptx
