// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Texts that CMake embeds in the command, so that it can compile tests without its sources; see embed_headers.cmake.
#pragma once

#include <litmus/nvrtc.hpp>

#include <span>

namespace membar::litmus_files {

/// The headers of the engine's kernel.
[[nodiscard]] std::span<const header_text> kernel_headers() noexcept;

/// The library folder of the CUDA toolkit that CMake found; empty without one.
[[nodiscard]] const char* toolkit_libraries() noexcept;

}  // namespace membar::litmus_files
