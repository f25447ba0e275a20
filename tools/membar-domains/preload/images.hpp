// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
/// @file
/// Of watch --check: the code that the program loads, kept in files.
#pragma once

namespace membar_domains {

/// Keeps the image: PTX, a cubin, a fatbin or the compiler's wrapper of one. It is known by the handle of its module or library.
void keep_image(const void* handle, const void* image);

/// The same of an image in a file.
void keep_image_file(const void* handle, const char* path);

/// Another handle of the same code.
void same_image(const void* handle, const void* of);

/// A kernel of this name was taken from the module or library.
void kernel_of_image(const void* handle, const char* name);

}  // namespace membar_domains
