// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Texts that CMake embeds in the command so that it can compile tests without membar's sources; see embed_headers.cmake.
#pragma once

#include <litmus/nvrtc.hpp>

#include <span>

namespace membar::litmus_files {

/// Returns the headers that the engine's kernel includes.
[[nodiscard]] std::span<const header_text> kernel_headers() noexcept;

/// Returns the library folder of the CUDA toolkit that CMake found, or an empty string if it found none.
[[nodiscard]] const char* toolkit_libraries() noexcept;

}  // namespace membar::litmus_files
