// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Inserts delays into the program's kernels for `membar-check witness`. Modules are rewritten before they are loaded.
#pragma once

namespace membar_record {

/// Returns the image to load instead of the given image. If the given image defines a kernel that the request names, the result
/// is its PTX with delays; otherwise, it is the given image itself.
[[nodiscard]] const void* with_delays(const void* image) noexcept;

/// Like `with_delays`, but for a file. Returns the path of a rewritten copy, or the given path.
[[nodiscard]] const char* file_with_delays(const char* path) noexcept;

/// Called if the driver rejected the result of `with_delays` or `file_with_delays`, and the program's own code was loaded
/// instead. Reports this to the command.
void image_not_loaded(const void* delayed, int error) noexcept;
void file_not_loaded(const char* delayed, int error) noexcept;

}  // namespace membar_record
