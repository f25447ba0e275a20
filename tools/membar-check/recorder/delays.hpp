// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Delays in the kernels of the program, for membar-check witness: modules are rewritten before they are loaded.
#pragma once

namespace membar_record {

/// The image to load in place of the given one: its PTX with delays if it defines a kernel that is asked for, else the image itself.
[[nodiscard]] const void* with_delays(const void* image) noexcept;

/// The same for a file: its path, or that of a rewritten copy.
[[nodiscard]] const char* file_with_delays(const char* path) noexcept;

/// The driver did not load what `with_delays` or `file_with_delays` returned, and loaded the program's own code then: the command is told.
void image_not_loaded(const void* delayed, int error) noexcept;
void file_not_loaded(const char* delayed, int error) noexcept;

}  // namespace membar_record
