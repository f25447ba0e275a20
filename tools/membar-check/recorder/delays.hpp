// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Inserts delays into the program's kernels, for membar-check witness. Modules are rewritten before they are loaded.
#pragma once

namespace membar_record {

/// Returns the image to load in place of the given one: its PTX with delays if it defines a kernel that the request names, and
/// otherwise the image itself.
[[nodiscard]] const void* with_delays(const void* image) noexcept;

/// Does the same for a file. Returns its path, or the path of a rewritten copy.
[[nodiscard]] const char* file_with_delays(const char* path) noexcept;

/// The driver did not load what `with_delays` or `file_with_delays` returned, and loaded the program's own code then: the command is told.
void image_not_loaded(const void* delayed, int error) noexcept;
void file_not_loaded(const char* delayed, int error) noexcept;

}  // namespace membar_record
