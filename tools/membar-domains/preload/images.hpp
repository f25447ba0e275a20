// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// For watch --check: keeps the code that the program loads in files.
#pragma once

namespace membar_domains {

/// Keeps an image, which is PTX, a cubin, a fatbin or the compiler's wrapper of one. It is identified by the handle of its
/// module or library.
void keep_image(const void* handle, const void* image);

/// Does the same for an image in a file.
void keep_image_file(const void* handle, const char* path);

/// Registers another handle of the same code.
void same_image(const void* handle, const void* of);

/// Handles a kernel of this name that was looked up in the module or library.
void kernel_of_image(const void* handle, const char* name);

}  // namespace membar_domains
