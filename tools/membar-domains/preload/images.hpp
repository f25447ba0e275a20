// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// For `watch` with its check: writes the code that the program loads to files.
#pragma once

namespace membar_domains {

/// Stores an image, which is PTX, a cubin, a fatbin or the compiler's wrapper around a fatbin. The image is identified by the
/// handle of its module or library.
void keep_image(const void* handle, const void* image);

/// Stores an image that is in a file.
void keep_image_file(const void* handle, const char* path);

/// Registers another handle of the same code.
void same_image(const void* handle, const void* of);

/// Records that the kernel `name` was looked up in the module or library `handle`.
void kernel_of_image(const void* handle, const char* name);

}  // namespace membar_domains
